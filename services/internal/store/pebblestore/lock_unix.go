//go:build unix

package pebblestore

import (
	"errors"
	"syscall"
)

// errLocked is the error of Pebble for a directory that another process has locked.
const errLocked = syscall.EAGAIN

// isLocked reports whether another process has locked a file, and otherwise locks it.
func isLocked(file uintptr) bool {
	return errors.Is(syscall.Flock(int(file), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func unlock(file uintptr) { _ = syscall.Flock(int(file), syscall.LOCK_UN) }
