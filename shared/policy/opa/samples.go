package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Rules that contradict each other show only when an input meets both. So the policy is evaluated on the
// samples that were given, and on variations of them by the values that the policy itself compares with.

// condition is a place of the input and values of it that make a difference to the policy.
type condition struct {
	path   []string
	values []any
}

const (
	// A third of a millisecond each, which whoever saves waits for.
	maxSamples     = 96
	valuesPerPlace = 6
)

// conflicts evaluates samples until there is no more, and gives each conflict once. Other failures (a
// deadline) are told as well: a policy that can't be evaluated here can't be anywhere. What it answers is read as well.
func conflicts(p policy, module *ast.Module, given []json.RawMessage, l limits, read func(json.RawMessage)) []problem {
	bases := []any{}
	for _, text := range given {
		var base any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&base) == nil {
			bases = append(bases, base)
		}
	}
	watch := newWatch(l)
	var problems []problem
	try := func(input any, varied []string) bool {
		value, err := ast.InterfaceToValue(input)
		if err != nil {
			return true
		}
		done := p.evaluateValue(value, watch)
		read(done.Result)
		for _, found := range done.Errors {
			if len(varied) > 0 && found.Code == topdown.ConflictErr {
				found.Details = []string{"for an input with " + strings.Join(varied, ", ")}
			}
			problems = append(problems, found)
		}
		return watch.reason == "" && len(problems) < maxProblems
	}
	for _, base := range bases {
		if !try(base, nil) {
			return onePerPlace(problems)
		}
	}
	if disputed := disputedRules(module); len(bases) > 0 && len(disputed) > 0 {
		vary(bases, conditionsOf(module, disputed), try)
	}
	return onePerPlace(problems)
}

// disputedRules can contradict each other: a complete rule needs two definitions that are not of the same
// constant, what has a variable in its head needs one. Sets never do.
func disputedRules(module *ast.Module) map[string]bool {
	disputed := map[string]bool{}
	constants := map[string]string{}
	for _, rule := range module.Rules {
		if rule.Default || isTest(rule) || rule.Head.RuleKind() == ast.MultiValue {
			continue
		}
		name := rule.Head.Ref().String()
		value := rule.Head.Value.String()
		known, is := constants[name]
		constants[name] = value
		if !rule.Head.Ref().IsGround() || (is && (known != value || !ast.IsConstant(rule.Head.Value.Value))) {
			disputed[name] = true
		}
	}
	return disputed
}

// vary tries the product of all values where that is small, else each place by itself and the places of two
// rules of a name together: those are who contradict each other.
func vary(bases []any, byRule [][]condition, try func(any, []string) bool) {
	left := maxSamples
	count := func(input any, varied []string) bool {
		left--
		return left >= 0 && try(input, varied)
	}
	all := merge(byRule...)
	if size(all)*len(bases) <= maxSamples {
		for _, base := range bases {
			if !product(base, all, nil, count) {
				return
			}
		}
		return
	}
	pairs := len(byRule) * (len(byRule) + 1) / 2
	for i, first := range byRule {
		for _, second := range byRule[:i+1] {
			of := merge(first, second)
			pair := max(1, maxSamples/pairs)
			within := func(input any, varied []string) bool {
				pair--
				return pair >= 0 && count(input, varied)
			}
			product(bases[i%len(bases)], of, nil, within)
			if left <= 0 {
				return
			}
		}
	}
}

func size(conditions []condition) int {
	total := 1
	for _, c := range conditions {
		if total *= len(c.values); total > maxSamples {
			return total
		}
	}
	return total
}

func merge(groups ...[]condition) []condition {
	var out []condition
	places := map[string]int{}
	for _, group := range groups {
		for _, c := range group {
			key := strings.Join(c.path, "\x00")
			at, is := places[key]
			if !is {
				at = len(out)
				places[key] = at
				out = append(out, condition{path: c.path})
			}
			for _, v := range c.values {
				out[at].add(v)
			}
		}
	}
	return out
}

func (c *condition) add(value any) {
	for _, known := range c.values {
		if fmt.Sprint(known) == fmt.Sprint(value) {
			return
		}
	}
	if len(c.values) < valuesPerPlace {
		c.values = append(c.values, value)
	}
}

func product(input any, conditions []condition, varied []string, try func(any, []string) bool) bool {
	if len(conditions) == 0 {
		return try(input, varied)
	}
	c := conditions[0]
	for _, value := range c.values {
		text, _ := json.Marshal(value)
		label := "input." + strings.Join(c.path, ".") + " = " + string(text)
		if !product(with(input, c.path, value), conditions[1:], append(varied[:len(varied):len(varied)], label), try) {
			return false
		}
	}
	return true
}

// with gives a copy of the input that has the value at the path.
func with(input any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	old, _ := input.(map[string]any)
	copied := make(map[string]any, len(old)+1)
	for k, v := range old {
		copied[k] = v
	}
	copied[path[0]] = with(old[path[0]], path[1:], value)
	return copied
}

// near gives the values around a limit: on it, below it and above it.
func near(n json.Number) []any {
	value, is := new(big.Rat).SetString(string(n))
	if !is {
		return []any{n}
	}
	step := big.NewRat(1, 100)
	digits := 6
	if value.IsInt() {
		step, digits = big.NewRat(1, 1), 0
	}
	show := func(r *big.Rat) json.Number { return json.Number(r.FloatString(digits)) }
	return []any{n, show(new(big.Rat).Sub(value, step)), show(new(big.Rat).Add(value, step))}
}
