package main

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// denied builtins reach out of the policy, or would let two evaluations of the same input differ: by the
// clock, by chance, or by where they run.
var denied = map[string]string{
	"http.send":              "reaches the network",
	"opa.runtime":            "tells about the machine",
	"rego.parse_module":      "parses Rego at run time",
	"trace":                  "is for debugging OPA; use print",
	"time.now_ns":            "reads the clock",
	"rand.intn":              "is random",
	"uuid.rfc4122":           "is random",
	"io.jwt.decode_verify":   "reads the clock",
	"io.jwt.encode_sign":     "is random",
	"io.jwt.encode_sign_raw": "is random",
	"crypto.x509.parse_and_verify_certificates":              "reads the clock",
	"crypto.x509.parse_and_verify_certificates_with_options": "reads the clock",
	"providers.aws.sign_req":                                 "signs requests that a policy can't send",
}

func denial(name string) (string, bool) {
	if strings.HasPrefix(name, "net.") {
		return "is of the network", true
	}
	why, is := denied[name]
	return why, is
}

// hosted builtins are called by another name in compiled policies, because the evaluator that runs them
// has a function of its own under the builtin's name that answers differently.
var hosted = map[string]string{"sprintf": "svc.sprintf"}

// capabilities of every policy.
var capabilities = func() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool {
		_, is := denial(b.Name)
		return is
	})
	// No host at all: schemas are not fetched either.
	c.AllowNet = []string{}
	return c
}()

// compileCapabilities know the hosted names besides.
var compileCapabilities = func() *ast.Capabilities {
	c := *capabilities
	c.Builtins = slices.Clone(c.Builtins)
	for _, b := range capabilities.Builtins {
		if name, is := hosted[b.Name]; is {
			renamed := *b
			renamed.Name = name
			c.Builtins = append(c.Builtins, &renamed)
		}
	}
	return &c
}()

func allowedBuiltins() []string {
	names := []string{}
	for _, b := range capabilities.Builtins {
		names = append(names, b.Name)
	}
	return names
}
