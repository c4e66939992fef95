package example

import (
	"fmt"
	"html/template"
)

func badge(label string) template.HTML {
	// ruleid: go-unescaped-template-type
	return template.HTML(fmt.Sprintf("<span class=\"badge\">%s</span>", label))
}

func badgeFixed(label string) template.HTML {
	// ok: go-unescaped-template-type
	return template.HTML("<span class=\"badge\">" + template.HTMLEscapeString(label) + "</span>")
}

func divider() template.HTML {
	// ok: go-unescaped-template-type
	return template.HTML("<hr class=\"thin\">")
}
