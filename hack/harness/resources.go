package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReadMemory returns the bytes that a process holds in memory and the most that it ever held:
// zeros for one that has ended, and where the system has no /proc.
func ReadMemory(process int) (resident, peak int64) {
	status, _ := os.ReadFile(procFile(process, "status"))
	return parseStatus(string(status))
}

func procFile(process int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(process), name)
}

// parseStatus reads VmRSS and VmHWM, which are in KiB.
func parseStatus(status string) (resident, peak int64) {
	for line := range strings.Lines(status) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !slices.Contains([]string{"VmRSS:", "VmHWM:"}, fields[0]) {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers only
		if fields[0] == "VmRSS:" {
			resident = kilobytes << 10
		} else {
			peak = kilobytes << 10
		}
	}
	return resident, peak
}

// TreeTime returns the processor time that a process, its children and theirs have used, in
// steps of 10 ms; 0 where the system has no /proc.
func TreeTime(root int) time.Duration {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	used, children := map[int]time.Duration{}, map[int][]int{}
	for _, file := range stats {
		process, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		stat, gone := os.ReadFile(file)
		if err != nil || gone != nil {
			continue
		}
		parent, spent := parseProcess(string(stat))
		used[process], children[parent] = spent, append(children[parent], process)
	}
	var sum time.Duration
	for tree := []int{root}; len(tree) > 0; {
		process := tree[0]
		sum += used[process]
		tree = append(tree[1:], children[process]...)
	}
	return sum
}

// parseProcess returns the parent of a process, field 4 of proc(5), and the processor time of
// the process and of its children that have ended, fields 14 to 17 in USER_HZ.
func parseProcess(stat string) (parent int, spent time.Duration) {
	const tick = time.Second / 100
	// The name before may hold anything, closing brackets too.
	fields := strings.Fields(stat[strings.LastIndex(stat, ") ")+1:])
	if len(fields) < 15 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1]) // the kernel writes numbers only
	for _, field := range fields[11:15] {
		ticks, _ := strconv.ParseInt(field, 10, 64)
		spent += time.Duration(ticks) * tick
	}
	return parent, spent
}
