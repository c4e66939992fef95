package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// problem is an error or a warning, at a place of the source (rows and columns from 1).
type problem struct {
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Row        int      `json:"row,omitempty"`
	Col        int      `json:"col,omitempty"`
	Details    []string `json:"details,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
}

// Nobody reads more; a source of garbage has one in every line.
const maxProblems = 100

func problemsOf(err error) []problem {
	var many ast.Errors
	var one *ast.Error
	var runtime *topdown.Error
	switch {
	case errors.As(err, &many):
		out := []problem{}
		for _, each := range many {
			out = append(out, problemOf(each))
		}
		return out
	case errors.As(err, &one):
		return []problem{problemOf(one)}
	case errors.As(err, &runtime):
		p := problem{Code: runtime.Code, Message: runtime.Message}
		p.at(runtime.Location)
		return []problem{p}
	}
	return []problem{{Code: "error", Message: err.Error()}}
}

func problemOf(e *ast.Error) problem {
	p := problem{Code: e.Code, Message: short(e.Message)}
	p.at(e.Location)
	if e.Details != nil {
		for _, line := range e.Details.Lines() {
			p.Details = append(p.Details, short(line))
		}
	}
	if name, is := strings.CutPrefix(e.Message, "undefined function "); is {
		if why, is := denial(name); is {
			p.Message = fmt.Sprintf("%s is not available to policies: it %s", name, why)
			p.Suggestion = "The same input must always give the same decision: take what is needed from input."
		}
	}
	return p
}

// Lines of the source come back in what is said of them, however long they are.
const maxLine = 300

func short(text string) string {
	if runes := []rune(text); len(runes) > maxLine {
		return string(runes[:maxLine]) + "…"
	}
	return text
}

func (p *problem) at(l *ast.Location) {
	if l != nil {
		p.Row, p.Col = l.Row, l.Col
	}
}

// settle sorts problems by place and drops those that say the same.
func settle(problems []problem) []problem {
	slices.SortStableFunc(problems, func(a, b problem) int {
		if a.Row != b.Row {
			return a.Row - b.Row
		}
		return a.Col - b.Col
	})
	problems = slices.CompactFunc(problems, func(a, b problem) bool {
		return a.Row == b.Row && a.Col == b.Col && a.Message == b.Message
	})
	return problems[:min(len(problems), maxProblems)]
}

// onePerPlace joins problems of one code at one place: the parser says the same in several words, and an old
// rule lacks `if` and `contains` both.
func onePerPlace(problems []problem) []problem {
	var out []problem
	for _, p := range settle(problems) {
		if n := len(out); n > 0 && out[n-1].Row == p.Row && out[n-1].Col == p.Col && out[n-1].Code == p.Code {
			out[n-1].Details = append(out[n-1].Details, p.Message)
			continue
		}
		out = append(out, p)
	}
	return out
}
