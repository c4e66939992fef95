package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// OPA goes through sets and objects in order, its WebAssembly in the order of hashes. That shows in arrays that
// are made of them and in sets that are shown as arrays. order finds out where: sets that are rules can be sorted
// afterwards, the rest makes a policy that WebAssembly can't be trusted with.
type order struct {
	compiler  *ast.Compiler
	path      ast.Ref
	inputs    []any
	aliases   map[ast.Var]*ast.Term
	sensitive bool
	// Whether numbers such as 1.0 and 1e3 are written, and whether numbers are formatted.
	wholeFloats, formats bool
}

// collection says what a term is made of. Unknown is treated as what has no order of its own.
type collection int

const (
	unknown collection = iota
	ordered
	unordered
	scalar
)

// orderOf gives the rules that are sets, and whether anything else depends on order.
func orderOf(module *ast.Module, compiler *ast.Compiler, inputs []json.RawMessage) (sets []string, sensitive bool) {
	o := order{compiler: compiler, path: module.Package.Path}
	for _, text := range inputs {
		var input any
		if json.NewDecoder(bytes.NewReader(text)).Decode(&input) == nil {
			o.inputs = append(o.inputs, input)
		}
	}
	seen := map[string]bool{}
	for _, rule := range module.Rules {
		o.look(rule)
		name := rule.Head.Reference[0].Value
		if seen[name.String()] || len(rule.Head.Args) > 0 {
			continue
		}
		seen[name.String()] = true
		text, _ := name.(ast.Var)
		kind := o.typeOf(ast.StringTerm(string(text)))
		if isSortable(kind) {
			sets = append(sets, string(text))
		} else if holdsSet(kind) {
			o.sensitive = true
		}
	}
	// Formatted, 1.0 is a float to OPA and has become 1 outside of it.
	return sets, o.sensitive || (o.wholeFloats && o.formats)
}

func (o *order) typeOf(parts ...*ast.Term) types.Type {
	return o.compiler.TypeEnv.GetByRef(o.path.Concat(parts))
}

// isSortable: sets, and what is a set or a scalar, as differences are: an array that is seen there is a set.
func isSortable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Set:
		return !holdsSet(t.Of())
	case types.Any:
		for _, each := range t {
			if !isSortable(each) && ofType(each) != scalar {
				return false
			}
		}
		return len(t) > 0
	}
	return false
}

func holdsSet(t types.Type) bool {
	switch t := t.(type) {
	case *types.Set:
		return true
	case *types.Array:
		for i := range t.Len() {
			if holdsSet(t.Select(i)) {
				return true
			}
		}
		return t.Dynamic() != nil && holdsSet(t.Dynamic())
	case *types.Object:
		for _, p := range t.StaticProperties() {
			if holdsSet(p.Value) {
				return true
			}
		}
		d := t.DynamicProperties()
		return d != nil && holdsSet(d.Value)
	case types.Any:
		for _, each := range t {
			if holdsSet(each) {
				return true
			}
		}
	}
	return false
}

func (o *order) look(rule *ast.Rule) {
	o.aliases = map[ast.Var]*ast.Term{}
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		if e.IsAssignment() || e.IsEquality() {
			if name, is := e.Operand(0).Value.(ast.Var); is {
				o.aliases[name] = e.Operand(1)
			}
		}
		return false
	})
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		if terms, is := e.Terms.([]*ast.Term); is {
			o.lookAtCall(terms)
		}
		return false
	})
	ast.WalkTerms(rule, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Number:
			_, fraction, dotted := strings.Cut(string(v), ".")
			o.wholeFloats = o.wholeFloats || (dotted && strings.Trim(fraction, "0") == "") || strings.ContainsAny(string(v), "eE")
		case *ast.ArrayComprehension:
			o.lookAtIteration(v)
		case ast.Call:
			o.lookAtCall(v)
		case *ast.TemplateString:
			ast.WalkTerms(v, func(part *ast.Term) bool {
				o.lookAtText(part)
				return false
			})
		}
		return false
	})
}

// lookAtText: sets and objects within a text stand there in their order.
func (o *order) lookAtText(t *ast.Term) {
	switch t.Value.(type) {
	case ast.Var, ast.Ref, ast.Call:
		if c := o.collection(t); c == unordered || (c == unknown && !rootedInInput(t)) {
			o.sensitive = true
		}
	case ast.Set, ast.Object, *ast.SetComprehension, *ast.ObjectComprehension:
		o.sensitive = true
	}
}

func (o *order) lookAtCall(terms []*ast.Term) {
	name := terms[0].Value.String()
	o.formats = o.formats || name == ast.Sprintf.Name
	if arithmetic[name] {
		for _, operand := range terms[1:min(len(terms), 3)] {
			o.sensitive = o.sensitive || !o.exact(operand)
		}
	}
	if len(terms) > 2 && name == ast.Concat.Name && o.collection(terms[2]) != ordered {
		o.sensitive = true
	}
}

func (o *order) lookAtIteration(c *ast.ArrayComprehension) {
	ast.WalkExprs(c.Body, func(e *ast.Expr) bool {
		if some, is := e.Terms.(*ast.SomeDecl); is && len(some.Symbols) == 1 {
			if call, is := some.Symbols[0].Value.(ast.Call); is && o.collection(call[len(call)-1]) != ordered {
				o.sensitive = true
			}
		}
		if e.IsCall() && e.Operator().String() == ast.WalkBuiltin.Name {
			o.sensitive = true
		}
		return false
	})
	ast.WalkRefs(c, func(ref ast.Ref) bool {
		for i, part := range ref {
			if _, is := part.Value.(ast.Var); is && i > 0 && o.collection(ast.NewTerm(ref[:i])) != ordered {
				o.sensitive = true
			}
		}
		return false
	})
}

