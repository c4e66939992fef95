package main

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Suggestions for what OPA 1 refuses of older Rego, and for what other languages write otherwise.

var (
	partialSetHead = regexp.MustCompile(`^(\s*[A-Za-z_][\w.]*)\[([^\[\]]+)\]`)
	openBrace      = regexp.MustCompile(`\s*\{`)
	elseHead       = regexp.MustCompile(`^(.*\belse\b[^{]*?)\s*\{`)
	singleQuotes   = regexp.MustCompile(`'([^'"]*)'`)
	negation       = regexp.MustCompile(`!([A-Za-z_(])`)
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

// advise gives problems their suggestions, and makes one of those that the same fix cures.
func advise(problems []problem, source string) []problem {
	lines := strings.Split(source, "\n")
	for i := range problems {
		p := &problems[i]
		if p.Suggestion == "" && p.Row >= 1 && p.Row <= len(lines) {
			if line := strings.TrimRight(lines[p.Row-1], "\r"); len(line) <= maxLine {
				p.Suggestion = suggestion(*p, line)
			}
		}
	}
	return problems
}

func suggestion(p problem, line string) string {
	switch {
	case strings.Contains(p.Message, "`contains` keyword is required"):
		return withIf(withContains(line))
	case strings.Contains(p.Message, "`if` keyword is required"):
		return withIf(withContains(line))
	case strings.Contains(p.Message, "deprecated built-in function calls"):
		for name, instead := range replacements {
			if strings.Contains(p.Message, ": "+name) {
				return "Instead of " + name + ": " + instead
			}
		}
	case p.Code != ast.ParseErr:
		return ""
	case strings.Contains(line, "&&"):
		return strings.TrimSpace(regexp.MustCompile(`\s*&&\s*`).ReplaceAllString(line, "; "))
	case strings.Contains(line, "||"):
		return "A rule for each alternative, or: value in {first, second}"
	case strings.Contains(line, "else") && !strings.Contains(line, " if ") && elseHead.MatchString(line):
		return strings.TrimSpace(elseHead.ReplaceAllString(line, "$1 if {"))
	case singleQuotes.MatchString(line):
		return strings.TrimSpace(singleQuotes.ReplaceAllString(line, `"$1"`))
	case negation.MatchString(line):
		return strings.TrimSpace(negation.ReplaceAllString(line, "not $1"))
	}
	return ""
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

// withIf puts `if` before the first brace that opens a body. A brace within the head's value comes after
// the assignment and is closed before the body's.
func withIf(line string) string {
	line = strings.TrimSpace(line)
	if strings.Contains(line, " if ") {
		return line
	}
	brace := bodyBrace(line)
	if brace < 0 {
		return line + " if …"
	}
	return strings.TrimRight(line[:brace], " \t") + " if " + line[brace:]
}

func bodyBrace(line string) int {
	depth, brace := 0, -1
	quoted := false
	for i, c := range line {
		switch {
		case c == '"' && (i == 0 || line[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == '{':
			before := strings.TrimSpace(line[:i])
			// After an operator a brace opens a set or an object.
			if depth == 0 && brace < 0 && !strings.HasSuffix(before, "=") && !strings.HasSuffix(before, "(") {
				brace = i
			}
			depth++
		case c == '}':
			depth--
		}
	}
	return brace
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
	line := strings.Split(source, "\n")[max(0, p.Row-1)]
	p.Suggestion = strings.TrimSpace(regexp.MustCompile(`\s=\s?|=`).ReplaceAllStringFunc(line, once(" := ")))
	return &p
}

func once(text string) func(string) string {
	done := false
	return func(match string) string {
		if done {
			return match
		}
		done = true
		return text
	}
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
