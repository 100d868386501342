// Command kill ends the program of a pod on this node at once, as a crash would:
// Kubernetes itself always asks first. It is for a pod that sees the processes of
// its node.
//
//	kill POD
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kill POD")
		os.Exit(2)
	}
	if err := kill(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

// kill kills the process of a pod with one container, which knows its name.
func kill(pod string) error {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, file := range environments {
		content, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, content...), []byte("\x00HOSTNAME="+pod+"\x00")) {
			continue // it has ended, or is another
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return err
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			return err
		}
		return process.Kill()
	}
	return errors.New("no process is of the pod " + pod)
}
