package e2e_test

import (
	"fmt"
	"time"
)

// failures are the failed requests of a load: few kinds, each as often as it was.
type failures struct{ kinds []*failure }

// failure is a kind: what was asked, and what came of it.
type failure struct {
	what        string
	count       int
	first, last time.Time
}

func (f *failures) add(what string, at time.Time) {
	for _, k := range f.kinds {
		if k.what == what {
			k.count++
			k.last = at
			return
		}
	}
	f.kinds = append(f.kinds, &failure{what: what, count: 1, first: at, last: at})
}

func (f *failures) count() int {
	sum := 0
	for _, k := range f.kinds {
		sum += k.count
	}
	return sum
}

func (f *failures) lines() []string {
	const clock = "15:04:05.000"
	lines := make([]string, len(f.kinds))
	for i, k := range f.kinds {
		lines[i] = fmt.Sprintf("%d times from %s to %s UTC: %s", k.count, k.first.UTC().Format(clock), k.last.UTC().Format(clock), k.what)
	}
	return lines
}
