//go:build !linux

package main

import "errors"

func start(string, string) error { return errNotLinux() }
func runMachine(string) error    { return errNotLinux() }

func errNotLinux() error {
	return errors.New("a cluster runs on Linux only; use kind elsewhere")
}
