package example

import (
	"fmt"
	"os/exec"
)

func compress(path string) error {
	command := fmt.Sprintf("gzip -9 %s", path)
	// ruleid: go-shell-built-command
	return exec.Command("/bin/sh", "-c", command).Run()
}

func compressFixed(path string) error {
	// ok: go-shell-built-command
	return exec.Command("gzip", "-9", "--", path).Run()
}

func countFiles() ([]byte, error) {
	// ok: go-shell-built-command
	return exec.Command("/bin/sh", "-c", "ls /srv | wc -l").Output()
}
