package example

import "os"

func publish(path string) error {
	// ruleid: go-world-writable
	return os.Chmod(path, 0o777)
}

func publishFixed(path string) error {
	// ok: go-world-writable
	return os.Chmod(path, 0o750)
}
