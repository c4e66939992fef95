package main

import (
	"regexp"
	"slices"
	"strings"
	"time"

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
	if empty := withoutRules(module, r.Rule); empty != nil {
		out.Errors = []problem{*empty}
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
	decided := decisions{rule: r.Rule}
	decided.readSource(module)
	out.Errors = conflicts(policy, module, r.Inputs, r.Limits, decided.read)
	out.Decided = decided.values
	return out
}

// withoutRules: what has nothing but tests has no answer, whatever it is asked.
func withoutRules(module *ast.Module, wanted string) *problem {
	for _, rule := range module.Rules {
		if !isTest(rule) {
			return nil
		}
	}
	name := strings.TrimPrefix(module.Package.Path.String(), "data.")
	return &problem{
		Code:       "rego_compile_error",
		Message:    "The policy has no rules: a policy of the package " + name + " decides by the rule " + wanted,
		Row:        1,
		Col:        1,
		Suggestion: "Add a rule: " + wanted + " := … if …",
	}
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

// OPA has some thirty stages, of which a policy rarely meets the errors of more than three.
const maxAttempts = 10

// A large policy rather has fewer errors told than none.
const maxAttemptsTime = time.Second

// compileErrors compiles again and again, each time without the rules that were found wrong: OPA stops at
// the first of its stages that finds something, and a type error should not hide behind an unsafe variable.
func compileErrors(module *ast.Module) []problem {
	var problems []problem
	without := mended{seen: map[int]bool{}}
	began := time.Now()
	for attempts := 0; attempts < maxAttempts && time.Since(began) < maxAttemptsTime; attempts++ {
		attempt := module.Copy()
		compiler := ast.NewCompiler().WithCapabilities(capabilities).SetErrorLimit(0).WithEnablePrintStatements(true)
		compiler.Compile(map[string]*ast.Module{fileName: attempt})
		if !compiler.Failed() {
			break
		}
		for _, err := range compiler.Errors {
			p := problemOf(err)
			if len(problems) == 0 || (p.Row > 0 && !without.names(p.Message)) {
				problems = append(problems, p)
			}
		}
		if module = without.mend(module, compiler.Errors); module == nil {
			break
		}
	}
	if problems == nil {
		return nil
	}
	return settle(problems)
}

// mended remembers what was done to rules that are wrong.
type mended struct {
	// Rows of rules that say nothing any more.
	seen map[int]bool
	// Names of rules that are gone: that they are missing is no error of the policy.
	gone []*regexp.Regexp
}

func (m *mended) names(message string) bool {
	return slices.ContainsFunc(m.gone, func(name *regexp.Regexp) bool { return name.MatchString(message) })
}

// mend takes what rules say away where they are wrong: whatever refers to them still finds them, with a
// value of any type. Where that is no cure, as of two rules that can't stand beside each other, it takes the
// rule. Nil where no rule could be told from the errors.
func (m *mended) mend(module *ast.Module, errs ast.Errors) *ast.Module {
	next := module.Copy()
	rules := next.Rules[:0:0]
	found := false
	for i, rule := range next.Rules {
		if !concerns(errs, module.Rules[i]) {
			rules = append(rules, rule)
			continue
		}
		found = true
		if row := rule.Location.Row; !m.seen[row] {
			m.seen[row] = true
			neutralise(rule)
			rules = append(rules, rule)
			continue
		}
		name := regexp.QuoteMeta(rule.Head.Reference[0].Value.String())
		m.gone = append(m.gone, regexp.MustCompile(`\b`+name+`\b`))
	}
	if !found {
		return nil
	}
	next.Rules = rules
	return next
}

func concerns(errs ast.Errors, rule *ast.Rule) bool {
	first, last := extent(rule)
	return slices.ContainsFunc(errs, func(err *ast.Error) bool {
		return err.Location != nil && err.Location.Row >= first && err.Location.Row <= last
	})
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
