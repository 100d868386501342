package cli

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"
)

// The collector's pace follows the memory that there is, unless the environment says
// otherwise.
func TestPaceCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	logger := slog.New(slog.DiscardHandler)

	t.Setenv("GOGC", "100")
	paceCollector(logger, 0)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC the collector runs at %d %%", got)
	}
	t.Setenv("GOGC", "")
	paceCollector(logger, 0)
	if got := debug.SetGCPercent(100); got != collectorPercent {
		t.Errorf("without GOGC the collector runs at %d %%", got)
	}
	if got := debug.SetMemoryLimit(-1); got <= 0 || got == math.MaxInt64 {
		t.Errorf("the memory limit is %d bytes", got)
	}
	if got := paceCollector(logger, 100<<20); got != 100<<20 || debug.SetMemoryLimit(-1) != got {
		t.Errorf("with a budget of 100 MiB the memory limit is %d bytes, of the heap %d", got, debug.SetMemoryLimit(-1))
	}
}

func TestByteSizes(t *testing.T) {
	for text, want := range map[string]byteSize{
		"1048576": 1 << 20, "512MiB": 512 << 20, "512Mi": 512 << 20, "2GiB": 2 << 30, "64KiB": 64 << 10, "": 0, "0": 0,
		"-1": -1, "1MB": -1, "1.5GiB": -1, "GiB": -1, "9999999999GiB": -1, "0x10": -1,
	} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err == nil && got != want || err != nil && want != -1 {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}
