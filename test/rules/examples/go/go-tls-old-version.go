package example

import "crypto/tls"

func server() *tls.Config {
	// ruleid: go-tls-old-version
	return &tls.Config{MinVersion: tls.VersionTLS10}
}

func serverFixed() *tls.Config {
	// ok: go-tls-old-version
	return &tls.Config{MinVersion: tls.VersionTLS12}
}
