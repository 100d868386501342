package cli

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// collectorPercent is the growth of the heap between two collections. Much of a
	// request is garbage: at Go's default of 100 the collector takes a fifth of the
	// processor time of a vote. The memory limit bounds what a high value may use.
	collectorPercent = 400
	// cgroupShare of a container's memory is the limit of the heap. The rest is for what
	// the collector does not see: stacks of threads, the page cache of the store's files.
	cgroupShare = 0.9
	// machineShare of the machine's memory is the limit where no container has one.
	machineShare = 0.5
)

// paceCollector lets the heap grow while there is room and makes the collector work
// harder as the process comes near its memory limit: the budget in bytes or, where that
// is 0, a share of the container's or the machine's memory. It returns that limit, 0
// where it is unknown. GOMEMLIMIT and GOGC, if set in the environment, go before.
func paceCollector(logger *slog.Logger, budget int64) int64 {
	provider := memlimit.ApplyFallback(
		memlimit.ApplyRatio(memlimit.FromCgroup, cgroupShare),
		memlimit.ApplyRatio(memlimit.FromSystem, machineShare),
	)
	if budget > 0 {
		provider = memlimit.Limit(uint64(budget))
	}
	limit, err := memlimit.Set(memlimit.WithRatio(1), memlimit.WithProvider(provider))
	if err != nil {
		logger.Warn("the memory limit is unknown; the collector keeps Go's pace", "error", err)
		return budget
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
	if budget == 0 && limit < math.MaxInt64 {
		budget = limit
	}
	return budget
}
