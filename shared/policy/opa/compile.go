package main

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
)

// compileToWasm makes the package document an entrypoint ("svc.triage" is svc/triage).
func compileToWasm(r request) response {
	module, problems := parse(r.Source)
	if problems != nil {
		return response{Errors: problems}
	}
	if wrong := wrongPackage(module, r.Package); wrong != nil {
		return response{Errors: []problem{*wrong}}
	}
	if empty := withoutRules(module, r.Rule); empty != nil {
		return response{Errors: []problem{*empty}}
	}
	module = withHostedNames(withoutTests(module))
	source := bundle.Bundle{Data: map[string]any{}}
	source.Manifest.Init()
	source.Modules = []bundle.ModuleFile{{URL: fileName, Path: fileName, Raw: []byte(r.Source), Parsed: module}}
	build := compile.New().
		WithTarget(compile.TargetWasm).
		WithBundle(&source).
		WithEntrypoints(strings.ReplaceAll(r.Package, ".", "/")).
		WithCapabilities(compileCapabilities).
		// Else every rule that depends on the package would be an entrypoint of its own, which functions can't be.
		WithPruneUnused(true).
		WithRegoVersion(ast.RegoV1)
	if err := build.Build(context.Background()); err != nil {
		return response{Errors: problemsOf(err)}
	}
	return response{Wasm: base64.StdEncoding.EncodeToString(build.Bundle().WasmModules[0].Raw)}
}

// withHostedNames calls hosted builtins by the names that the evaluator knows them by, unless the policy has
// a function of that name.
func withHostedNames(module *ast.Module) *ast.Module {
	own := map[string]bool{}
	for _, rule := range module.Rules {
		own[rule.Head.Reference[0].Value.String()] = true
	}
	rename := func(operator *ast.Term) {
		// A reference where it is called, a variable in `with`.
		if name := operator.Value.String(); hosted[name] != "" && !own[name] {
			operator.Value = ast.MustParseRef(hosted[name])
		}
	}
	ast.WalkTerms(module, func(t *ast.Term) bool {
		if call, is := t.Value.(ast.Call); is {
			rename(call[0])
		}
		return false
	})
	ast.WalkExprs(module, func(e *ast.Expr) bool {
		if terms, is := e.Terms.([]*ast.Term); is && len(terms) > 0 {
			rename(terms[0])
		}
		for _, with := range e.With {
			rename(with.Target)
			// A builtin may stand in for another: with value as sprintf.
			rename(with.Value)
		}
		return false
	})
	return module
}
