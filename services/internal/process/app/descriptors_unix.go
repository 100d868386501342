//go:build unix

package app

import "syscall"

// countDescriptors returns the number of files that the process may have open.
func countDescriptors() int64 {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return defaultDescriptors
	}
	const most = 1 << 30 // "unlimited" does not fit an int64
	return int64(min(files.Cur, most))
}
