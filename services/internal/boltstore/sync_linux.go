package boltstore

import (
	"os"
	"syscall"
)

// syncData makes what was written to a file durable, but not its times.
func syncData(file *os.File) error {
	for {
		if err := syscall.Fdatasync(int(file.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
