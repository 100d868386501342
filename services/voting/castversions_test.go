package voting

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A state of an earlier release knows no versions of the votes in it, and learns those of later
// ones, whether it is this release's snapshot that the earlier one wrote again or an own one.
func TestCastVersionsAfterAnEarlierRelease(t *testing.T) {
	p := newPoll()
	for _, c := range []Command{limits(9, 9, 9), cast(ann, 3), modifyCommand{"absent", 1}, limits(9, 9, 8), cast(bob, 3)} {
		p.at++
		if reason := p.do(t, c); reason != "" {
			t.Fatal(reason)
		}
	}
	if a, b := p.state.castVersion(ann), p.state.castVersion(bob); a != start+1 || b != start+4 {
		t.Fatalf("versions %d and %d, want %d and %d", a, b, start+1, start+4)
	}
	p.state.cast = castVersions{} // as an earlier release reads and writes it
	p.state = restored(t, p, p.state)
	p.at++
	if reason := p.do(t, cast(bob, 4)); reason != "" {
		t.Fatal(reason)
	}
	p.state = restored(t, p, p.state)
	if a, b := p.state.castVersion(ann), p.state.castVersion(bob); a != 0 || b != start+4 {
		t.Errorf("versions %d and %d, want 0 and %d", a, b, start+4)
	}
}

// A snapshot is the same bytes as before while no version is known, and a sound one otherwise.
func TestStoredCastVersions(t *testing.T) {
	config := DefaultConfig()
	if plain := (snapshotConfig{Config: config}).encodeJSON(); !bytes.Equal(plain, config.encodeJSON()) {
		t.Errorf("a snapshot without versions has %s", plain)
	}
	for name, stored := range map[string]*storedCastVersions{
		"all of none":    {Known: []int64{5}, All: 2},
		"one of none":    {Known: []int64{5}, Of: []byte{1, 0, 2, 0}},
		"too few voters": {Known: []int64{5}, Of: []byte{1, 0}},
		"half a voter":   {Known: []int64{5}, Of: []byte{1, 0, 1}},
	} {
		if _, ok := stored.restore(2); ok {
			t.Errorf("%s: it is restored", name)
		}
	}
}

// More configurations than there are marks forget the earlier ones, and no voter gets another's.
func TestCastVersionsWithoutEnd(t *testing.T) {
	var c castVersions
	for version := range int64(math.MaxUint16) + 3 {
		c.note(int(version%2), 2, version+1)
	}
	if got := []int64{c.at(0), c.at(1)}; !slices.Equal(got, []int64{math.MaxUint16 + 2, math.MaxUint16 + 3}) {
		t.Errorf("versions %v", got)
	}
}

// A poll whose voters all voted on one version costs nothing for each, one with several two bytes.
func TestMemoryOfCastVersions(t *testing.T) {
	p := newPoll()
	vote := func(from, to int) {
		for i := from; i < to; i++ {
			p.Apply(p.state, p.at, &voteEntry{voter: Voter{OpaqueID: fmt.Sprint("U", i)}, value: 1, times: 1, replace: true})
		}
	}
	configure := func(version int64) {
		config := DefaultConfig()
		config.Version = version
		p.Apply(p.state, p.at, configEntry{config})
	}
	configure(5)
	vote(0, 10_000)
	if n := p.state.cast.memorySize(); n > 100 {
		t.Errorf("one version takes %d bytes", n)
	}
	configure(6)
	vote(9_000, 11_000)
	if n := p.state.cast.memorySize(); n > 2*2*11_000 {
		t.Errorf("two versions take %d bytes", n)
	}
	for i, want := range map[int]int64{0: 5, 8_999: 5, 9_000: 6, 10_999: 6} {
		if got := p.state.castVersion(Voter{OpaqueID: fmt.Sprint("U", i)}); got != want {
			t.Errorf("voter %d voted on %d, want %d", i, got, want)
		}
	}
}

// While a process of an earlier release is alive, the owner gets the old query. Afterwards it
// answers which version a voter voted on.
func TestCastVersionBesideEarlierReleases(t *testing.T) {
	ctx, poll, config := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}, DefaultConfig()
	store, level := storetest.NewMemory(), stream.LevelAccounts
	owner := NewService(store, stream.SystemClock(), stream.Options{})
	sent := &countingPeer{serve: owner.Serve}
	s := NewService(store, stream.SystemClock(), stream.Options{Peers: sent, PeersRead: func(l stream.Level) bool { return l <= level }})
	t.Cleanup(func() { _, _ = s.Close(context.WithoutCancel(ctx)), owner.Close(context.WithoutCancel(ctx)) })
	configure := func() int64 {
		config.EndsAt++
		config.EndsAt = max(config.EndsAt, 4_000_000_000)
		version, _, err := s.Change(ctx, poll, Change{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	first := configure()
	if _, err := s.Vote(ctx, poll, ann, 1, 1); err != nil {
		t.Fatal(err)
	}
	second := configure()
	want := int64(0)
	for level = stream.LevelAccounts; level <= stream.LevelCastVersions; level++ {
		before := sent.count
		got, _, saved, voted, err := s.ConfigFor(ctx, poll, ann)
		if err != nil || !saved || got.Version != second || voted != want || sent.count != before+1 {
			t.Errorf("level %d: version %d, voted on %d, want %d, %v", level, got.Version, voted, want, err)
		}
		want = first
	}
}
