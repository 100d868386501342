package pebblestore

import "golang.org/x/sys/windows"

// errLocked is the error of Pebble for a directory that another process has locked.
const errLocked = windows.ERROR_SHARING_VIOLATION

// isLocked reports false: Windows does not delete Pebble's file LOCK while a process has it open, so no other
// file has to be locked.
func isLocked(uintptr) bool { return false }

func unlock(uintptr) {}
