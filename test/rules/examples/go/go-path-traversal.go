package example

import (
	"net/http"
	"os"
	"path/filepath"
)

const reports = "/srv/reports"

func report(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	// ruleid: go-path-traversal
	content, err := os.ReadFile(filepath.Join(reports, name))
	answer(w, content, err)
}

func download(w http.ResponseWriter, r *http.Request) {
	// ruleid: go-path-traversal
	http.ServeFile(w, r, reports+"/"+r.PathValue("name"))
}

func reportFixed(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	if !filepath.IsLocal(name) {
		http.NotFound(w, r)
		return
	}
	// ok: go-path-traversal
	content, err := os.ReadFile(filepath.Join(reports, name))
	answer(w, content, err)
}
