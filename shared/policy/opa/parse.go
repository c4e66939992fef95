package main

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// parse gives the module, or everything that is wrong with its syntax: OPA's parser stops at the first
// error, and looks for a missing `if` only where there is none, so the other statements are parsed one by one.
func parse(source string) (*ast.Module, []problem) {
	if strings.TrimSpace(source) == "" {
		return nil, []problem{{Code: ast.ParseErr, Message: "The policy is empty", Row: 1, Col: 1}}
	}
	if row, col, is := tooDeep(source); is {
		return nil, []problem{{Code: ast.ParseErr, Message: "Brackets are nested too deeply", Row: row, Col: col}}
	}
	module, err := ast.ParseModuleWithOpts(fileName, source, parserOptions)
	if err == nil {
		return module, nil
	}
	problems := problemsOf(err)
	reported := map[int]bool{}
	for _, p := range problems {
		reported[p.Row] = true
	}
	for _, s := range statements(source) {
		if !s.holds(reported) {
			problems = append(problems, parseStatement(s)...)
		}
		problems = append(problems, beyond(s, problems)...)
		if len(problems) >= maxProblems {
			break
		}
	}
	return nil, onePerPlace(advise(settle(problems), source))
}

// statement is what starts in the first column, as rules do, with the rows that it covers.
type statement struct {
	text        string
	first, last int
}

func (s statement) holds(rows map[int]bool) bool {
	for row := s.first; row <= s.last; row++ {
		if rows[row] {
			return true
		}
	}
	return false
}

var startsStatement = regexp.MustCompile(`^[A-Za-z_]`)

func statements(source string) []statement {
	var out []statement
	for i, line := range strings.Split(source, "\n") {
		if startsStatement.MatchString(line) && !strings.HasPrefix(line, "else") {
			out = append(out, statement{text: line, first: i + 1, last: i + 1})
		} else if len(out) > 0 {
			out[len(out)-1].text += "\n" + line
			out[len(out)-1].last = i + 1
		}
	}
	return out
}

func parseStatement(s statement) []problem {
	if s.first < 2 || strings.HasPrefix(s.text, "package") {
		return nil
	}
	// Where it stands in the source, so that rows are right.
	placed := "package p" + strings.Repeat("\n", s.first-1) + s.text
	if _, err := ast.ParseModuleWithOpts(fileName, placed, parserOptions); err != nil {
		return problemsOf(err)
	}
	return nil
}

// Each costs two more parses of the statement.
const maxBeyond = 10

// beyond looks in a statement for what comes after the line that the parser stopped at: in its place it puts nothing,
// and then something that is right in a body. What is wrong with both is wrong in itself.
func beyond(s statement, known []problem) []problem {
	var out []problem
	for _, p := range known {
		if p.Row <= s.first || p.Row > s.last {
			continue
		}
		lines := strings.Split(s.text, "\n")
		for at := p.Row - s.first; len(out) < maxBeyond && isBalanced(lines[at]); at = p.Row - s.first {
			lines[at] = ""
			empty := parseStatement(s.with(lines))
			lines[at] = "true"
			full := parseStatement(s.with(lines))
			if len(empty) == 0 || len(full) == 0 || full[0].Row <= p.Row || full[0].Row > s.last || !empty[0].says(full[0]) {
				break
			}
			p = full[0]
			out = append(out, p)
		}
	}
	return out
}

func (s statement) with(lines []string) statement {
	s.text = strings.Join(lines, "\n")
	return s
}

func (p problem) says(other problem) bool {
	return p.Row == other.Row && p.Col == other.Col && p.Message == other.Message
}

// isBalanced: a line that opens or closes something can't be left out.
func isBalanced(line string) bool {
	for _, pair := range []string{"{}", "[]", "()"} {
		if strings.Count(line, pair[:1]) != strings.Count(line, pair[1:]) {
			return false
		}
	}
	return strings.Count(line, "`")%2 == 0
}

// Deeper nesting is nobody's policy, and each level costs the parser stack.
const maxDepth = 200

func tooDeep(source string) (row, col int, is bool) {
	depth, row, col := 0, 1, 0
	quote := rune(0)
	escaped, comment := false, false
	for _, c := range source {
		col++
		switch {
		case c == '\n':
			row, col, comment = row+1, 0, false
			if quote == '"' {
				quote = 0
			}
		case comment:
		case escaped:
			escaped = false
		case quote == '"' && c == '\\':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case c == '#':
			comment = true
		case c == '(' || c == '[' || c == '{':
			depth++
			if depth > maxDepth {
				return row, col, true
			}
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		}
	}
	return 0, 0, false
}
