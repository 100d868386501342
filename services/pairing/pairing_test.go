package pairing_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

var (
	owner   = pairing.Owner{Environment: "production", Extension: "ext"}
	channel = pairing.Channel{Owner: owner, ID: "77"}
	noon    = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	keys    = []string{"new", "old"} // that are active
	by      = pairing.Request{By: "broadcaster", Key: "new"}
)

// desk is a service with its test and a time.
type desk struct {
	testing.TB
	*pairing.Service
	now time.Time
}

func newDesk(t testing.TB) *desk {
	return &desk{t, pairing.NewService(document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{}), nil), noon}
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// refused fails the test unless err has a kind and a reason.
func (d *desk) refused(err error, kind fault.Kind, reason string) {
	d.Helper()
	if fault.KindOf(err) != kind || !strings.Contains(err.Error(), reason) {
		d.Errorf("%v, want %q", err, reason)
	}
}

const (
	badPIN     = "The PIN is invalid or has expired"
	badRefresh = "The refresh token is invalid"
)

func (d *desk) newPIN(role string) string {
	d.Helper()
	pin, err := d.CreatePIN(d.Context(), channel, pairing.Request{By: role, Key: keys[0]}, d.now)
	d.must(err)
	return pin
}

func (d *desk) pair() pairing.Grant {
	d.Helper()
	g, err := d.UsePIN(d.Context(), owner, d.newPIN("broadcaster"), keys, d.now)
	d.must(err)
	return g
}

func (d *desk) resolve(family, game string) (string, error) {
	return d.Resolve(d.Context(), channel, pairing.Token{Family: family, Game: game}, keys)
}

func (d *desk) refresh(token string) (pairing.Grant, error) {
	return d.UseRefresh(d.Context(), owner, token, keys, d.now)
}

// A PIN is good for five minutes, for one use and for its extension in its environment.
func TestPIN(t *testing.T) {
	for name, test := range map[string]struct {
		typed func(pin string) string
		by    pairing.Owner
		after time.Duration
		bad   bool
	}{
		"as shown":            {},
		"lower case, spaces":  {typed: func(pin string) string { return " " + strings.ToLower(pin) + "\n" }},
		"in time":             {after: contract.PINLifetime - time.Millisecond},
		"too late":            {after: contract.PINLifetime, bad: true},
		"of another":          {by: pairing.Owner{Environment: "production", Extension: "other"}, bad: true},
		"in the sandbox":      {by: pairing.Owner{Environment: "sandbox", Extension: "ext"}, bad: true},
		"none":                {typed: func(string) string { return "" }, bad: true},
		"one letter too many": {typed: func(pin string) string { return pin + "A" }, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			pin := d.newPIN("admin")
			if strings.Trim(pin, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789") != "" || len(pin) != 6 {
				t.Errorf("the PIN is %q", pin)
			}
			typed, by := pin, owner
			if test.typed != nil {
				typed = test.typed(pin)
			}
			if test.by != (pairing.Owner{}) {
				by = test.by
			}
			g, err := d.UsePIN(t.Context(), by, typed, keys, noon.Add(test.after))
			if test.bad {
				d.refused(err, fault.Invalid, badPIN)
				return
			}
			d.must(err)
			if g.Channel != "77" || g.Server || g.Key != keys[0] || g.Refresh == "" {
				t.Errorf("%+v", g)
			}
			_, err = d.UsePIN(t.Context(), by, typed, keys, noon)
			d.refused(err, fault.Invalid, badPIN)
		})
	}
}

func TestPINWorksOnce(t *testing.T) {
	d := newDesk(t)
	pin := d.newPIN("broadcaster")
	var used atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := d.UsePIN(t.Context(), owner, pin, keys, noon); err == nil {
				used.Add(1)
			} else {
				d.refused(err, fault.Invalid, badPIN)
			}
		})
	}
	all.Wait()
	if used.Load() != 1 {
		t.Errorf("%d games used one PIN", used.Load())
	}
}

// A refresh token works until a minute after the first use of its successor, and for a year.
// failingStore refuses one of its writes.
type failingStore struct {
	*storetest.Memory
	left int // writes until then
}

