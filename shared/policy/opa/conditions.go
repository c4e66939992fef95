package main

import (
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
)

// scope knows what names stand for: places of the input, and constants.
type scope struct {
	places    map[string][]string
	constants map[string]ast.Value
}

// conditionsOf finds, for each rule, what it compares places of the input with: in comparisons, in `in`, in
// calls such as startswith, and by asking whether a place is true. The first value is one that meets the condition.
//
// Rules that may contradict another come first.
func conditionsOf(module *ast.Module, disputed map[string]bool) [][]condition {
	constants := map[string]ast.Value{}
	for _, rule := range module.Rules {
		if rule.Head.Value != nil && ast.IsConstant(rule.Head.Value.Value) && len(rule.Head.Args) == 0 {
			constants[rule.Head.Reference[0].Value.String()] = rule.Head.Value.Value
		}
	}
	var out, others [][]condition
	for _, rule := range module.Rules {
		if isTest(rule) {
			continue
		}
		in := scope{places: map[string][]string{}, constants: constants}
		ast.WalkExprs(rule, func(e *ast.Expr) bool {
			in.learn(e)
			return false
		})
		var found []condition
		ast.WalkExprs(rule, func(e *ast.Expr) bool {
			found = append(found, in.conditions(e)...)
			return false
		})
		switch {
		case len(found) == 0:
		case disputed[rule.Head.Ref().String()]:
			out = append(out, merge(found))
		default:
			others = append(others, merge(found))
		}
	}
	return append(out, others...)
}

// learn takes `name := input.place` for what it is.
func (s scope) learn(e *ast.Expr) {
	if !e.IsAssignment() && !e.IsEquality() {
		return
	}
	name, isVar := e.Operand(0).Value.(ast.Var)
	if !isVar {
		return
	}
	if path := s.place(e.Operand(1)); path != nil {
		s.places[string(name)] = path
	}
}

// place gives the path within the input that a term stands for, or nil.
func (s scope) place(t *ast.Term) []string {
	if name, is := t.Value.(ast.Var); is {
		return s.places[string(name)]
	}
	ref, is := t.Value.(ast.Ref)
	if !is || len(ref) < 2 {
		return nil
	}
	head, is := ref[0].Value.(ast.Var)
	if !is {
		return nil
	}
	path := []string{}
	if head != "input" {
		known := s.places[string(head)]
		if known == nil {
			return nil
		}
		path = append(path, known...)
	}
	for _, part := range ref[1:] {
		text, is := part.Value.(ast.String)
		if !is {
			return nil
		}
		path = append(path, string(text))
	}
	return path
}

func (s scope) constant(t *ast.Term) ast.Value {
	if name, is := t.Value.(ast.Var); is {
		return s.constants[string(name)]
	}
	if ast.IsConstant(t.Value) {
		return t.Value
	}
	return nil
}

var comparing = map[string]bool{
	"eq": true, "equal": true, "neq": true, "lt": true, "lte": true, "gt": true, "gte": true,
	"internal.member_2": true, "startswith": true, "endswith": true, "contains": true,
}

func (s scope) conditions(e *ast.Expr) []condition {
	if term, is := e.Terms.(*ast.Term); is {
		if path := s.place(term); path != nil {
			return []condition{{path: path, values: []any{!e.Negated, e.Negated}}}
		}
		return nil
	}
	terms, is := e.Terms.([]*ast.Term)
	if !is || len(terms) != 3 || !comparing[terms[0].Value.String()] {
		return nil
	}
	operator := terms[0].Value.String()
	for side, sides := range [][2]*ast.Term{{terms[1], terms[2]}, {terms[2], terms[1]}} {
		path, value := s.place(sides[0]), s.constant(sides[1])
		if path != nil && value != nil {
			values := valuesOf(value)
			if above := operator == "gt"; len(values) == 3 && (above || operator == "lt") && above == (side == 0) {
				values[0], values[2] = values[2], values[0]
			} else if len(values) == 3 && (above || operator == "lt") {
				values[0], values[1] = values[1], values[0]
			}
			if e.Negated != (operator == "neq") && len(values) > 1 {
				values = append(values[1:], values[0])
			}
			return []condition{{path: path, values: values}}
		}
	}
	return nil
}

func valuesOf(value ast.Value) []any {
	switch v := value.(type) {
	case ast.Number:
		return near(json.Number(v))
	case ast.Boolean:
		return []any{true, false}
	case ast.Set:
		return elements(v.Slice())
	case *ast.Array:
		members := []*ast.Term{}
		v.Foreach(func(t *ast.Term) { members = append(members, t) })
		return elements(members)
	}
	if plain, err := ast.JSON(value); err == nil {
		// Beside the value something that it is not.
		return []any{plain, ""}
	}
	return nil
}

func elements(terms []*ast.Term) []any {
	var out []any
	for _, t := range terms {
		if plain, err := ast.JSON(t.Value); err == nil {
			out = append(out, plain)
		}
	}
	return append(out, "")
}
