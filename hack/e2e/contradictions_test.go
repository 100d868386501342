package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/hack/processor"
)

// What the proof at the end of every load finds in logs that are wrong.
func TestContradictions(t *testing.T) {
	l := &load{votes: map[string]vote{"U1": {0, true}, "U2": {2, true}, "U3": {1, false}}}
	for name, test := range map[string]struct {
		log  []record
		want []string
	}{
		"all":               {[]record{{"U1", 0}, {"U2", 2}, {"U3", 1}}, nil},
		"without a doubted": {[]record{{"U2", 2}, {"U1", 0}}, nil},
		"lost":              {[]record{{"U2", 2}}, []string{"U1 is not in the log, and was acknowledged"}},
		"twice":             {[]record{{"U1", 0}, {"U2", 2}, {"U1", 0}}, []string{"U1 is in the log twice"}},
		"changed":           {[]record{{"U1", 1}, {"U2", 2}}, []string{"U1 did not vote 1"}},
		"a doubted changed": {[]record{{"U1", 0}, {"U2", 2}, {"U3", 0}}, []string{"U3 did not vote 0"}},
		"of nobody":         {[]record{{"U1", 0}, {"U2", 2}, {"U4", 0}}, []string{"U4 did not vote 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := l.contradictions(test.log)
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("contradictions (-want +got):\n%s", diff)
			}
		})
	}
}

// A failed request is unclear when the host took processors away during it or shortly before, and only then.
func TestStolenProcessors(t *testing.T) {
	at := func(stolen int) processor.Time {
		return processor.ParseTime(fmt.Sprintf("cpu %d 0 0 0 0 0 0 %d", 1000-stolen, stolen))
	}
	for name, test := range map[string]struct {
		stolen  int           // ticks of a thousand
		last    time.Duration // the last of them is so long before the request
		unclear int
	}{
		"nothing":             {0, 0, 0},
		"a little":            {100, 0, 0},
		"much":                {101, 0, 1},
		"much, but long over": {101, aftermath + time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			l := &load{processors: func() processor.Time { return at(test.stolen) }, clock: []moment{{began.Add(-time.Hour), processor.Time{}}}}
			if test.last > aftermath { // all of it before the aftermath
				l.clock = append(l.clock, moment{began.Add(-test.last), at(test.stolen)})
			}
			l.judge("GET /", began, answer{status: http.StatusServiceUnavailable}, nil)
			if got := l.unclear.count(); got != test.unclear || got+l.failures.count() != 1 {
				t.Errorf("%d failures are unclear, want %d", got, test.unclear)
			}
		})
	}
}

// What verifications found is read from what `acclaim verify` prints.
func TestProblems(t *testing.T) {
	const table = "     kind  number  problems\nvotes        3       %d\ndocuments    5       1\n"
	output := "job created\n" + fmt.Sprintf(table, 0) + "\njob done 7\n" + fmt.Sprintf(table, 2)
	if got := problems(output); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("problems %v", got)
	}
}

// All failures count, and those apart where none is allowed.
func TestSum(t *testing.T) {
	r := report{Loads: []*outcome{
		{Requests: 10, Failures: 2, Unclear: 1}, {Requests: 20, Failures: 1, Planned: true}, {Requests: 5, Planned: true},
	}}
	all, planned := r.sum()
	if got, want := all.String()+"; "+planned.String(), "3 of 35, and 1 unclear; 1 of 25, and 0 unclear"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
