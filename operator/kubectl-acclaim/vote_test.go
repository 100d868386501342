package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

const key = "dGhlLWZpcnN0LWtleS1vZi10aGlzLWV4dGVuc2lvbiE="

// newRemotePoll returns a Poll that a real voting service holds.
func newRemotePoll(t *testing.T) *remotePoll {
	t.Helper()
	server, err := votingtest.New(t.TempDir(), time.Now)
	if err == nil {
		err = server.SetKeys(map[string][]string{"quiz": {key}})
	}
	if err == nil {
		err = server.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.WithoutCancel(t.Context())) })
	p := &v1alpha1.Poll{ObjectMeta: metav1.ObjectMeta{Name: "lunch"}, Spec: v1alpha1.PollSpec{Options: []string{"Soup", "Salad"}}}
	signer := api.Signer{ClientID: "quiz", Channel: "1", Keys: [][]byte{[]byte("the-first-key-of-this-extension!")}}
	c := api.New(server.Base(), signer.Credentials, api.Options{Attempts: 1})
	config := api.NewPollConfig()
	config.Options, config.Strict = p.Spec.Options, true
	if err := c.ConfigurePoll(t.Context(), p.PollID(), config); err != nil {
		t.Fatal(err)
	}
	return &remotePoll{Poll: p, service: c, stop: func() {}}
}

func TestVote(t *testing.T) {
	p := newRemotePoll(t)
	for _, test := range []struct {
		option string
		voters int
		want   string
		exit   int
	}{
		{"Salad", 3, "3 of 3 votes accepted; the poll has 3\n", 0},
		{"Salad", 2, "2 of 2 votes accepted; the poll has 5\n", 0}, // of other viewers
		{"0", 1, "1 of 1 votes accepted; the poll has 6\n", 0},
		{"7", 2, "0 of 2 votes accepted; the poll has 6\n", 1}, // it is strict
		{"Cake", 1, "", 2},
	} {
		var out strings.Builder
		err := castVotes(t.Context(), &out, p, test.option, test.voters)
		if out.String() != test.want || exitCode(err) != test.exit {
			t.Errorf("%s: %q, %v; want %q and exit code %d", test.option, out.String(), err, test.want, test.exit)
		}
	}
	statistics, err := p.service.ReadStatistics(t.Context(), p.PollID())
	if err != nil || statistics.Specific[0] != 1 || statistics.Specific[1] != 5 {
		t.Errorf("%v %v, want 1 vote for Soup and 5 for Salad", statistics, err)
	}
}

// pictures is a screen whose pictures a test takes one by one.
type pictures chan string

func (p pictures) Write(picture []byte) (int, error) {
	p <- string(picture)
	return len(picture), nil
}

// A watch prints each change once, goes on by another way where one ends, and ends with the
// poll.
func TestWatch(t *testing.T) {
	p := newRemotePoll(t)
	broken := &remotePoll{Poll: p.Poll, service: api.New("http://127.0.0.1:1", api.UseToken("none"), api.Options{Attempts: 1}), stop: func() {}}
	ways := []*remotePoll{broken, p}
	next, shown := make(chan time.Time), make(pictures)
	w := watcher{next: next, screen: terminal.NewScreen(shown), errors: io.Discard, open: func(context.Context) (*remotePoll, error) {
		way := ways[0]
		ways = ways[1:]
		return way, nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- w.watch(t.Context()) }()
	expect := func(want string) {
		t.Helper()
		next <- time.Time{}
		if diff := cmp.Diff(want, <-shown); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	expect("lunch  active  votes: 0\nSoup         0    0.0%\nSalad        0    0.0%\n")
	if err := castVotes(t.Context(), io.Discard, p, "Soup", 1); err != nil {
		t.Fatal(err)
	}
	expect("lunch  active  votes: 1\nSoup         1  100.0%\nSalad        0    0.0%\n")
	next <- time.Time{} // nothing has changed
	next <- time.Time{} // and that was read
	if err := p.service.ChangePoll(t.Context(), p.PollID(), map[string]any{"endsAt": -1}); err != nil {
		t.Fatal(err)
	}
	want := "lunch  expired  votes: 1\nSoup         1  100.0%\nSalad        0    0.0%\n"
	for {
		select {
		case next <- time.Time{}:
		case got := <-shown:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			return
		}
	}
}

func TestTokenCommand(t *testing.T) {
	b := &v1alpha1.Backend{Spec: v1alpha1.BackendSpec{Environment: "sandbox"}}
	e := &v1alpha1.Extension{Spec: v1alpha1.ExtensionSpec{ClientID: "quiz"}}
	for _, test := range []struct {
		spec    v1alpha1.PollSpec
		channel string
	}{{v1alpha1.PollSpec{Channel: "9"}, "--channel=9"}, {v1alpha1.PollSpec{Global: true}, "--channel=1"}} {
		got := strings.Join(tokenCommand(b, e, &v1alpha1.Poll{Spec: test.spec}), " ")
		want := "/acclaim token --extensions=/etc/acclaim/extensions.yaml --environment=sandbox --extension=quiz --role=backend " + test.channel
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
