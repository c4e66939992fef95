package main

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const fileName = "policy.rego"

var parserOptions = ast.ParserOptions{Capabilities: capabilities, RegoVersion: ast.RegoV1}

// check answers everything that is wrong with a policy, of the first of these steps that finds something:
// parse, package, compile, evaluation of the samples (for conflicts). Warnings come with any outcome that
// was parsed.
func check(r request) response {
	module, problems := parse(r.Source)
	if problems != nil {
		return response{Errors: problems}
	}
	out := response{Warnings: settle(warningsOf(module, r.Source))}
	if wrong := wrongPackage(module, r.Package); wrong != nil {
		out.Errors = []problem{*wrong}
		return out
	}
	if problems := compileErrors(module); problems != nil {
		out.Errors = advise(problems, r.Source)
		return out
	}
	if problems := usedTests(module); problems != nil {
		out.Errors = problems
		return out
	}
	policy, err := prepareModule(module.Copy(), r.Package, false)
	if err != nil {
		out.Errors = problemsOf(err)
		return out
	}
	out.Builtins = policy.builtins
	out.Sets, out.Sensitive = orderOf(withoutTests(module.Copy()), policy.compiler, r.Inputs)
	out.Errors = conflicts(policy, module, r.Inputs, r.Limits)
	return out
}

// usedTests names the tests that other rules use: an evaluation is without them.
func usedTests(module *ast.Module) []problem {
	tests := map[string]bool{}
	for _, rule := range module.Rules {
		if isTest(rule) {
			tests[rule.Head.Reference[0].Value.String()] = true
		}
	}
	var problems []problem
	for _, rule := range module.Rules {
		if isTest(rule) {
			continue
		}
		ast.WalkTerms(rule, func(t *ast.Term) bool {
			name, is := t.Value.(ast.Var)
			if is && tests[string(name)] {
				p := problem{
					Code:    "rego_compile_error",
					Message: string(name) + " is a test, and no part of the policy: what other rules use needs a name that does not begin with test_",
				}
				p.at(t.Location)
				problems = append(problems, p)
			}
			return false
		})
	}
	if problems == nil {
		return nil
	}
	return settle(problems)
}

func wrongPackage(module *ast.Module, wanted string) *problem {
	actual := strings.TrimPrefix(module.Package.Path.String(), "data.")
	if actual == wanted {
		return nil
	}
	p := problem{
		Code:       "invalid_package",
		Message:    "The package is " + actual + ", and has to be " + wanted,
		Suggestion: "package " + wanted,
	}
	p.at(module.Package.Location)
	return &p
}

// compileErrors compiles again and again, each time without the rules that were found wrong: OPA stops at
// the first of its stages that finds something, and a type error should not hide behind an unsafe variable.
func compileErrors(module *ast.Module) []problem {
	var problems []problem
	for range 4 {
		attempt := module.Copy()
		compiler := ast.NewCompiler().WithCapabilities(capabilities).SetErrorLimit(0).WithEnablePrintStatements(true)
		compiler.Compile(map[string]*ast.Module{fileName: attempt})
		if !compiler.Failed() {
			break
		}
		for _, err := range compiler.Errors {
			p := problemOf(err)
			if len(problems) == 0 || p.Row > 0 {
				problems = append(problems, p)
			}
		}
		mended := mend(module, compiler.Errors)
		if mended == nil {
			break
		}
		module = mended
	}
	if problems == nil {
		return nil
	}
	return settle(problems)
}

// mend takes what rules say away where they are wrong: whatever refers to them still finds them, with a
// value of any type. Nil where no rule could be told from the errors.
func mend(module *ast.Module, errs ast.Errors) *ast.Module {
	mended := module.Copy()
	found := false
	for i, rule := range mended.Rules {
		first, last := extent(module.Rules[i])
		for _, err := range errs {
			if err.Location == nil || err.Location.Row < first || err.Location.Row > last {
				continue
			}
			found = true
			neutralise(rule)
		}
	}
	if !found {
		return nil
	}
	return mended
}

func extent(rule *ast.Rule) (int, int) {
	first := rule.Location.Row
	return first, first + strings.Count(string(rule.Location.Text), "\n")
}

func neutralise(rule *ast.Rule) {
	if rule.Default {
		rule.Head.Value = ast.NullTerm().SetLocation(rule.Location)
		return
	}
	anything := func() *ast.Term { return ast.NewTerm(ast.InputRootRef.Copy()).SetLocation(rule.Location) }
	rule.Else = nil
	rule.Body = ast.NewBody(ast.NewExpr(ast.BooleanTerm(true).SetLocation(rule.Location)).SetLocation(rule.Location))
	if rule.Head.Value != nil {
		rule.Head.Value = anything()
	}
	if rule.Head.Key != nil {
		rule.Head.Key = anything()
	}
	for i, term := range rule.Head.Reference {
		if _, is := term.Value.(ast.Var); is && i > 0 {
			rule.Head.Reference[i] = anything()
		}
	}
	for i := range rule.Head.Args {
		rule.Head.Args[i] = ast.VarTerm("_").SetLocation(rule.Location)
	}
}
