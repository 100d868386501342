//go:build !linux

package main

import (
	"context"
	"errors"
	"syscall"
)

func checkMachine() error {
	return errors.New("the harness runs on Linux only: it reads /proc and uses the whole of 127.0.0.0/8")
}

func checkMounts(context.Context, string) error { return checkMachine() }
func ownMounts() *syscall.SysProcAttr           { return nil }