func (s *failingStore) Put(ctx context.Context, writes ...document.Write) error {
	if s.left--; s.left == -1 {
		return fault.New(fault.Unavailable, "no primary")
	}
	return s.Memory.Put(ctx, writes...)
}

// A confirmation that stores nothing, whichever of its writes fails, leaves the PIN to the next.
func TestRefusedConfirmationKeepsThePIN(t *testing.T) {
	for fails := range 4 {
		store := &failingStore{Memory: storetest.NewMemory(), left: 1 + fails}
		d := &desk{t, pairing.NewService(document.NewService(store, storetest.Hasty{}, document.Options{}), nil), noon}
		pin, family, err := d.OpenGame(t.Context(), owner, "", d.now)
		d.must(err)
		if _, err = d.ConfirmPIN(t.Context(), channel, pin, "new", d.now); fault.KindOf(err) == fault.Unavailable {
			_, err = d.ConfirmPIN(t.Context(), channel, pin, "new", d.now)
		}
		if err != nil {
			t.Errorf("write %d fails: %v", fails, err)
		}
		_, err = d.resolve(family, "")
		d.must(err)
		_, err = d.ConfirmPIN(t.Context(), channel, pin, "new", d.now)
		d.refused(err, fault.Invalid, badPIN)
	}
}

func TestRefresh(t *testing.T) {
	d := newDesk(t)
	first := d.pair()
	second, err := d.refresh(first.Refresh)
	d.must(err)
	d.now = d.now.Add(time.Hour) // the answer was lost: the first one goes on
	again, err := d.refresh(first.Refresh)
	d.must(err)
	if second.Refresh == again.Refresh || again.Family != first.Family || again.Game != first.Game || again.Key != first.Key {
		t.Errorf("%+v after %+v", again, first)
	}
	_, err = d.refresh(again.Refresh)
	d.must(err)
	d.now = d.now.Add(time.Minute - time.Millisecond)
	last, err := d.refresh(first.Refresh)
	d.must(err)
	d.now = d.now.Add(time.Millisecond)
	fresh, err := d.refresh(last.Refresh)
	d.must(err)
	d.now = d.now.Add(365*24*time.Hour - time.Millisecond)
	fresh, err = d.refresh(fresh.Refresh)
	d.must(err)
	d.now = d.now.Add(365 * 24 * time.Hour)
	_, err = d.refresh(fresh.Refresh)
	d.refused(err, fault.Invalid, badRefresh)
	_, err = d.UseRefresh(t.Context(), pairing.Owner{Environment: "sandbox", Extension: "ext"}, d.pair().Refresh, keys, d.now)
	d.refused(err, fault.Invalid, badRefresh)
}

// A refresh token that is used a minute after its successor was used has been copied: the game
// and its tokens end, and others go on.
func TestReuseEndsTheGame(t *testing.T) {
	d := newDesk(t)
	other, first := d.pair(), d.pair()
	second, err := d.refresh(first.Refresh)
	d.must(err)
	third, err := d.refresh(second.Refresh)
	d.must(err)
	_, err = d.resolve(first.Family, first.Game)
	d.must(err)
	d.now = d.now.Add(time.Minute)
	_, err = d.refresh(first.Refresh)
	d.refused(err, fault.Invalid, badRefresh)
	for _, token := range []string{first.Refresh, second.Refresh, third.Refresh} {
		_, err = d.refresh(token)
		d.refused(err, fault.Invalid, badRefresh)
	}
	_, err = d.resolve(first.Family, first.Game)
	d.refused(err, fault.Unauthenticated, "The pairing has ended")
	_, err = d.resolve(other.Family, other.Game)
	d.must(err)
	_, err = d.refresh(other.Refresh)
	d.must(err)
}

