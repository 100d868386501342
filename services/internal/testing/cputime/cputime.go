//go:build unix

// Package cputime measures benchmarks in processor time, which other processes distort less
// than the time on the clock.
package cputime

import (
	"syscall"
	"testing"
)

// Measure begins a measurement. The function that it returns ends it, and reports the processor
// time that this process spent on an operation.
func Measure(b *testing.B) (report func()) {
	b.Helper()
	began := Spent(b)
	return func() {
		b.Helper()
		b.ReportMetric(float64(Spent(b)-began)/float64(b.N), "cpu-ns/op")
	}
}

// Spent returns the processor time of this process in nanoseconds.
func Spent(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
