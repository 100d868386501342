package peer

import (
	"fmt"
	"testing"
	"time"
)

func members(beat uint64, ids ...string) (all []Member) {
	for _, id := range ids {
		all = append(all, Member{ID: id, Heartbeat: beat, Serves: []string{"poll/"}})
	}
	return all
}

// owners returns how many streams each member owns and what of a view's owners
// differs in another.
func owners(v *memberView, now time.Time) map[string]string {
	all := map[string]string{}
	for i := range 1000 {
		name := fmt.Sprint("poll/", i)
		if owner := v.ownerOf(name, now); owner != nil {
			all[name] = owner.ID
		}
	}
	return all
}

func TestOnlyTheStreamsOfThoseWhoLeaveMove(t *testing.T) {
	n, now := &Node{}, time.Unix(1000, 0)
	full, _ := (&memberView{}).nextView(n, members(1, "a", "b", "c", "d"), now)
	less, _ := full.nextView(n, members(2, "a", "b", "d"), now)
	before, after := owners(full, now), owners(less, now)
	moved := 0
	for name, owner := range before {
		switch {
		case owner == "c" && after[name] != "c":
			moved++
		case owner != after[name]:
			t.Errorf("%s moved from %s to %s", name, owner, after[name])
		}
	}
	if moved < 150 || moved > 350 {
		t.Errorf("%d of 1000 streams moved, want about 250", moved)
	}
}

func TestAMemberIsAliveWhileItsBeatChanges(t *testing.T) {
	n, now := &Node{}, time.Unix(1000, 0)
	v, _ := (&memberView{}).nextView(n, members(7, "a"), now)
	for _, step := range []struct {
		after time.Duration
		beat  uint64
		alive bool
		gone  int
	}{
		{aliveFor - 1, 7, true, 0},
		{aliveFor, 7, false, 0},
		{forgetAfter - 1, 7, false, 0},
		{forgetAfter - 1, 8, true, 0}, // woken up
		{2 * forgetAfter, 8, false, 1},
	} {
		at := now.Add(step.after)
		var gone []string
		v, gone = v.nextView(n, members(step.beat, "a"), at)
		if alive := v.ownerOf("poll/1", at) != nil; alive != step.alive || len(gone) != step.gone {
			t.Errorf("%v after the first beat, beat %d: alive is %t, gone %v", step.after, step.beat, alive, gone)
		}
	}
}
