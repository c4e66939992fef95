package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Suggestions for what OPA 1 refuses of older Rego, and for what other languages write otherwise.

var (
	partialSetHead  = regexp.MustCompile(`^(\s*[A-Za-z_][\w.]*)\[([^\[\]]+)\]`)
	elseWord        = regexp.MustCompile(`\belse\b`)
	doubleAmpersand = regexp.MustCompile(`\s*&&\s*`)
	singleQuotes    = regexp.MustCompile(`'([^'"]*)'`)
	negation        = regexp.MustCompile(`!([A-Za-z_(])`)
)

// replacements of builtins that OPA 1 refuses as deprecated.
var replacements = map[string]string{
	"all":          "every x in xs { x }",
	"any":          "some x in xs; x",
	"re_match":     "regex.match(pattern, value)",
	"set_diff":     "a - b",
	"cast_array":   "is_array(x), and a comprehension such as [y | some y in x]",
	"cast_set":     "is_set(x), and a comprehension such as {y | some y in x}",
	"cast_string":  "is_string(x)",
	"cast_boolean": "is_boolean(x)",
	"cast_null":    "is_null(x)",
	"cast_object":  "is_object(x)",
}

// advise gives problems their suggestions. A corrected line is one that parses where it stands.
func advise(problems []problem, source string) []problem {
	lines, parts := strings.Split(source, "\n"), statements(source)
	for i := range problems {
		p := &problems[i]
		if p.Suggestion != "" || p.Row < 1 || p.Row > len(lines) {
			continue
		}
		if line := strings.TrimRight(lines[p.Row-1], "\r"); len(line) <= maxLine {
			said := suggestion(*p, line)
			if said.isLine {
				said.text = proven(parts, p.Row, said.text)
			}
			p.Suggestion = said.text
		}
	}
	return problems
}

type advice struct {
	text string
	// The corrected line; else what to do.
	isLine bool
}

func corrected(line string) advice {
	return advice{text: strings.TrimSpace(line), isLine: true}
}

// More than one thing may be wrong in a line.
const maxCorrections = 4

// proven corrects a line until it parses within its statement; empty where that can't be done.
func proven(parts []statement, row int, line string) string {
	for range maxCorrections {
		problems := problemsWith(parts, row, line)
		here := slices.IndexFunc(problems, func(p problem) bool { return p.Row == row })
		if here < 0 {
			return line
		}
		said := suggestion(problems[here], line)
		if !said.isLine || said.text == line {
			return ""
		}
		line = said.text
	}
	return ""
}

// problemsWith parses the statement of a row with another line in its place.
func problemsWith(parts []statement, row int, line string) []problem {
	at := slices.IndexFunc(parts, func(s statement) bool { return s.first <= row && row <= s.last })
	if at < 0 {
		return nil
	}
	lines := strings.Split(parts[at].text, "\n")
	lines[row-parts[at].first] = line
	return parseStatement(parts[at].with(lines))
}

func suggestion(p problem, line string) advice {
	switch {
	case strings.Contains(p.Message, "`contains` keyword is required"),
		strings.Contains(p.Message, "`if` keyword is required"):
		return corrected(withIf(withContains(line)))
	case strings.Contains(p.Message, "deprecated built-in function calls"):
		for name, instead := range replacements {
			if strings.Contains(p.Message, ": "+name) {
				return advice{text: "Instead of " + name + ": " + instead}
			}
		}
	case p.Code != ast.ParseErr:
		return advice{}
	case strings.Contains(line, "&&"):
		return corrected(doubleAmpersand.ReplaceAllString(line, "; "))
	case strings.Contains(line, "||"):
		return advice{text: "A rule for each alternative, or: value in {first, second}"}
	case elseWord.MatchString(line) && withIf(line) != line:
		return corrected(withIf(line))
	case singleQuotes.MatchString(line):
		return corrected(singleQuotes.ReplaceAllString(line, `"$1"`))
	case negation.MatchString(line):
		return corrected(negation.ReplaceAllString(line, "not $1"))
	}
	return advice{}
}

// withContains turns `deny[msg]` into `deny contains msg`, unless a value makes it an object: `by_name[n] := x`.
func withContains(line string) string {
	end := partialSetHead.FindStringIndex(line)
	if end == nil || strings.HasPrefix(strings.TrimSpace(line[end[1]:]), "=") ||
		strings.HasPrefix(strings.TrimSpace(line[end[1]:]), ":=") {
		return line
	}
	return partialSetHead.ReplaceAllString(line, "$1 contains $2")
}

