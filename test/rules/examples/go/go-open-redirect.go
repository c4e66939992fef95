package example

import "net/http"

func leave(w http.ResponseWriter, r *http.Request) {
	// ruleid: go-open-redirect
	http.Redirect(w, r, r.FormValue("next"), http.StatusFound)
}

func leaveFixed(w http.ResponseWriter, r *http.Request) {
	// ok: go-open-redirect
	http.Redirect(w, r, "/welcome?tab="+r.FormValue("tab"), http.StatusFound)
}
