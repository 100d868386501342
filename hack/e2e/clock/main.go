// Command clock prints a file for the flag -overlay of the go command, with which it
// builds programs whose clock is off by the duration in the environment variable
// CLOCK_ERROR, such as 10m or -10m: the nodes of a cluster on one machine share the
// clock of its kernel. Timers and measured durations stay right, as they do on a node
// without a time server.
//
//	go build -overlay "$(go run ./hack/e2e/clock "$(go env GOROOT)" FOLDER)" ./services
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/acclaim-dev/acclaim/hack/overlay"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: clock GOROOT FOLDER")
		os.Exit(2)
	}
	file, err := writeOverlay(os.Args[1], os.Args[2])
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clock:", err)
		os.Exit(1)
	}
}

// writeOverlay writes the package time of the standard library in goroot, changed, into a
// folder.
func writeOverlay(goroot, folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(goroot, "src", "time", "time.go")
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed, err := addError(string(source))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return overlay.WriteFiles(folder, map[string]string{path: changed})
}

// addError returns the source of the package with a Now that is off.
func addError(source string) (string, error) {
	for _, change := range [][2]string{
		{"import (\n", "import (\n\t\"syscall\"\n"},
		{"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += clockError\n"},
	} {
		if strings.Count(source, change[0]) != 1 {
			return "", fmt.Errorf("it does not have %q once: this version of Go is another one", change[0])
		}
		source = strings.Replace(source, change[0], change[1], 1)
	}
	return source + clockError, nil
}

// clockError is read once, when the program starts.
const clockError = `
var clockError = readClockError()

func readClockError() int64 {
	text, found := syscall.Getenv("CLOCK_ERROR")
	if !found {
		return 0
	}
	d, err := ParseDuration(text)
	if err != nil {
		panic("CLOCK_ERROR: " + err.Error())
	}
	return int64(d / Second)
}
`
