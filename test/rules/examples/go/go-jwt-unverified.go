package example

import (
	"crypto/rsa"

	"github.com/golang-jwt/jwt/v5"
)

func subject(token string) (string, error) {
	claims := jwt.RegisteredClaims{}
	// ruleid: go-jwt-unverified
	_, _, err := jwt.NewParser().ParseUnverified(token, &claims)
	return claims.Subject, err
}

func subjectFixed(token string, key *rsa.PublicKey) (string, error) {
	claims := jwt.RegisteredClaims{}
	// ok: go-jwt-unverified
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) {
		return key, nil
	}, jwt.WithValidMethods([]string{"RS256"}))
	return claims.Subject, err
}
