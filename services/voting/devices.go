package voting

import (
	"context"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// DevicePrefix begins the opaque ids of devices, and those of no credential of a viewer.
const DevicePrefix = "device-"

// errDevices refuses a configuration that lets devices vote.
var errDevices = fault.New(fault.Invalid, "deviceVoting needs a poll of one channel without userIDVoting, loggedInOnly and verifiable, and all processes of one release")

// checkDevices returns why the poll with the given id may not let devices vote, or nil. A device has
// no account of the platform, so that rules about accounts cannot hold for it. A list that everyone
// can check would count one person with many devices many times.
func (c *Config) checkDevices(id string) error {
	if c.DeviceVoting && (c.UserIDVoting || c.LoggedInOnly || c.Verifiable || isGlobal(id)) {
		return errDevices
	}
	return nil
}

// countedDevices has the number of devices among the first voters of a table.
type countedDevices struct{ voters, devices int }

// countDevices returns how many of the voters are devices. Voters only come, so that each is
// looked at once.
func (s *State) countDevices() int {
	var counted countedDevices
	if known := s.devices.Load(); known != nil {
		counted = *known
	}
	for ; counted.voters < len(s.voters.table.records); counted.voters++ {
		if strings.HasPrefix(s.voters.table.identityAt(counted.voters), DevicePrefix) {
			counted.devices++
		}
	}
	s.devices.Store(&counted)
	return counted.devices
}

// TallyWithDevices is Tally and has the number of devices that have voted, where the poll lets devices
// vote now and no process of an earlier release is alive.
func (s *Service) TallyWithDevices(ctx context.Context, p Poll, v Voter) (Tally, error) {
	if !s.reads(stream.LevelDevices) {
		return s.Tally(ctx, p, v)
	}
	answer, err := s.engine.View(ctx, p.Stream(), standingQuery{voter: v, devices: true})
	return s.judgeTally(answer), err
}
