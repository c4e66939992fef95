package example

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
)

func sign(manifest, key []byte) string {
	// ruleid: go-weak-hash
	sum := sha1.Sum(append(key, manifest...))
	return hex.EncodeToString(sum[:])
}

func signFixed(manifest, key []byte) string {
	// ok: go-weak-hash
	sum := sha256.Sum256(append(key, manifest...))
	return hex.EncodeToString(sum[:])
}

func pageETag(page []byte) string {
	// ok: go-weak-hash
	sum := md5.Sum(page)
	return hex.EncodeToString(sum[:])
}
