package example

import "os"

// ruleid: go-hardcoded-credential
const databasePassword = "aaaa1111"

// ok: go-hardcoded-credential
const passwordHint = "8characters"

type account struct {
	User     string
	Password string
}

func mailer() account {
	// ruleid: go-hardcoded-credential
	return account{User: "mailer", Password: "bbbb2222"}
}

func mailerFixed() account {
	// ok: go-hardcoded-credential
	return account{User: "mailer", Password: os.Getenv("MAIL_PASSWORD")}
}
