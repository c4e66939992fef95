package example

import (
	crypto "crypto/rand"
	"math/rand"
	"strconv"
	"time"
)

func newToken() string {
	// ruleid: go-insecure-random
	return strconv.FormatInt(rand.Int63(), 36)
}

func invite(mail string) {
	// ruleid: go-insecure-random
	inviteCode := rand.Intn(1_000_000)
	send(mail, inviteCode)
}

func newTokenFixed() string {
	// ok: go-insecure-random
	return crypto.Text()
}

func backoff(attempt int) time.Duration {
	// ok: go-insecure-random
	return time.Duration(rand.Int63n(1<<attempt)) * time.Millisecond
}