func (o *order) collection(t *ast.Term) collection {
	switch v := t.Value.(type) {
	case *ast.Array, *ast.ArrayComprehension:
		return ordered
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return scalar
	case ast.Call:
		for _, b := range capabilities.Builtins {
			if b.Name == v[0].Value.String() && b.Decl != nil {
				return ofType(b.Decl.Result())
			}
		}
	case ast.Var:
		if alias := o.aliases[v]; alias != nil {
			// Not to be followed twice: x = y, y = x.
			delete(o.aliases, v)
			found := o.collection(alias)
			o.aliases[v] = alias
			return found
		}
		return ofType(o.typeOf(ast.StringTerm(string(v))))
	case ast.Ref:
		return o.collectionOfRef(v)
	}
	return unordered
}

func (o *order) collectionOfRef(ref ast.Ref) collection {
	head, _ := ref[0].Value.(ast.Var)
	if alias := o.aliases[head]; alias != nil {
		base, is := alias.Value.(ast.Ref)
		if !is {
			if len(ref) == 1 {
				return o.collection(alias)
			}
			return unknown
		}
		ref = base.Concat(ref[1:])
		head, _ = ref[0].Value.(ast.Var)
	}
	if len(ref) == 1 && head != "input" {
		return o.collection(ref[0])
	}
	if head == "input" {
		// Only what samples show as an array, and never as an object, is believed to be one.
		found := unknown
		for _, input := range o.inputs {
			switch seen := membersAt(input, ref[1:]); {
			case seen.object:
				return unordered
			case seen.array:
				found = ordered
			}
		}
		return found
	}
	return ofType(o.collectionType(ref))
}

func rootedInInput(t *ast.Term) bool {
	ref, is := t.Value.(ast.Ref)
	return is && ref[0].Value.String() == "input"
}

// arithmetic of fractions is decimal in WebAssembly and binary in OPA: now and then the last digit differs.
var arithmetic = map[string]bool{
	ast.Plus.Name: true, ast.Minus.Name: true, ast.Multiply.Name: true, ast.Sum.Name: true,
}

// integers are the results of these builtins.
var integers = map[string]bool{
	ast.Count.Name: true, ast.Round.Name: true, ast.Rem.Name: true, ast.NumbersRange.Name: true, ast.IndexOf.Name: true,
}

// exact: whether a term is an integer, or a collection of them, or no number.
func (o *order) exact(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.Number:
		return !strings.ContainsAny(string(v), ".eE")
	case ast.String, ast.Set, *ast.SetComprehension:
		return true
	case *ast.Array:
		for i := range v.Len() {
			if !o.exact(v.Elem(i)) {
				return false
			}
		}
		return true
	case ast.Call:
		name := v[0].Value.String()
		return integers[name] || (arithmetic[name] && o.exact(v[1]) && o.exact(v[len(v)-1]))
	case ast.Var:
		alias := o.aliases[v]
		if alias == nil {
			_, isSet := o.typeOf(ast.StringTerm(string(v))).(*types.Set)
			return isSet
		}
		delete(o.aliases, v)
		defer func() { o.aliases[v] = alias }()
		return o.exact(alias)
	case ast.Ref:
		if head, is := v[0].Value.(ast.Var); !is || head != "input" {
			_, isSet := o.collectionType(v).(*types.Set)
			return isSet
		}
		found := members{}
		for _, input := range o.inputs {
			seen := membersAt(input, v[1:])
			if seen.fraction || seen.array || seen.object {
				return false
			}
			found.integer = found.integer || seen.integer
		}
		return found.integer
	}
	return false
}

func (o *order) collectionType(ref ast.Ref) types.Type {
	head, _ := ref[0].Value.(ast.Var)
	return o.typeOf(append([]*ast.Term{ast.StringTerm(string(head))}, ref[1:]...)...)
}

type members struct{ array, object, integer, fraction bool }

// membersAt tells what stands at a path of a sample; a variable in the path stands for every member.
func membersAt(value any, path []*ast.Term) members {
	array, isArray := value.([]any)
	object, isObject := value.(map[string]any)
	if len(path) == 0 {
		number, isNumber := value.(float64)
		whole := number == math.Trunc(number)
		return members{isArray, isObject, isNumber && whole, isNumber && !whole}
	}
	if key, is := path[0].Value.(ast.String); is {
		return membersAt(object[string(key)], path[1:])
	}
	var found members
	add := func(member any) {
		each := membersAt(member, path[1:])
		found = members{
			found.array || each.array, found.object || each.object,
			found.integer || each.integer, found.fraction || each.fraction,
		}
	}
	for _, member := range array {
		add(member)
	}
	for _, member := range object {
		add(member)
	}
	return found
}

func ofType(t types.Type) collection {
	switch t := t.(type) {
	case *types.Array:
		return ordered
	case *types.Set, *types.Object:
		return unordered
	case types.Boolean, types.Number, types.String, types.Null:
		return scalar
	case *types.NamedType:
		return ofType(t.Type)
	}
	return unknown
}
