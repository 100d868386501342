//go:build unix

package verifiable_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// BenchmarkAudit reports the time and the processor time of an audit of a poll in which a million
// voters voted once, from files in memory.
func BenchmarkAudit(b *testing.B) {
	const votes = 1_000_000
	p := newPublisher(b)
	q := p.begin("million", lunch())
	for i := range votes {
		q.vote(fmt.Sprint("U", i), int16(i%3))
	}
	q.close()
	q.ballots = false // the proof of each ballot would be a file
	q.sign()
	files := p.files()
	b.ResetTimer()
	began := spent(b)
	for range b.N {
		audit, err := verifiable.Audit(b.Context(), verifiable.Directory{FS: files}, p.keys(), q.name.ResultPath())
		if err != nil || len(audit.Findings) > 0 || audit.Votes != votes {
			b.Fatalf("%+v, %v", audit, err)
		}
	}
	b.ReportMetric(float64(spent(b)-began)/float64(b.N), "cpu-ns/op")
}

// spent returns the processor time of this process in nanoseconds.
func spent(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
