package main

import (
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
)

// decision is a value of the rule that the policy's kind decides by, with the place of that rule.
type decision struct {
	Value json.RawMessage `json:"value"`
	Row   int             `json:"row"`
	Col   int             `json:"col"`
}

// More are of a policy that computes them, and differ in nothing that their reader looks at.
const maxDecisions = 50

// decisions collects what a policy decides, each value once: constants of its source, and what samples give.
type decisions struct {
	rule   string
	values []decision
	known  map[string]bool
	// Of the first rule whose value is computed: what samples give and no constant is comes from one of these.
	computed *ast.Location
}

func (d *decisions) readSource(module *ast.Module) {
	for _, rule := range module.Rules {
		if rule.Head.Ref().String() != d.rule || len(rule.Head.Args) > 0 {
			continue
		}
		for ; rule != nil; rule = rule.Else {
			d.readRule(rule)
		}
	}
}

func (d *decisions) readRule(rule *ast.Rule) {
	value := rule.Head.Value
	if value != nil && rule.Head.RuleKind() == ast.SingleValue && ast.IsConstant(value.Value) {
		if plain, err := ast.JSON(value.Value); err == nil {
			text, _ := json.Marshal(plain)
			d.add(text, rule.Location)
		}
	} else if d.computed == nil {
		d.computed = rule.Location
	}
}

// read takes the decision out of a package document.
func (d *decisions) read(document json.RawMessage) {
	var rules map[string]json.RawMessage
	if json.Unmarshal(document, &rules) != nil {
		return
	}
	if value, is := rules[d.rule]; is {
		d.add(value, d.computed)
	}
}

func (d *decisions) add(value json.RawMessage, at *ast.Location) {
	if d.known == nil {
		d.known = map[string]bool{}
	}
	if d.known[string(value)] || len(d.values) >= maxDecisions {
		return
	}
	d.known[string(value)] = true
	made := decision{Value: value}
	if at != nil {
		made.Row, made.Col = at.Row, at.Col
	}
	d.values = append(d.values, made)
}
