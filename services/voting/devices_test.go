package voting

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// Rules that no device can meet are not saved with deviceVoting, in one request or in two.
func TestDevicesVoteAlone(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"userIDVoting": func(c *Config) { c.UserIDVoting = true },
		"loggedInOnly": func(c *Config) { c.LoggedInOnly = true },
		"verifiable":   func(c *Config) { c.Verifiable = true },
	} {
		p := newPoll()
		if got := p.do(t, with(func(c *Config) { c.DeviceVoting = true; change(c) })); got != errDevices.Error() {
			t.Errorf("%s: %q", name, got)
		}
		p.accept(t, with(func(c *Config) { c.DeviceVoting = true }))
		if got := p.do(t, patch(`{"`+name+`":true}`)); got != errDevices.Error() {
			t.Errorf("a patch of %s: %q", name, got)
		}
	}
	p, config := newPoll(), DefaultConfig()
	config.DeviceVoting = true
	if got := p.do(t, configureCommand{id: "global-p", config: config}); got != errDevices.Error() {
		t.Errorf("a poll of all channels: %q", got)
	}
}

// The number of devices is that of the voters with their ids: after a snapshot and a reset too.
func TestDevicesAreCounted(t *testing.T) {
	p := newPoll()
	devices := func() int { return standingQuery{devices: true}.answerFrom(p.state).devices }
	vote := func(ids ...string) {
		for _, id := range ids {
			p.accept(t, cast(Voter{OpaqueID: id}, 1))
		}
	}
	vote("device-a")
	if got := devices(); got != 0 {
		t.Errorf("%d devices in a poll that takes none", got)
	}
	p.accept(t, with(func(c *Config) { c.DeviceVoting = true }))
	vote("U1", "device-b", "device-b", "A-device-c")
	if got := devices(); got != 2 {
		t.Errorf("%d devices, want 2", got)
	}
	vote("device-c", "device-a")
	if got, again := devices(), devices(); got != 3 || again != 3 {
		t.Errorf("%d and then %d devices, want 3", got, again)
	}
	p.state, _ = restoreSnapshot(p.state.appendSnapshot(nil))
	if got := devices(); got != 3 {
		t.Errorf("%d devices after a snapshot, want 3", got)
	}
	p.accept(t, resetCommand{}, with(func(c *Config) { c.DeviceVoting = true }))
	if got := devices(); got != 0 {
		t.Errorf("%d devices after a reset", got)
	}
	vote("device-d")
	if got := devices(); got != 1 {
		t.Errorf("%d devices after a reset and a vote, want 1", got)
	}
}

// A poll lets devices vote once all processes know them, and then tells their number through every
// process. Until then the request is refused and changes nothing.
func TestDevicesBesideAnEarlierRelease(t *testing.T) {
	ctx, store, level := t.Context(), storetest.NewMemory(), stream.LevelDevices-1
	owner := NewService(store, stream.SystemClock(), stream.Options{})
	sent := &countingPeer{serve: owner.Serve}
	s := NewService(store, stream.SystemClock(), stream.Options{Peers: sent, PeersRead: func(l stream.Level) bool { return l <= level }})
	t.Cleanup(func() { _, _ = s.Close(context.WithoutCancel(ctx)), owner.Close(context.WithoutCancel(ctx)) })
	poll, config := Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}, DefaultConfig()
	if _, _, err := s.Change(ctx, poll, Change{Config: config}); err != nil {
		t.Fatal(err)
	}
	config.DeviceVoting = true
	requests := []Change{{Config: config}, {Patch: json.RawMessage(`{"deviceVoting":true}`)}}
	for n, request := range requests {
		if _, _, err := s.Change(ctx, poll, request); !errors.Is(err, errDevices) {
			t.Errorf("request %d beside an earlier release: %v", n, err)
		}
	}
	if saved, _, _, err := s.Config(ctx, poll); err != nil || saved.DeviceVoting {
		t.Errorf("the refused request is saved, or %v", err)
	}
	level = stream.LevelDevices
	for n, request := range requests {
		if _, _, err := s.Change(ctx, poll, request); err != nil {
			t.Errorf("request %d: %v", n, err)
		}
	}
	for n := range 3 {
		if _, err := s.Vote(ctx, poll, Voter{OpaqueID: DevicePrefix + strconv.Itoa(n)}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	before := sent.count
	if tally, err := s.TallyWithDevices(ctx, poll, ann); err != nil || tally.Devices != 3 || sent.count == before {
		t.Errorf("through the owner: %d devices, %v", tally.Devices, err)
	}
	level = stream.LevelDevices - 1
	if tally, err := s.TallyWithDevices(ctx, poll, ann); err != nil || tally.Devices != 0 || tally.Statistics.tally.count != (wideInt{lo: 3}) {
		t.Errorf("beside an earlier release: %d devices, %v", tally.Devices, err)
	}
}
