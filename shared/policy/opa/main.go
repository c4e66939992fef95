// The policy engine: OPA's library behind one function that takes JSON and gives JSON.
//
// reactor_wasip1.go exports it from a WASI reactor, native.go makes a program of it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/open-policy-agent/opa/v1/version"
)

func init() {
	// A request leaves much garbage and little to keep; collecting less often is what makes checks quick.
	debug.SetGCPercent(300)
	// Well under the memory's maximum (build.ts): near it collecting often is better than ending.
	debug.SetMemoryLimit(320 << 20)
}

type request struct {
	Op string `json:"op"`
	// Rego source, of the package Package (such as "svc.triage").
	Source  string `json:"source"`
	Package string `json:"package"`
	// The rule that the policy's kind decides by (such as "decision").
	Rule string `json:"rule"`
	// Names a prepared policy. Whoever asks gives it the name: one made from the policy can't mean another.
	Handle string            `json:"handle"`
	Inputs []json.RawMessage `json:"inputs"`
	Limits limits            `json:"limits"`
}

type response struct {
	Version string `json:"version,omitempty"`
	// What is wrong with the policy.
	Errors   []problem `json:"errors,omitempty"`
	Warnings []problem `json:"warnings,omitempty"`
	// Different values that the policy was seen to decide, as far as they are told.
	Decided []decision `json:"decided,omitempty"`
	// Names of the builtins that the policy calls.
	Builtins []string `json:"builtins,omitempty"`
	// Rules that are sets, and whether the policy depends on the order of sets and objects otherwise.
	Sets      []string `json:"sets,omitempty"`
	Sensitive bool     `json:"order_sensitive,omitempty"`
	// Base64.
	Wasm    string       `json:"wasm,omitempty"`
	Results []evaluation `json:"results,omitempty"`
	Tests   []testResult `json:"tests,omitempty"`
	// The handle of evaluate is not prepared (any more).
	Unprepared bool `json:"unprepared,omitempty"`
	// What is wrong with the request, or with this program.
	Failure string `json:"failure,omitempty"`
}

// handle never panics: what does is answered as a failure. (Exhausted memory or stack ends the instance.)
func handle(in []byte) (out []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			out = encode(response{Failure: fmt.Sprint(cause)})
		}
	}()
	var r request
	decoder := json.NewDecoder(bytes.NewReader(in))
	if err := decoder.Decode(&r); err != nil {
		return encode(response{Failure: "request: " + err.Error()})
	}
	return encode(answer(r))
}

func answer(r request) response {
	switch r.Op {
	case "version":
		return response{Version: version.Version, Builtins: allowedBuiltins()}
	case "check":
		return check(r)
	case "compile":
		return compileToWasm(r)
	case "prepare":
		return prepare(r)
	case "evaluate":
		return evaluate(r)
	case "release":
		delete(prepared, r.Handle)
		return response{}
	case "test":
		return runTests(r)
	}
	return response{Failure: "unknown operation " + r.Op}
}

func encode(r response) []byte {
	out, err := json.Marshal(r)
	if err != nil {
		out, _ = json.Marshal(response{Failure: "response: " + err.Error()})
	}
	return out
}
