/** Rules that between them use the language: each must be answered alike by whoever evaluates it. */
export const LANGUAGE_SAMPLES: Readonly<Record<string, string>> = {
  'default and several bodies': `
    default decision := "accept"
    decision := "reject" if { input.finding.severity in {"low", "info"}; not input.finding.kev }
    decision := "reject" if startswith(input.finding.location.path, "test/")`,
  else: `
    priority := "p0" if { input.finding.kev } else := "p1" if { input.finding.epss_score > 0.5 } else := "p3"`,
  'undefined for some': `
    decision := "reject" if input.finding.severity == "info"
    owner := "team-a" if input.project.name == "payments"`,
  'nothing defined': 'decision := "reject" if input.absent',
  'only functions': 'f(x) := x + 1',
  'functions that use rules and functions': `
    limit := 0.5
    likely(finding) if finding.epss_score >= limit
    urgent(finding) if finding.kev
    urgent(finding) if likely(finding)
    weight(finding) := count(paths) + 1 if likely(finding)
    paths contains p if { p := input.finding.location.path; urgent(input.finding) }
    decision := "accept" if urgent(input.finding)
    risk := weight(input.finding)
    test_likely if likely({"epss_score": 0.9})`,
  'functions that use functions': `
    double(x) := added(x, x)
    added(x, y) := x + y
    base := 2
    priority := sprintf("p%d", [double(base) % 5])`,
  'conflict for some': `
    decision := "accept" if input.finding.severity in {"critical", "high"}
    decision := "reject" if input.project.name == "website"`,
  'conflict of object keys': `
    by_name[name] := value if { name := "a"; value := input.finding.severity }
    by_name[name] := value if { name := "a"; value := input.project.name }`,
  'partial set of text': `
    reasons contains "exploited" if input.finding.kev
    reasons contains "likely" if input.finding.epss_score > 0.3
    reasons contains sprintf("in %s", [input.asset.name])
    reasons contains sprintf("severity %v, %d days", [input.finding.severity, input.finding.age_days])`,
  'set of mixed values': 's := {3, "b", null, true, "a", 1.5, false, "😀", "ﬀ", -2}',
  'set of arrays': 's := {[2, "b"], [1, "a"], [1]}',
  'sets within objects': 'o := {"labels": {x | some x in input.project.labels}, "n": {3, 1, 2}}',
  'object rule and nested rules': `
    report.severity := input.finding.severity
    report.place.path := input.finding.location.path
    report.by_label[label] := count(label) if some label in input.project.labels`,
  comprehensions: `
    squares := [(x * x) | some x in numbers.range(1, 5)]
    odd := {x | some x in numbers.range(1, 9); x % 2 == 1}
    lengths := {label: count(label) | some label in input.project.labels}`,
  'array of a set, in order': 'out := [x | some x in {"c", "a", "b", "zz", "y"}]',
  'array of an object, in order': 'out := [k | some k, _ in {"c": 1, "a": 2, "b": 3, "zz": 4, "y": 5}]',
  'array of an input object': 'out := [v | some v in input.finding.package]',
  'array through a name': `
    names := {"c", "a", "b", "zz", "y"}
    out := [x | x := names[_]]`,
  'text of a set': 'out := concat(", ", {x | some x in ["c", "a", "b", "zz", "y"]})',
  'text with a set in it': 'out := $"{ {"c", "a", "b", "zz", "y"} } and {input.finding.severity}"',
  'walk into an array': 'out := [p | walk(input.finding.package, [p, _])]',
  every: `
    all_known if every cwe in input.finding.cwe { cwe in {"CWE-1321", "CWE-915"} }
    none if every x in [] { x == 1 }
    keyed if every i, x in input.project.labels { i < 5; count(x) > 0 }`,
  with: `
    severity := input.finding.severity
    as_low := low if low := severity with input.finding.severity as "low"
    double(x) := x * 2
    triple(x) := x * 3
    replaced := x if x := double(5) with double as triple
    counted := x if x := count([1]) with count as mocked
    mocked(_) := 42`,
  'functions with patterns and else': `
    level("critical") := 4
    level("high") := 3
    level(s) := 1 if { not s in {"critical", "high"} }
    n := level(input.finding.severity)
    size(x) := "big" if { x > 10 } else := "small"
    of_age := size(input.finding.age_days)`,
  'negation and some': `
    safe if not risky
    risky if { some cwe in input.finding.cwe; endswith(cwe, "79") }
    pairs := {[i, x] | some i, x in input.project.labels}
    first := i if { some i; input.project.labels[i] == "pci" }`,
  unification: `
    ok if { [a, {"k": b}] = [1, {"k": 2}]; a + b == 3 }
    parts := {"major": m, "minor": n} if [m, n, _] = split(input.finding.package.version, ".")`,
  numbers: `
    ratio := input.finding.epss_score * 100
    score := round(input.finding.cvss_score * 10) / 10
    mean := sum([input.finding.cvss_score, 3.3, 1.1]) / 3
    third := 1 / 3
    weighted := ((0.6 * input.finding.cvss_score) + (0.4 * 10)) * input.finding.epss_score
    rounded := round(weighted)
    compared if weighted > 4.2
    large := 123456789012 * 1000
    small := 0.000001 * 3`,
  'strings and regex': `
    is_cve if regex.match("^CVE-[0-9]{4}-[0-9]+$", input.finding.cve_id)
    year := to_number(split(input.finding.cve_id, "-")[1])
    owner := "js" if glob.match("pkg:npm/**", ["/"], input.finding.package.purl)
    area := split(input.finding.location.path, "/")[1]
    loud := upper(substring(input.finding.title, 0, 8))
    template := $"{input.finding.severity} in {input.asset.name}"`,
  'time that is given': `
    born := time.parse_rfc3339_ns(input.finding.created_at)
    day := time.weekday(born)
    due := time.format([time.add_date(born, 0, 0, 30), "UTC", "2006-01-02"])`,
  'formats with composites': `
    text := sprintf("%v", [{x | some x in input.project.labels}])
    object := sprintf("%v %v", [input.finding.package, [1, "a"]])`,
  'formats of numbers': `
    score := sprintf("%.1f / %v / %d", [input.finding.cvss_score, input.finding.epss_score, input.finding.age_days])
    percent := sprintf("%.0f%%", [input.finding.epss_score * 100])`,
  'tests are no part of it': `
    decision := "accept"
    test_decision if decision == "accept"`,
  'a name that is a builtin of its own': `
    sprintf(a, b) := concat(a, b)
    text := sprintf("-", ["a", "b"])`,
  'a builtin replaced by with': `
    fake(_, _) := "fake"
    text := x if x := sprintf("%s", ["a"]) with sprintf as fake`,
  'result of null and false': `
    nothing := null
    no := false
    empty := {"a": [], "o": {}, "s": set()}`,
  objects: `
    merged := object.union(input.finding.package, {"version": "x"})
    some_of := object.filter(input.finding.package, ["name"])
    keys := object.keys(input.finding.package)
    deep := object.get(input, ["finding", "location", "path"], "none")
    missing := object.get(input, ["finding", "nothing", "at", "all"], "none")`,
  'set operations': `
    known := {"internet", "pci", "gdpr"}
    labels := {l | some l in input.project.labels}
    both := known & labels
    either := known | {"x"}
    only := known - labels
    numbers := union({{1, 2}, {2, 3}})`,
  'errors of builtins are undefined': `
    a := to_number("x")
    b := 1 / 0
    c if not to_number(input.finding.severity)
    d := "still here"`,
  'a result that is reached through a chain': `
    risk := r1 + r2
    r1 := 5 if { input.finding.kev } else := 1
    r2 := 3 if { input.finding.severity == "critical" } else := 0
    priority := sprintf("p%d", [max([0, 4 - risk])])`,
};
