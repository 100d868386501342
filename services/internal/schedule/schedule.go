// Package schedule names the contract's schedule for the packages that use nothing else of it.
// The package may not import anything else of the project.
package schedule

import "github.com/acclaim-dev/acclaim/api/contract"

// Schedule is part of a configuration.
type Schedule = contract.Schedule

// Status is a phase of a schedule.
type Status = contract.Status

// The statuses.
const (
	Pending = contract.Pending
	Active  = contract.Active
	Expired = contract.Expired
)
