package example

import (
	"fmt"
	"html"
	"html/template"
	"net/http"
)

var page = template.Must(template.New("page").Parse("<h1>{{.}}</h1>"))

func results(w http.ResponseWriter, r *http.Request) {
	// ruleid: go-reflected-xss
	fmt.Fprintf(w, "<h1>Results for %s</h1>", r.FormValue("q"))
}

func greeting(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	// ruleid: go-reflected-xss
	_ = page.Execute(w, template.HTML(name))
}

func resultsFixed(w http.ResponseWriter, r *http.Request) {
	// ok: go-reflected-xss
	fmt.Fprintf(w, "<h1>Results for %s</h1>", html.EscapeString(r.FormValue("q")))
}

func greetingFixed(w http.ResponseWriter, r *http.Request) {
	// ok: go-reflected-xss
	_ = page.Execute(w, r.FormValue("name"))
}
