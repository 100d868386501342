package operation

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// RequestLog says which calls have a line in the log. The zero RequestLog is LogSampled.
type RequestLog string

// The kinds of RequestLog. Under each, failures of the server have their lines.
const (
	LogAll     RequestLog = "all"     // one line for each call
	LogSampled RequestLog = "sampled" // what staff writes and sign-ins; of other calls some
	LogOff     RequestLog = "off"     // no other lines
)

// MarshalText implements [encoding.TextMarshaler].
func (l RequestLog) MarshalText() ([]byte, error) { return []byte(l), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *RequestLog) UnmarshalText(text []byte) error {
	switch *l = RequestLog(text); *l {
	case "", LogAll, LogSampled, LogOff:
		return nil
	}
	return fmt.Errorf("%q is none of all, sampled and off", text)
}

const (
	// sampledOneIn is the part of calls alike that have a line, beside the first of each second.
	sampledOneIn = 1000
	// failuresPerSecond limits the lines of failures alike, after a burst.
	failuresPerSecond, failuresBurst = 10, 100
	// slowCall is the time from which on a call is slow, and slowPerSecond limits the lines that it
	// has for this reason.
	slowCall      = time.Second
	slowPerSecond = 10
	// maxLineGroups limits the groups of calls alike that are counted apart. The operations and their
	// statuses make fewer.
	maxLineGroups = 1 << 12
)

// callSampler decides which calls have a line in the log, and counts the others. The decision reads
// nothing of a call that has to be formatted first.
type callSampler struct {
	kind RequestLog
	slow *rate.Limiter

	mu     sync.RWMutex
	groups map[lineGroup]*groupSample
}

// lineGroup names calls alike. Its parts are from fixed sets: no client adds to them.
type lineGroup struct {
	name   string // of the operation, else of the route
	status int
	flaw   string // of a refused credential
}

// groupSample counts calls alike.
type groupSample struct {
	lines *rate.Limiter
	oneIn uint64        // 0: no more lines than the limiter admits
	out   atomic.Uint64 // calls without a line since the last line
}

func newCallSampler(kind RequestLog) *callSampler {
	return &callSampler{kind: kind, slow: rate.NewLimiter(slowPerSecond, slowPerSecond), groups: map[lineGroup]*groupSample{}}
}

// admit reports whether a call has a line, and how many calls alike had none since the last one.
func (s *callSampler) admit(x *Observation, took time.Duration) (leftOut uint64, ok bool) {
	failed := x.Status >= http.StatusInternalServerError
	switch {
	case s.kind == LogAll:
		return 0, true
	case s.kind == LogOff && !failed:
		return 0, false
	case x.isKept():
		return 0, true
	}
	group := s.groupOf(x)
	if !failed && x.isSlow(took) && s.slow.Allow() {
		return group.out.Swap(0), true
	}
	return group.admit()
}

// admit counts each call once: as a line, or among those that a later line tells of.
func (g *groupSample) admit() (leftOut uint64, ok bool) {
	if g.lines.Allow() {
		return g.out.Swap(0), true
	}
	if out := g.out.Add(1); g.oneIn == 0 || out < g.oneIn {
		return 0, false
	}
	out := g.out.Swap(0) // 0 where another call's line has just told of this one
	return max(out, 1) - 1, out > 0
}

// groupOf returns the sample of calls like this one.
func (s *callSampler) groupOf(x *Observation) *groupSample {
	name := lineGroup{name: x.Route, status: x.Status}
	switch {
	case x.Status == http.StatusUnauthorized:
		name = lineGroup{status: x.Status, flaw: flawOf(x.Err)}
	case x.Operation != nil:
		name.name = x.Operation.Name
	}
	s.mu.RLock()
	group := s.groups[name]
	s.mu.RUnlock()
	if group == nil {
		group = s.addGroup(name)
	}
	return group
}

func (s *callSampler) addGroup(name lineGroup) *groupSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.groups) >= maxLineGroups {
		name = lineGroup{}
	}
	if s.groups[name] == nil {
		s.groups[name] = newGroupSample(name.status)
	}
	return s.groups[name]
}

func newGroupSample(status int) *groupSample {
	switch {
	case status >= http.StatusInternalServerError:
		return &groupSample{lines: rate.NewLimiter(failuresPerSecond, failuresBurst)}
	case status == http.StatusUnauthorized:
		return &groupSample{lines: rate.NewLimiter(1, 1)}
	}
	return &groupSample{lines: rate.NewLimiter(1, 1), oneIn: sampledOneIn}
}

// isKept reports whether a call has its line whatever else there is: one that staff writes with,
// and a sign-in. Refusals that the rates of the caller do not bound are sampled.
func (x *Observation) isKept() bool {
	switch o := x.Operation; {
	case o == nil:
		return false
	case o.Public && !o.Shared:
		return x.Status < http.StatusBadRequest
	case !o.IsStaffWrite() || x.Caller == nil || x.Caller.Actor() == "":
		return false
	}
	return x.Status != http.StatusForbidden && x.Status != http.StatusTooManyRequests
}

// isSlow reports whether a call took long that was not meant to.
func (x *Observation) isSlow(took time.Duration) bool {
	return took >= slowCall && (x.Operation == nil || !x.Operation.Endless)
}

// flawOf names the flaw for which a credential was refused: that of [flaw], that of the library, or
// none for tokens that cannot be decoded, in many ways.
func flawOf(err error) string {
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		if cause, ok := errors.AsType[*fault.Error](refusal.Err); ok && cause.Kind == fault.Unauthenticated {
			return cause.Reason
		}
	}
	for _, known := range [...]error{
		jwt.ErrTokenMalformed, jwt.ErrTokenUnverifiable, jwt.ErrTokenSignatureInvalid, jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return ""
}
