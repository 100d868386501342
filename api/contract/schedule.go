package contract

import "time"

// Schedule is part of a configuration. Times are Unix seconds, 0 where none is set.
type Schedule struct {
	StartsAt int64 `json:"startsAt"`
	EndsAt   int64 `json:"endsAt"`
}

// Status is a phase of a schedule.
type Status string

// The three statuses of section 3. They are computed, never stored.
const (
	Pending Status = "pending"
	Active  Status = "active"
	Expired Status = "expired"
)

// Status returns the status at the given time.
func (s Schedule) Status(now time.Time) Status { return s.StatusAt(now.UnixMilli()) }

// StatusAt returns the status at a time in Unix milliseconds.
func (s Schedule) StatusAt(milliseconds int64) Status {
	seconds := milliseconds / 1000
	switch {
	case seconds < s.StartsAt:
		return Pending
	case s.EndsAt != 0 && seconds >= s.EndsAt:
		return Expired
	}
	return Active
}

// ResolveEnd makes a negative end, which means now, the given time in Unix milliseconds.
func (s *Schedule) ResolveEnd(milliseconds int64) {
	if s.EndsAt < 0 {
		s.EndsAt = milliseconds / 1000
	}
}

// ScheduleProblem returns why the schedule may not be stored, or "".
func (s Schedule) ScheduleProblem() string {
	switch {
	case s.StartsAt < 0:
		return "startsAt must not be negative"
	case s.StartsAt != 0 && s.EndsAt != 0 && s.StartsAt > s.EndsAt:
		return "startsAt must not be after endsAt"
	}
	return ""
}
