// Package fault is the vocabulary of failure that every layer shares: a small
// set of kinds, each with one meaning for the caller, wrapped around the cause.
//
// Lower layers choose the kind; only httpapi turns a kind into a status. The
// package may not import anything of the project and knows nothing of HTTP.
package fault

import (
	"errors"
	"fmt"
)

// Kind is the meaning of a failure for the caller.
type Kind int

const (
	// Internal is a defect of this program: any error without a kind.
	Internal Kind = iota
	// Invalid is a request that can never succeed as it stands.
	Invalid
	// Unauthenticated is a missing, malformed, expired or wrongly signed credential.
	Unauthenticated
	// Forbidden is a request that the role of a verified caller does not allow.
	Forbidden
	// NotFound is something that does not exist.
	NotFound
	// Mismatch is a precondition of the caller that does not hold.
	Mismatch
	// TooLarge is a body or a stored value over its limit.
	TooLarge
	// RateLimited is a caller over its rate limit; nothing was stored.
	RateLimited
	// Unavailable is load shed, a drain or a store that cannot be reached yet;
	// nothing was stored and the caller may try again.
	Unavailable
	// Storage is a storage failure that certainly stored nothing.
	Storage
	// Uncertain is a storage failure after which the write may or may not exist.
	Uncertain
	// Reused is a request whose key another request had.
	Reused
	// Conflict is a request that the present state does not allow; nothing was stored.
	Conflict
)

// String returns the name of the kind, for traces.
func (k Kind) String() string {
	names := [...]string{
		"Internal", "Invalid", "Unauthenticated", "Forbidden", "NotFound", "Mismatch", "TooLarge",
		"RateLimited", "Unavailable", "Storage", "Uncertain", "Reused", "Conflict",
	}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Error is a failure of a known kind. Reason is meant for the caller and is
// sent to it; Err is the cause, for the log only.
type Error struct {
	Kind   Kind
	Reason string
	Err    error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// New returns a failure of the given kind with a reason for the caller.
func New(kind Kind, reason string) *Error { return &Error{Kind: kind, Reason: reason} }

// Newf is New with formatting.
func Newf(kind Kind, format string, args ...any) *Error {
	return New(kind, fmt.Sprintf(format, args...))
}

// Wrap returns a failure of the given kind caused by err; err is logged and
// never sent.
func Wrap(kind Kind, err error, reason string) *Error {
	return &Error{Kind: kind, Reason: reason, Err: err}
}

// KindOf returns the kind of the outermost Error in err's chain, Internal when
// there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// NothingStored reports whether a failed write is certain to have stored nothing.
func NothingStored(err error) bool {
	kind := KindOf(err)
	return kind == Storage || kind == Unavailable
}