// What was issued under a key ends with it, also after uses while newer keys were active. A
// record without a key, of an earlier version, ends with the oldest key.
func TestKeys(t *testing.T) {
	for name, test := range map[string]struct {
		by   pairing.Request
		left []string
		bad  bool
	}{
		"the key is there":         {pairing.Request{Key: "old"}, []string{"new", "old"}, false},
		"the key is gone":          {pairing.Request{Key: "old"}, []string{"new"}, true},
		"another is gone":          {pairing.Request{Key: "new"}, []string{"new"}, false},
		"all are gone":             {pairing.Request{Key: "new"}, nil, true},
		"none, oldest is there":    {pairing.Request{}, []string{"newest", "old"}, false},
		"none, the oldest is gone": {pairing.Request{}, []string{"new"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			check := func(err error, reason string) {
				t.Helper()
				if test.bad {
					d.refused(err, fault.Invalid, reason)
				} else {
					d.must(err)
				}
			}
			game, err := d.IssueRefresh(t.Context(), channel, test.by, d.now)
			d.must(err)
			used, err := d.refresh(game.Refresh)
			d.must(err)
			_, err = d.UseRefresh(t.Context(), owner, used.Refresh, test.left, d.now)
			check(err, badRefresh)
			if test.by.Key == "" {
				return // an open PIN has been there for five minutes at most
			}
			pin, err := d.CreatePIN(t.Context(), channel, test.by, d.now)
			d.must(err)
			_, err = d.UsePIN(t.Context(), owner, pin, test.left, d.now)
			check(err, badPIN)
			shown, family, err := d.OpenGame(t.Context(), owner, "", d.now)
			d.must(err)
			_, err = d.ConfirmPIN(t.Context(), channel, shown, test.by.Key, d.now)
			d.must(err)
			_, err = d.Resolve(t.Context(), channel, pairing.Token{Family: family}, test.left)
			if (err != nil) != test.bad {
				t.Errorf("a game whose PIN was confirmed: %v", err)
			}
		})
	}
}

// A token has the rights of all channels only where its request names them.
func TestServerPIN(t *testing.T) {
	d := newDesk(t)
	for _, server := range []bool{false, true} {
		pin, err := d.CreatePIN(t.Context(), channel, pairing.Request{By: "backend", Key: "new", Server: server}, d.now)
		d.must(err)
		g, err := d.UsePIN(t.Context(), owner, pin, keys, d.now)
		d.must(err)
		next, err := d.refresh(g.Refresh)
		if d.must(err); g.Server != server || next.Server != server {
			t.Errorf("%+v, %+v, want server %t", g, next, server)
		}
	}
}

// An address takes places of its own only, however many ask.
func TestOpenGames(t *testing.T) {
	d := newDesk(t)
	open := func(from string) (string, error) {
		pin, _, err := d.OpenGame(t.Context(), owner, from, d.now)
		return pin, err
	}
	genuine, err := open("genuine")
	d.must(err)
	first, err := open("0")
	d.must(err)
	for i := range 1_000 {
		_, err := open(strconv.Itoa(i % 100))
		d.must(err)
	}
	for i := range 600 { // each alone at its address
		if _, err := open("alone" + strconv.Itoa(i)); err != nil {
			d.refused(err, fault.RateLimited, "Too many requests")
		}
	}
	_, err = open("late")
	d.refused(err, fault.RateLimited, "Too many requests")
	_, err = d.ConfirmPIN(t.Context(), channel, first, "new", d.now)
	d.refused(err, fault.Invalid, badPIN) // eight of its address are newer
	_, err = d.ConfirmPIN(t.Context(), channel, genuine, "new", d.now)
	d.must(err)
}

// The owner sees the games of the channel, and ends one without the others.
func TestEndGame(t *testing.T) {
	d := newDesk(t)
	first, second := d.pair(), d.pair()
	shown, family, err := d.OpenGame(t.Context(), owner, "", d.now)
	d.must(err)
	_, err = d.ConfirmPIN(t.Context(), channel, shown, "new", d.now)
	d.must(err)
	list := func() (ids []string) {
		games, err := d.Games(t.Context(), channel, d.now)
		d.must(err)
		for _, g := range games {
			if g.Created != noon.Unix() || g.LastUsed != noon.Unix() {
				t.Errorf("%+v", g)
			}
			ids = append(ids, g.ID)
		}
		return ids
	}
	confirmed := strings.TrimPrefix(family, "g")
	if diff := cmp.Diff([]string{first.Game, second.Game, confirmed}, list()); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{first.Game, confirmed} {
		d.must(d.EndGame(t.Context(), channel, id, d.now))
		d.refused(d.EndGame(t.Context(), channel, id, d.now), fault.NotFound, "No such game")
	}
	if diff := cmp.Diff([]string{second.Game}, list()); diff != "" {
		t.Error(diff)
	}
	for _, token := range []pairing.Token{{Family: first.Family, Game: first.Game}, {Family: family}} {
		_, err = d.resolve(token.Family, token.Game)
		d.refused(err, fault.Unauthenticated, "The pairing has ended")
	}
	_, err = d.refresh(first.Refresh)
	d.refused(err, fault.Invalid, badRefresh)
	_, err = d.resolve(second.Family, second.Game)
	d.must(err)
}

