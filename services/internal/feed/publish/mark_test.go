package publish

import (
	"context"
	"errors"
	"testing"

	"github.com/acclaim-dev/acclaim/services/voting"
)

// failingMark fails to load or to store while a test says so.
type failingMark struct {
	Mark
	load, store error
}

func (m *failingMark) Load(ctx context.Context) ([]byte, error) {
	if m.load != nil {
		return nil, m.load
	}
	return m.Mark.Load(ctx)
}

func (m *failingMark) Store(ctx context.Context, text []byte) error {
	if m.store != nil {
		return m.store
	}
	return m.Mark.Store(ctx, text)
}

// While the mark fails nothing is signed, and the log waits: it neither begins another time nor forgets
// what is reported meanwhile.
func TestNothingIsSignedWithoutTheMark(t *testing.T) {
	away := errors.New("the API server is away")
	for name, test := range map[string]struct {
		mark  failingMark
		begun bool
	}{
		"at the first store": {failingMark{store: away}, false},
		"at the first load":  {failingMark{load: away}, false},
		"at a later store":   {failingMark{store: away}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mark := test.mark
			mark.Mark = w.mark
			w.configure("p", voting.Config{})
			if test.begun {
				w.round()
			}
			w.Mark = &mark
			var origins []string
			for range 3 {
				w.vote("p", "a", 1)
				_ = w.reportOnce(t.Context()) // a round fails before it reports, or when it signs
				w.clock.pass(checkpointFor)
				if s, err := w.signLog(t.Context(), 1); !errors.Is(err, away) {
					t.Fatalf("signed %+v, %v", s, err)
				}
				log, err := w.log.Read(t.Context())
				w.must(err)
				origins = append(origins, log.Origin)
			}
			if origins[0] != origins[2] || (origins[0] == "") != (mark.load != nil) {
				t.Errorf("the log begins as %q", origins)
			}
			mark.load, mark.store = nil, nil
			w.round()
			if report, _ := w.receipt("p", "a", 1); report.Recorded.Answer == "" || w.mark.text == nil {
				t.Errorf("a receipt after the pause: %+v", report)
			}
			if origin := w.keys().Origin(); origins[0] != "" && origin != origins[0] {
				t.Errorf("the log goes on as %s, and began as %s", origin, origins[0])
			}
		})
	}
}

// busyMark has another process sign while this one loads the mark.
type busyMark struct {
	Mark
	meanwhile func()
}

func (m *busyMark) Load(ctx context.Context) ([]byte, error) {
	m.meanwhile()
	return m.Mark.Load(ctx)
}

// A process that starts while another one signs goes on with the log.
func TestStartBesideASigner(t *testing.T) {
	w := newWorld(t)
	w.configure("p", voting.Config{})
	w.round()
	second := &world{t: t, store: w.store, clock: w.clock, mark: w.mark}
	second.start()
	second.Mark = &busyMark{w.mark, func() {
		w.vote("p", "a", 1)
		w.round()
		_ = w.keys() // signs
	}}
	if origin, want := second.keys().Origin(), w.keys().Origin(); origin != want {
		t.Errorf("the second process signs as %s, the first as %s", origin, want)
	}
}
