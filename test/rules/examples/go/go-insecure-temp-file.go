package example

import "os"

func spool(content []byte) error {
	// ruleid: go-insecure-temp-file
	return os.WriteFile("/tmp/job.spool", content, 0o600)
}

func spoolFixed(content []byte) error {
	// ok: go-insecure-temp-file
	file, err := os.CreateTemp("", "job-*.spool")
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(content)
	return err
}
