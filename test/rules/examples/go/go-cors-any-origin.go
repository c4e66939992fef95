package example

import (
	"net/http"

	"github.com/rs/cors"
)

func open() *cors.Cors {
	// ruleid: go-cors-any-origin
	return cors.New(cors.Options{AllowedOrigins: []string{"*"}, AllowCredentials: true})
}

func repeatOrigin(w http.ResponseWriter, r *http.Request) {
	// ruleid: go-cors-any-origin
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	w.Header().Set("Access-Control-Allow-Credentials", "true")
}

func fixed() *cors.Cors {
	// ok: go-cors-any-origin
	return cors.New(cors.Options{AllowedOrigins: []string{"https://app.example.com"}, AllowCredentials: true})
}