func TestRevoke(t *testing.T) {
	d := newDesk(t)
	exists := func(want bool) {
		t.Helper()
		if got, err := d.Exists(t.Context(), channel, d.now); err != nil || got != want {
			t.Errorf("a pairing exists: %t, %v", got, err)
		}
	}
	exists(false)
	g, pin := d.pair(), d.newPIN("broadcaster")
	other := pairing.Channel{Owner: owner, ID: "78"}
	theirs, err := d.IssueRefresh(t.Context(), other, by, noon)
	d.must(err)
	shown, family, err := d.OpenGame(t.Context(), owner, "192.0.2.1/32", noon)
	d.must(err)
	_, err = d.resolve(family, "")
	d.refused(err, fault.Unauthenticated, "The pairing has ended")
	confirmed, err := d.ConfirmPIN(t.Context(), channel, strings.ToLower(shown), keys[0], noon)
	if d.must(err); confirmed != family {
		t.Errorf("the game of %q is confirmed, want %q", confirmed, family)
	}
	_, err = d.ConfirmPIN(t.Context(), other, shown, keys[0], noon)
	d.refused(err, fault.Invalid, badPIN)
	for _, family := range []string{family, g.Family} {
		if got, err := d.resolve(family, ""); err != nil || got != "77" {
			t.Errorf("%s is of channel %q, %v", family, got, err)
		}
	}
	exists(true)

	d.must(d.Revoke(t.Context(), channel))
	exists(false)
	_, err = d.UsePIN(t.Context(), owner, pin, keys, noon)
	d.refused(err, fault.Invalid, badPIN)
	_, err = d.refresh(g.Refresh)
	d.refused(err, fault.Invalid, badRefresh)
	for _, family := range []string{family, g.Family, "", "c9", "gnone"} {
		_, err = d.resolve(family, "")
		d.refused(err, fault.Unauthenticated, "The pairing has ended")
	}
	_, err = d.refresh(theirs.Refresh)
	d.must(err)
	d.pair()
	exists(true)
	d.now = d.now.Add(365 * 24 * time.Hour)
	exists(false)
}

// A channel has 64 games: a further one replaces the oldest.
func TestGamesOfAChannel(t *testing.T) {
	d := newDesk(t)
	first, second := d.pair(), d.pair()
	for range 63 {
		d.pair()
	}
	_, err := d.refresh(first.Refresh)
	d.refused(err, fault.Invalid, badRefresh)
	_, err = d.refresh(second.Refresh)
	d.must(err)
}

