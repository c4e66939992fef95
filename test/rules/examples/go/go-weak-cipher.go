package example

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
)

func block(key []byte) (cipher.Block, error) {
	// ruleid: go-weak-cipher
	return des.NewTripleDESCipher(key)
}

func sealer(key []byte) (cipher.AEAD, error) {
	// ok: go-weak-cipher
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
