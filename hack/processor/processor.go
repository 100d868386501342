// Package processor reads how much time of this machine's processors its host takes away.
// Checks of delays use it to tell a slow program from a slow machine; it decides nothing.
package processor

import (
	"os"
	"strconv"
	"strings"
)

// Time is time of all processors since the machine's start, in ticks.
type Time struct {
	all    int64
	stolen int64 // in which a processor had work and the host ran something else
}

// ReadTime returns no time where the system does not count it.
func ReadTime() Time {
	text, _ := os.ReadFile("/proc/stat") // without it, no time is stolen
	return ParseTime(string(text))
}

// ParseTime reads the first line of a /proc/stat, whose eighth figure is the stolen time. The
// guests' time behind it is in the first two already. Another text gives no time.
func ParseTime(stat string) (t Time) {
	const (
		figures = 8
		stolen  = figures - 1
	)
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= figures || fields[0] != "cpu" {
		return Time{}
	}
	for i, field := range fields[1 : figures+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Time{}
		}
		t.all += ticks
		if i == stolen {
			t.stolen = ticks
		}
	}
	return t
}

// StolenShare returns the part of the time since an earlier moment that was stolen, 0 to 1.
func (t Time) StolenShare(since Time) float64 {
	return float64(t.stolen-since.stolen) / float64(max(t.all-since.all, 1))
}

// MuchStolen is the share from which delays and timeouts say nothing about a program: a
// processor that the host takes away for a moment holds everything up.
const MuchStolen = 0.1
