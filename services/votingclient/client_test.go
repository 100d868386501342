package votingclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/votingclient"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// The keys of the extension, as the service has them and decoded.
const (
	first, second               = "Zmlyc3Q=", "c2Vjb25k"
	decodedFirst, decodedSecond = "first", "second"
)

// start returns a voting service that knows one extension, and a client of it.
func start(t *testing.T) (*votingtest.Server, *votingclient.Client) {
	t.Helper()
	server, err := votingtest.New(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	setKeys(t, server, first)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server, votingclient.New(server.Base()+"/", &http.Client{}, time.Now)
}

func setKeys(t *testing.T, server *votingtest.Server, keys ...string) {
	t.Helper()
	if err := server.SetKeys(map[string][]string{"quiz": keys}); err != nil {
		t.Fatal(err)
	}
}

func colour(keys ...string) votingclient.Poll {
	p := votingclient.Poll{ClientID: "quiz", Channel: "1", ID: "a poll & more"}
	for _, key := range keys {
		p.Keys = append(p.Keys, []byte(key))
	}
	return p
}

func TestConfiguration(t *testing.T) {
	ctx := t.Context()
	_, c := start(t)
	p := colour(decodedFirst)
	if _, found, err := c.Config(ctx, p); found || err != nil {
		t.Errorf("nothing was stored, and yet: %v, %v", found, err)
	}
	want := votingclient.Config{
		UserIDVoting: true, DistinctOptionsPerUser: 2, TotalVotesPerUser: 3, VotesPerOption: 2,
		Prompt: "Which?", Options: []string{"this", "that"}, UserData: []byte(`{"a": 1}`), StartsAt: 1, EndsAt: 2,
	}
	if err := c.Configure(ctx, p, want); err != nil {
		t.Fatal(err)
	}
	got, found, err := c.Config(ctx, p)
	want.Prompt, want.UserData, want.Status = "", []byte("null"), "expired" // neither is returned
	if diff := cmp.Diff(want, got); !found || err != nil || diff != "" {
		t.Errorf("%v, %v (-want +got):\n%s", found, err, diff)
	}
	for range 2 {
		if err := c.Delete(ctx, p); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, found, err := c.Config(ctx, p); found || err != nil {
		t.Errorf("it was deleted, and yet: %v, %v", found, err)
	}
}

func TestStatistics(t *testing.T) {
	_, c := start(t)
	got, err := c.Statistics(t.Context(), colour(decodedFirst))
	want := votingclient.Statistics{Sum: "0", Mean: "0", Stddev: "0", Specific: make([]int64, 32)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRefusal(t *testing.T) {
	_, c := start(t)
	err := c.Configure(t.Context(), colour(decodedFirst), votingclient.Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1025, VotesPerOption: 1})
	if votingclient.StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "totalVotesPerUser") {
		t.Errorf("error is %v", err)
	}
}

func TestKeys(t *testing.T) {
	server, c := start(t)
	for _, test := range []struct {
		name        string
		known, held []string
		want        int // 0: accepted
	}{
		{"the only one", []string{first}, []string{decodedFirst}, 0},
		{"one that is not known yet", []string{first}, []string{decodedSecond, decodedFirst}, 0},
		{"one that is known no more", []string{second}, []string{decodedFirst, decodedSecond}, 0},
		{"another", []string{second}, []string{decodedFirst}, http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			setKeys(t, server, test.known...)
			_, _, err := c.Config(t.Context(), colour(test.held...))
			if got := votingclient.StatusOf(err); got != test.want || (err == nil) != (test.want == 0) {
				t.Errorf("error is %v, want %d", err, test.want)
			}
		})
	}
	if _, _, err := c.Config(t.Context(), colour()); err == nil {
		t.Error("no key was needed")
	}
}

// TestToken looks at what the client signs, and gives it what a proxy may answer.
func TestToken(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		claims := jwt.MapClaims{}
		if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte(decodedFirst), nil }); err != nil {
			t.Error(err)
		}
		want := jwt.MapClaims{"exp": float64(now.Add(time.Minute).Unix()), "role": "backend", "channel_id": "1", "extension_id": "quiz"}
		if diff := cmp.Diff(want, claims); id != "quiz" || diff != "" {
			t.Errorf("for %q (-want +got):\n%s", id, diff)
		}
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>"))
	}))
	defer server.Close()
	c := votingclient.New(server.URL, server.Client(), func() time.Time { return now })
	if err := c.Delete(t.Context(), colour(decodedFirst)); votingclient.StatusOf(err) != http.StatusBadGateway {
		t.Errorf("error is %v", err)
	}
}
