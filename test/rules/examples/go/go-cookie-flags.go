package example

import "net/http"

func login(w http.ResponseWriter, session string) {
	// ruleid: go-cookie-flags
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, HttpOnly: true})
}

func loginFixed(w http.ResponseWriter, session string) {
	// ok: go-cookie-flags
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, HttpOnly: true, Secure: true})
}

func theme(w http.ResponseWriter) {
	// ok: go-cookie-flags
	http.SetCookie(w, &http.Cookie{Name: "theme", Value: "dark"})
}
