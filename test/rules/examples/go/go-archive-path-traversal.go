package example

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
)

func unpack(archive *zip.Reader, target string) error {
	for _, member := range archive.File {
		path := filepath.Join(target, member.Name)
		// ruleid: go-archive-path-traversal
		file, err := os.Create(path)
		if err := write(file, member, err); err != nil {
			return err
		}
	}
	return nil
}

func unpackFixed(archive *zip.Reader, target string) error {
	for _, member := range archive.File {
		name := member.Name
		if !filepath.IsLocal(name) {
			return fmt.Errorf("member %q leaves the folder", name)
		}
		// ok: go-archive-path-traversal
		file, err := os.Create(filepath.Join(target, name))
		if err := write(file, member, err); err != nil {
			return err
		}
	}
	return nil
}