func TestOverlayKeys(t *testing.T) {
	d := newDesk(t)
	for name, test := range map[string]struct {
		key    pairing.OverlayKey
		reason string
	}{
		"long name":         {pairing.OverlayKey{Name: strings.Repeat("x", 129)}, "name must be at most 128 bytes"},
		"over":              {pairing.OverlayKey{Expires: noon.Unix()}, "within the next 100 years"},
		"too late":          {pairing.OverlayKey{Expires: noon.Add(pairing.OverlayLifetime).Unix() + 1}, "within the next 100 years"},
		"no polls":          {pairing.OverlayKey{Polls: []string{}}, "polls must have 1 to 10 ids"},
		"too many":          {pairing.OverlayKey{Questions: slices.Repeat([]string{"q"}, 11)}, "questions must have 1 to 10 ids"},
		"pattern":           {pairing.OverlayKey{Polls: []string{"p*"}}, "Invalid id"},
		"empty id":          {pairing.OverlayKey{Polls: []string{""}}, "Invalid id"},
		"long id":           {pairing.OverlayKey{Questions: []string{strings.Repeat("x", 257)}}, "Invalid id"},
		"second of the two": {pairing.OverlayKey{Polls: []string{"p"}, Questions: []string{"*"}}, "Invalid id"},
	} {
		t.Run(name, func(t *testing.T) {
			d.refused(d.AddOverlayKey(t.Context(), channel, test.key, noon), fault.Invalid, test.reason)
		})
	}
	keys := []pairing.OverlayKey{
		{ID: "all"}, {ID: "polls", Polls: []string{"p"}}, {ID: "question", Questions: []string{"q"}, Expires: noon.Add(time.Hour).Unix()},
	}
	for _, k := range keys {
		d.must(d.AddOverlayKey(t.Context(), channel, k, noon))
	}
	stored, err := d.OverlayKeys(t.Context(), channel, noon)
	if diff := cmp.Diff(keys, stored); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	type shown struct{ poll, otherPoll, question bool }
	var got []shown
	for _, k := range stored {
		got = append(got, shown{k.Shows("p"), k.Shows("x"), k.ShowsQuestion("q")})
	}
	if diff := cmp.Diff([]shown{{true, true, false}, {true, false, false}, {false, false, true}}, got, cmp.AllowUnexported(shown{})); diff != "" {
		t.Errorf("what the keys show, -want +got:\n%s", diff)
	}
	resolve := func(c pairing.Channel, id string, now time.Time) error {
		_, err := d.ResolveOverlayKey(t.Context(), c, id, now)
		return err
	}
	const over = "The overlay key was revoked or has expired"
	d.must(resolve(channel, "question", noon.Add(time.Hour-time.Second)))
	d.refused(resolve(channel, "question", noon.Add(time.Hour)), fault.Unauthenticated, over)
	d.refused(resolve(pairing.Channel{Owner: owner, ID: "78"}, "all", noon), fault.Unauthenticated, over)
	d.must(resolve(channel, "all", noon.Add(50*365*24*time.Hour)))
	d.must(d.RevokeOverlayKey(t.Context(), channel, "all"))
	d.refused(resolve(channel, "all", noon), fault.Unauthenticated, over)
	d.refused(d.RevokeOverlayKey(t.Context(), channel, "all"), fault.NotFound, "No such overlay key")
	d.must(d.Revoke(t.Context(), channel)) // games end, overlays do not
	d.must(resolve(channel, "polls", noon))
}

// shownPIN is a PIN of the model: good until its end, or its use.
type shownPIN struct {
	pin string
	end time.Time
}

// FuzzPINs compares the open PINs of a channel with a plain list of the newest five.
func FuzzPINs(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 0, 0, 0, 0x12, 0xff, 0x13, 0, 0x14})
	f.Fuzz(func(t *testing.T, steps []byte) {
		d := newDesk(t)
		var all []string
		var open []shownPIN
		for _, step := range steps[:min(len(steps), 64)] {
			d.now = d.now.Add(time.Duration(step>>6) * time.Minute)
			open = slices.DeleteFunc(open, func(p shownPIN) bool { return !p.end.After(d.now) })
			if step%2 == 0 || len(all) == 0 {
				pin := d.newPIN("broadcaster")
				all = append(all, pin)
				open = append(open[max(len(open)-4, 0):], shownPIN{pin, d.now.Add(contract.PINLifetime)})
				continue
			}
			pin := all[int(step>>1)%len(all)]
			at := slices.IndexFunc(open, func(p shownPIN) bool { return p.pin == pin })
			if _, err := d.UsePIN(t.Context(), owner, pin, keys, d.now); (err == nil) != (at >= 0) {
				t.Fatalf("%x: %v, want it to be open: %t", steps, err, at >= 0)
			}
			if at >= 0 {
				open = slices.Delete(open, at, at+1)
			}
		}
	})
}

// FuzzRefreshTokens has the service read tokens that it did not make.
func FuzzRefreshTokens(f *testing.F) {
	for _, token := range []string{"", "r1...", "r1.Nzc.x.y", "r1.!.x.y", "r2.Nzc.x.y"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		d := newDesk(t)
		d.pair()
		_, err := d.refresh(token)
		d.refused(err, fault.Invalid, badRefresh)
	})
}
