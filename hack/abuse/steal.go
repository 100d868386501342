package main

import (
	"os"
	"strconv"
	"strings"
)

// processorTime is time of the machine's processors since its start, in ticks.
type processorTime struct {
	all    int64
	stolen int64 // in which a processor had work and the host ran something else
}

// readProcessorTime returns no time where the system does not count it.
func readProcessorTime() processorTime {
	text, _ := os.ReadFile("/proc/stat") // without it, no time is stolen
	return parseProcessorTime(string(text))
}

// parseProcessorTime reads the first line of /proc/stat, whose eighth figure is the stolen
// time. The guests' time behind it is in the first two already.
func parseProcessorTime(stat string) (t processorTime) {
	const (
		figures = 8
		stolen  = figures - 1
	)
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= figures || fields[0] != "cpu" {
		return processorTime{}
	}
	for i, field := range fields[1 : figures+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return processorTime{}
		}
		t.all += ticks
		if i == stolen {
			t.stolen = ticks
		}
	}
	return t
}

// stolenShare returns the part of the time since an earlier moment that was stolen.
func (t processorTime) stolenShare(since processorTime) float64 {
	return float64(t.stolen-since.stolen) / float64(max(t.all-since.all, 1))
}
