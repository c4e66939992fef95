package main

import (
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

type testResult struct {
	Name string `json:"name"`
	Row  int    `json:"row"`
	// pass, fail or error.
	Outcome    string    `json:"outcome"`
	DurationMs float64   `json:"duration_ms"`
	Errors     []problem `json:"errors,omitempty"`
	Output     []printed `json:"output,omitempty"`
}

// runTests runs every rule whose name starts with test_, in the order of the source. A test passes where it
// is defined and nothing in it is false.
func runTests(r request) response {
	module, problems := parse(r.Source)
	if problems != nil {
		return response{Errors: problems}
	}
	if wrong := wrongPackage(module, r.Package); wrong != nil {
		return response{Errors: []problem{*wrong}}
	}
	if problems := compileErrors(module); problems != nil {
		return response{Errors: advise(problems, r.Source)}
	}
	compiler, err := compileModule(module.Copy(), true)
	if err != nil {
		return response{Errors: problemsOf(err)}
	}
	out := response{Tests: []testResult{}}
	seen := map[string]bool{}
	watch := newWatch(r.Limits)
	for _, rule := range module.Rules {
		name := rule.Head.Reference[0].Value.String()
		if !isTest(rule) || seen[name] {
			continue
		}
		seen[name] = true
		result := runTest(compiler, "data."+r.Package+"."+name, watch)
		result.Name, result.Row = name, rule.Location.Row
		out.Tests = append(out.Tests, result)
	}
	return out
}

func runTest(compiler *ast.Compiler, query string, watch *watch) testResult {
	policy, err := prepareQuery(compiler, query, true)
	if err != nil {
		return testResult{Outcome: "error", Errors: problemsOf(err)}
	}
	began := time.Now()
	// No input: a test brings its own.
	done := policy.evaluateValue(nil, watch)
	result := testResult{
		Outcome:    "fail",
		DurationMs: float64(time.Since(began).Microseconds()) / 1000,
		Errors:     done.Errors,
		Output:     done.Output,
	}
	switch text := string(done.Result); {
	case len(done.Errors) > 0:
		result.Outcome = "error"
	case text == "true", strings.HasPrefix(text, "{") && !strings.Contains(text, ":false"):
		result.Outcome = "pass"
	}
	return result
}
