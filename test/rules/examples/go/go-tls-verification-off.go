package example

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

func client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		// ruleid: go-tls-verification-off
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

func clientFixed(authorities *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		// ok: go-tls-verification-off
		TLSClientConfig: &tls.Config{RootCAs: authorities},
	}}
}
