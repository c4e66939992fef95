//go:build !wasip1

package main

import (
	"bufio"
	"fmt"
	"os"
)

// The same engine as an ordinary program, for tests that compare: a request a line in, a response a line out.
func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		fmt.Println(string(handle(line)))
	}
}
