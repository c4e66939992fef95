package main

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/print"
)

// limits of a request's evaluations; 0 is none. They end a policy in good order; whoever runs this program
// has harder ones, for what happens within a single builtin.
type limits struct {
	// For all of the request.
	DeadlineMs int `json:"deadline_ms"`
	// Of the heap, beyond what is in use at the start.
	HeapBytes uint64 `json:"heap_bytes"`
	// Of each result as JSON, and of each evaluation's printed lines.
	OutputBytes int `json:"output_bytes"`
}

type evaluation struct {
	// JSON; absent where the document is undefined.
	Result json.RawMessage `json:"result,omitempty"`
	Errors []problem       `json:"errors,omitempty"`
	Output []printed       `json:"output,omitempty"`
}

// printed is a line that the policy printed.
type printed struct {
	Row  int    `json:"row"`
	Text string `json:"text"`
}

type policy struct {
	query    rego.PreparedEvalQuery
	compiler *ast.Compiler
	builtins []string
}

var prepared = map[string]policy{}

func prepare(r request) response {
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
	policy, err := prepareModule(module.Copy(), r.Package, true)
	if err != nil {
		problems := compileErrors(withoutTests(module))
		if problems == nil {
			problems = problemsOf(err)
		}
		return response{Errors: advise(problems, r.Source)}
	}
	prepared[r.Handle] = policy
	return response{Builtins: policy.builtins}
}

func prepareModule(module *ast.Module, name string, printing bool) (policy, error) {
	compiler, err := compileModule(withoutTests(module), printing)
	if err != nil {
		return policy{}, err
	}
	return prepareQuery(compiler, "data."+name, printing)
}

func compileModule(module *ast.Module, printing bool) (*ast.Compiler, error) {
	compiler := ast.NewCompiler().WithCapabilities(capabilities).WithEnablePrintStatements(printing)
	compiler.Compile(map[string]*ast.Module{fileName: module})
	if compiler.Failed() {
		return nil, compiler.Errors
	}
	return compiler, nil
}

func prepareQuery(compiler *ast.Compiler, query string, printing bool) (policy, error) {
	made, err := rego.New(
		rego.Query(query),
		rego.Compiler(compiler),
		rego.Capabilities(capabilities),
		rego.EnablePrintStatements(printing),
	).PrepareForEval(context.Background())
	if err != nil {
		return policy{}, err
	}
	names := []string{}
	for _, b := range compiler.Required.Builtins {
		names = append(names, b.Name)
	}
	return policy{query: made, compiler: compiler, builtins: names}, nil
}

const testPrefix = "test_"

func isTest(rule *ast.Rule) bool {
	return strings.HasPrefix(rule.Head.Reference[0].Value.String(), testPrefix)
}

// withoutTests: rules that test the policy are no part of what it decides.
func withoutTests(module *ast.Module) *ast.Module {
	rules := module.Rules[:0:0]
	for _, rule := range module.Rules {
		if !isTest(rule) {
			rules = append(rules, rule)
		}
	}
	module.Rules = rules
	return module
}

func evaluate(r request) response {
	policy, is := prepared[r.Handle]
	if !is {
		return response{Unprepared: true}
	}
	watch := newWatch(r.Limits)
	results := make([]evaluation, 0, len(r.Inputs))
	for _, input := range r.Inputs {
		results = append(results, policy.evaluate(input, watch))
	}
	return response{Results: results}
}

func (p policy) evaluate(input json.RawMessage, watch *watch) evaluation {
	value, err := ast.ValueFromReader(strings.NewReader(string(input)))
	if err != nil {
		return evaluation{Errors: []problem{{Code: "bad_input", Message: err.Error()}}}
	}
	return p.evaluateValue(value, watch)
}

func (p policy) evaluateValue(input ast.Value, watch *watch) evaluation {
	printer := &printer{room: watch.limits.OutputBytes}
	found, err := p.query.Eval(context.Background(),
		rego.EvalParsedInput(input), rego.EvalPrintHook(printer), rego.EvalExternalCancel(watch), rego.EvalSortSets(true))
	out := evaluation{Output: printer.lines}
	if err != nil {
		out.Errors = watch.explain(err)
		return out
	}
	if len(found) == 0 {
		return out
	}
	text, err := json.Marshal(found[0].Expressions[0].Value)
	switch limit := watch.limits.OutputBytes; {
	case err != nil:
		out.Errors = problemsOf(err)
	case limit > 0 && len(text) > limit:
		out.Errors = []problem{{Code: "output_too_large", Message: "The result is larger than allowed"}}
	case isTooDeep(text):
		out.Errors = []problem{{Code: "output_too_deep", Message: "The result is nested too deeply"}}
	default:
		out.Result = text
	}
	return out
}

// Deeper results are refused: threads in front of this one can't hand them over.
const maxResultDepth = 500

func isTooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxResultDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// printer keeps lines until there is no room; what does not fit is told by a last line.
type printer struct {
	lines []printed
	room  int
	full  bool
}

func (p *printer) Print(c print.Context, text string) error {
	if p.full {
		return nil
	}
	row := 0
	if c.Location != nil {
		row = c.Location.Row
	}
	if p.room > 0 {
		// 32: a line costs more than its text.
		p.room -= len(text) + 32
		if p.room <= 0 {
			p.full = true
			text = "(more was printed than is shown)"
		}
	}
	p.lines = append(p.lines, printed{Row: row, Text: text})
	return nil
}

// watch ends evaluations that take too long or too much. OPA asks it often, so it looks only now and then.
type watch struct {
	limits limits
	ends   time.Time
	floor  uint64
	asked  int
	reason string
}

func newWatch(l limits) *watch {
	w := &watch{limits: l, floor: heapInUse()}
	if l.DeadlineMs > 0 {
		w.ends = time.Now().Add(time.Duration(l.DeadlineMs) * time.Millisecond)
	}
	return w
}

func (w *watch) Cancel() {}

func (w *watch) Cancelled() bool {
	if w.reason != "" {
		return true
	}
	w.asked++
	if w.asked%512 != 0 {
		return false
	}
	if !w.ends.IsZero() && time.Now().After(w.ends) {
		w.reason = "deadline_exceeded"
	} else if w.limits.HeapBytes > 0 && heapInUse() > w.floor+w.limits.HeapBytes {
		w.reason = "memory_exceeded"
	}
	return w.reason != ""
}

// explain also makes the watch ready for the next input: memory that one took is free again, time is not.
func (w *watch) explain(err error) []problem {
	var e *topdown.Error
	if w.reason == "" || !errors.As(err, &e) || e.Code != topdown.CancelErr {
		return problemsOf(err)
	}
	code, message := w.reason, "The policy takes more memory than allowed"
	if code == "deadline_exceeded" {
		message = "The policy takes longer than allowed"
	} else {
		w.reason = ""
	}
	p := problem{Code: code, Message: message}
	p.at(e.Location)
	return []problem{p}
}

var heapSample = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}

func heapInUse() uint64 {
	metrics.Read(heapSample)
	return heapSample[0].Value.Uint64()
}