// withIf puts `if` before the brace that opens the body of a rule, and of each `else` in the line.
func withIf(line string) string {
	from := 0
	for {
		brace := bodyBrace(line, from)
		if brace < 0 {
			return line
		}
		head := strings.TrimRight(line[:brace], " \t")
		line = head + " if " + line[brace:]
		from = len(head) + len(" if {")
	}
}

// bodyBrace finds the next brace, from a place on, that opens a body without `if`. A brace within the head's value
// comes after the assignment and is closed before the body's.
func bodyBrace(line string, from int) int {
	depth, quoted, hasIf := 0, false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '"' && (i == 0 || line[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == '{':
			if depth == 0 && i >= from && !hasIf && !opensValue(line[:i]) {
				return i
			}
			depth++
		case c == '}':
			// The first of `} else {` closes what a line before opened.
			depth = max(0, depth-1)
		case depth == 0 && isWord(line, i, "else"):
			hasIf = false
		case depth == 0 && isWord(line, i, "if"):
			hasIf = true
		}
	}
	return -1
}

// After an operator a brace opens a set or an object.
func opensValue(before string) bool {
	before = strings.TrimSpace(before)
	return strings.HasSuffix(before, "=") || strings.HasSuffix(before, "(")
}

func isWord(line string, at int, word string) bool {
	return strings.HasPrefix(line[at:], word) && !isNamed(line, at-1) && !isNamed(line, at+len(word))
}

func isNamed(line string, at int) bool {
	return at >= 0 && at < len(line) && (line[at] == '_' || unicode.IsLetter(rune(line[at])) || unicode.IsDigit(rune(line[at])))
}

// warningsOf names style and what is probably a mistake; nothing of it refuses a policy.
func warningsOf(module *ast.Module, source string) []problem {
	var out []problem
	if !importsRegoV1(module) {
		p := problem{Code: "missing_import", Message: "import rego.v1 is missing", Suggestion: "import rego.v1"}
		p.at(module.Package.Location)
		out = append(out, p)
	}
	for _, rule := range module.Rules {
		for ; rule != nil; rule = rule.Else {
			if p := equalsInHead(rule, source); p != nil {
				out = append(out, *p)
			}
		}
	}
	return append(out, unused(module)...)
}

func importsRegoV1(module *ast.Module) bool {
	for _, imported := range module.Imports {
		if path, is := imported.Path.Value.(ast.Ref); is && path.Equal(ast.RegoV1CompatibleRef) {
			return true
		}
	}
	return false
}

// equalsInHead finds `x = 1`, which should be `x := 1`. The tree tells only that the head has no `:=`; that
// it has a `=` stands in the source, before the value.
func equalsInHead(rule *ast.Rule, source string) *problem {
	value := rule.Head.Value
	if rule.Head.Assign || value == nil || value.Location == nil {
		return nil
	}
	offset := value.Location.Offset
	if offset <= 0 || offset > len(source) {
		return nil
	}
	before := strings.TrimRight(source[:offset], " \t")
	if !strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":=") {
		return nil
	}
	p := problem{Code: "equals_in_head", Message: "Use := and not = to give a rule its value"}
	p.at(rule.Location)
	equals := len(before) - 1
	start, end := strings.LastIndex(source[:equals], "\n")+1, len(source)
	if length := strings.Index(source[equals:], "\n"); length >= 0 {
		end = equals + length
	}
	if strings.Count(source[:start], "\n") == p.Row-1 {
		head, value := strings.TrimSpace(source[start:equals]), strings.TrimSpace(source[equals+1:end])
		p.Suggestion = head + " := " + value
	}
	return &p
}

// unused asks OPA's strict mode, whose errors are warnings here.
func unused(module *ast.Module) []problem {
	compiler := ast.NewCompiler().WithCapabilities(capabilities).WithStrict(true).SetErrorLimit(0).
		WithEnablePrintStatements(true).WithOnlyStagesUpTo(ast.StageRewriteLocalVars)
	compiler.Compile(map[string]*ast.Module{fileName: module.Copy()})
	var out []problem
	for _, err := range compiler.Errors {
		if strings.Contains(err.Message, "unused") {
			p := problemOf(err)
			p.Code = "unused"
			out = append(out, p)
		}
	}
	return out
}
