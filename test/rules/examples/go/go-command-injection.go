package example

import (
	"net/http"
	"os/exec"
)

func archive(w http.ResponseWriter, r *http.Request) {
	folder := r.FormValue("folder")
	// ruleid: go-command-injection
	_ = exec.Command("sh", "-c", "tar -czf /srv/out.tgz "+folder).Run()
	w.WriteHeader(http.StatusNoContent)
}

func archiveFixed(w http.ResponseWriter, r *http.Request) {
	folder := r.FormValue("folder")
	// ok: go-command-injection
	_ = exec.Command("tar", "-czf", "/srv/out.tgz", "--", folder).Run()
	w.WriteHeader(http.StatusNoContent)
}
