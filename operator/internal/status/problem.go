// Package status holds what the controllers share when they report on a
// resource: problems, conditions, Events, and the two questions that every
// write raises: did the API server refuse it, and was the cached copy stale?
//
// It knows no kind of resource.
package status

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Problem is a reason why a resource is not as declared.
type Problem struct {
	// Condition is the type of the condition that reports the problem.
	Condition string
	// Reason is a condition reason of package v1alpha1; Message is for people. Both
	// stay the same as long as the problem does: each change is a write and an Event.
	Reason, Message string
	// Retry makes the controller try again. It is nil if only a change of some
	// resource helps, which wakes the controller by itself.
	Retry error
}

// NewProblem returns a problem that only a change of some resource solves.
func NewProblem(condition, reason, format string, args ...any) *Problem {
	return &Problem{Condition: condition, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// RetryError returns the error that makes the controller try again, nil without a
// problem.
func (p *Problem) RetryError() error {
	if p == nil {
		return nil
	}
	return p.Retry
}

// FirstProblem returns the first of the problems that is not nil.
func FirstProblem(problems ...*Problem) *Problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// IsRefusal reports whether the API server refused a request, so that the same
// request would be refused again.
func IsRefusal(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && IsRefusalCode(int(answer.ErrStatus.Code))
}

// IsRefusalCode reports whether an HTTP status refuses a request: a 4xx other
// than those that another try may change.
func IsRefusalCode(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return code/100 == 4
}
