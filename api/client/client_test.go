package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// The keys of the extension, as the service has them and decoded.
const (
	first, second = "dGhlLWZpcnN0LWtleS1vZi10aGlzLWV4dGVuc2lvbiE=", "dGhlLXNlY29uZC1rZXktb2YtdGhpcy1leHRlbnNpb24="

	decodedFirst, decodedSecond = "the-first-key-of-this-extension!", "the-second-key-of-this-extension"
)

// newService returns a voting service that knows one extension.
func newService(t *testing.T) *votingtest.Server {
	t.Helper()
	return newServiceAt(t, time.Now)
}

// newServiceAt returns one with a clock of its own.
func newServiceAt(t *testing.T, now func() time.Time) *votingtest.Server {
	t.Helper()
	server, err := votingtest.New(t.TempDir(), now)
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
	return server
}

func setKeys(t *testing.T, server *votingtest.Server, keys ...string) {
	t.Helper()
	if err := server.SetKeys(map[string][]string{"quiz": keys}); err != nil {
		t.Fatal(err)
	}
}

// newClient returns a client that signs with keys.
func newClient(server *votingtest.Server, keys ...string) *client.Client {
	signer := client.Signer{ClientID: "quiz", Channel: "1"}
	for _, key := range keys {
		signer.Keys = append(signer.Keys, []byte(key))
	}
	return client.New(server.Base()+"/", signer.Credentials, client.Options{})
}

const id = "a poll & more"

func TestConfiguration(t *testing.T) {
	ctx := t.Context()
	c := newClient(newService(t), decodedFirst)
	if _, found, err := c.ReadPollConfig(ctx, id); found || err != nil {
		t.Errorf("nothing was stored, and yet: %v, %v", found, err)
	}
	want := contract.PollConfig{
		UserIDVoting: true, DistinctOptionsPerUser: 2, TotalVotesPerUser: 3, VotesPerOption: 2,
		Prompt: "Which?", Options: []string{"this", "that"}, UserData: []byte(`{"a":1}`), Schedule: contract.Schedule{StartsAt: 1, EndsAt: 2},
	}
	if err := c.ConfigurePoll(ctx, id, want); err != nil {
		t.Fatal(err)
	}
	poll, err := c.ReadPoll(ctx, id)
	seen := contract.Poll{
		ID: id, Prompt: want.Prompt, Options: want.Options, UserData: want.UserData, StartsAt: 1, EndsAt: 2,
		UserIDVoting: true, DistinctOptionsPerUser: 2, TotalVotesPerUser: 3, VotesPerOption: 2,
		Status: contract.Expired, ResultsVisibility: contract.VisibleAlways, Version: poll.Version,
	}
	if diff := cmp.Diff(client.Poll{Poll: seen}, poll); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, found, err := c.ReadPollConfig(ctx, id)
	want.Prompt, want.UserData = "", []byte("null") // neither is returned
	if diff := cmp.Diff(client.SavedConfig{PollConfig: want, Status: contract.Expired}, got); !found || err != nil || diff != "" {
		t.Errorf("%v, %v (-want +got):\n%s", found, err, diff)
	}
	for range 2 {
		if err := c.DeletePoll(ctx, id); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, found, err := c.ReadPollConfig(ctx, id); found || err != nil {
		t.Errorf("it was deleted, and yet: %v, %v", found, err)
	}
}

// A change of one member leaves the others as they are.
func TestChangePoll(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	if err := c.ChangePoll(t.Context(), id, map[string]any{"endsAt": -1}); client.StatusOf(err) != http.StatusNotFound {
		t.Errorf("a poll that does not exist: %v", err)
	}
	config := contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1, Prompt: "Which?", Options: []string{"this"}, ResultsVisibility: "staff"}
	if err := c.ConfigurePoll(t.Context(), id, config); err != nil {
		t.Fatal(err)
	}
	if err := c.ChangePoll(t.Context(), id, map[string]any{"endsAt": -1, "options": nil}); err != nil {
		t.Fatal(err)
	}
	poll, err := c.ReadPoll(t.Context(), id)
	if err != nil || poll.Status != "expired" || poll.Prompt != "Which?" || poll.ResultsVisibility != "staff" || len(poll.Options) != 0 {
		t.Errorf("%+v, %v", poll, err)
	}
}

// Each member of a configuration is sent, stored and read. No poll has all of them.
func TestMembers(t *testing.T) {
	c, set := newClient(newService(t), decodedFirst), map[string]bool{"Version": true, "QuestionChanged": true} // which are read
	for _, want := range []contract.Poll{{
		UserIDVoting: true, DistinctOptionsPerUser: 2, TotalVotesPerUser: 3, VotesPerOption: 2, Global: true, Disabled: true,
		ID: "global 1", Prompt: "Which?", Options: []string{"this", "that"}, UserData: []byte(`{"a":1}`), StartsAt: 1, EndsAt: 2,
		ResultsVisibility: contract.VisibleAfterClose, ShowCount: true, LoggedInOnly: true, Strict: true, PollSettings: contract.PollSettings{PublicResults: true, Verifiable: true, WeightedVotes: true, Entries: contract.EntriesNever, MinVoters: 60, KeepDays: 7, NoReceipts: true},
	}, {
		ID: "devices", DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1, Options: []string{"a"}, Pictures: []string{"ECJFpxVllbUoK26I0buVRQ"}, UserData: []byte("null"), EndsAt: 2,
		ResultsVisibility: contract.VisibleAlways, PollSettings: contract.PollSettings{DeviceVoting: true},
	}} {
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var config contract.PollConfig
		if err := json.Unmarshal(encoded, &config); err != nil {
			t.Fatal(err)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(config)) {
			if !reflect.ValueOf(config).FieldByIndex(field.Index).IsZero() {
				set[field.Name] = true
			}
		}
		if err := c.ConfigurePoll(t.Context(), want.ID, config); err != nil {
			t.Fatal(err)
		}
		got, err := c.ReadPoll(t.Context(), want.ID)
		want.Status, want.Version = contract.Expired, got.Version
		if diff := cmp.Diff(client.Poll{Poll: want}, got); err != nil || diff != "" || got.Version == 0 {
			t.Errorf("%s: %v (-want +got):\n%s", want.ID, err, diff)
		}
	}
	checkTieBreak(t, c)
	set["TieBreak"] = true
	for _, field := range reflect.VisibleFields(reflect.TypeFor[contract.PollConfig]()) {
		if !set[field.Name] {
			t.Errorf("this test does not set %s", field.Name)
		}
	}
}

// checkTieBreak chooses the winner of a poll that has ended in a tie.
func checkTieBreak(t *testing.T, c *client.Client) {
	t.Helper()
	config := contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1, Options: []string{"this", "that"}}
	if err := c.ConfigurePoll(t.Context(), "tied", config); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.SubmitVotes(t.Context(), "tied", []client.Vote{{OpaqueUserID: "U1"}, {OpaqueUserID: "U2", Value: 1}}, ""); err != nil {
		t.Fatal(err)
	}
	winner := int64(1)
	config.EndsAt, config.TieBreak = 2, &winner
	if err := c.ConfigurePoll(t.Context(), "tied", config); err != nil {
		t.Fatal(err)
	}
	if poll, err := c.ReadPoll(t.Context(), "tied"); err != nil || poll.TieBreak == nil || *poll.TieBreak != winner {
		t.Errorf("%+v, %v", poll, err)
	}
}

func TestLists(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	want := []string{"a", "b", "c"}
	for _, id := range want {
		if err := c.ConfigurePoll(t.Context(), id, contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1}); err != nil {
			t.Fatal(err)
		}
	}
	polls, err := c.ListPolls(t.Context(), url.Values{"limit": {"1"}})
	var got []string
	for _, p := range polls {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestVotes(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	got, err := c.ReadStatistics(t.Context(), id)
	want := client.Statistics{Sum: "0", Mean: "0", Stddev: "0", Specific: make([]int64, 32)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	votes := []client.Vote{{UserID: "5", Value: 1}, {UserID: "6", Value: 200}}
	for _, replayed := range []bool{false, true} {
		got, results, err := c.SubmitVotes(t.Context(), id, votes, "message 1")
		accepted := client.VoteResult{Accepted: true, Replayed: replayed}
		if err != nil || got.Count != 1 || len(results) != 2 || results[0].Accepted != accepted.Accepted || results[1].Accepted {
			t.Errorf("%v: %+v, %+v", err, got, results)
		}
	}
}

// A program that sends several votes learns where each is listed, for the receipts of its viewers.
func TestListedVotes(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	config := contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1, Options: []string{"this", "that"}, PollSettings: contract.PollSettings{Verifiable: true}}
	if err := c.ConfigurePoll(t.Context(), "listed", config); err != nil {
		t.Fatal(err)
	}
	hash := verifiable.HashNonce(verifiable.PollKey{}, verifiable.Nonce{1})
	_, results, err := c.SubmitVotes(t.Context(), "listed", []client.Vote{
		{OpaqueUserID: "U1", NonceHash: hash[:]}, {OpaqueUserID: "U2", Value: 1}, {OpaqueUserID: "U1", Value: 1}, {OpaqueUserID: "U3", Value: 200},
	}, "")
	if err != nil || len(results) != 4 || results[0].Listed == nil || results[1].Listed == nil || results[2].Listed == nil {
		t.Fatalf("%+v, %v", results, err)
	}
	tree := results[0].Listed.Tree
	const head = 2 // after the entries of the opening and of the configuration
	want := []*client.Listed{{Tree: tree, Index: head, Voter: head}, {Tree: tree, Index: head + 1, Voter: head + 1}, {Tree: tree, Index: head + 2, Voter: head}, nil}
	for i := range want {
		if diff := cmp.Diff(want[i], results[i].Listed); diff != "" || tree == "" {
			t.Errorf("vote %d (-want +got):\n%s", i, diff)
		}
	}
	if _, results, err = c.SubmitVotes(t.Context(), "listed", []client.Vote{{OpaqueUserID: "U4", NonceHash: hash[:15]}}, ""); err == nil && results[0].Accepted {
		t.Error("a hash of 15 bytes is taken")
	}
}

func TestRefusal(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	err := c.ConfigurePoll(t.Context(), id, contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1025, VotesPerOption: 1})
	if client.StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "totalVotesPerUser") {
		t.Errorf("error is %v", err)
	}
}

func TestKeys(t *testing.T) {
	server := newService(t)
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
			_, _, err := newClient(server, test.held...).ReadPollConfig(t.Context(), id)
			if got := client.StatusOf(err); got != test.want || (err == nil) != (test.want == 0) {
				t.Errorf("error is %v, want %d", err, test.want)
			}
		})
	}
	if _, _, err := newClient(server).ReadPollConfig(t.Context(), id); err == nil {
		t.Error("no key was needed")
	}
}

// A service whose clock is ten minutes off accepts what the client signs.
func TestClocksThatDiffer(t *testing.T) {
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			server := newServiceAt(t, func() time.Time { return time.Now().Add(off) })
			config := contract.PollConfig{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1}
			if err := newClient(server, decodedFirst).ConfigurePoll(t.Context(), "colour", config); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSigner looks at what the client signs.
func TestSigner(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	signer := client.Signer{ClientID: "quiz", Keys: [][]byte{[]byte(decodedFirst)}, Role: "admin", Channel: "1", UserID: "1000", Now: func() time.Time { return now }}
	values, err := signer.Credentials()
	if err != nil || len(values) != 1 {
		t.Fatal(values, err)
	}
	clientID, token, _ := strings.Cut(values[0], " ")
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte(decodedFirst), nil }); err != nil {
		t.Error(err)
	}
	want := jwt.MapClaims{"exp": float64(now.Add(15 * time.Minute).Unix()), "role": "admin", "channel_id": "1", "user_id": "1000", "extension_id": "quiz"}
	if diff := cmp.Diff(want, claims); clientID != "quiz" || diff != "" {
		t.Errorf("for %q (-want +got):\n%s", clientID, diff)
	}
}

// A poll that the client makes is strict.
func TestOtherQuestion(t *testing.T) {
	c := newClient(newService(t), decodedFirst)
	config := client.NewPollConfig()
	config.Prompt, config.Options = "Keep the dog?", []string{"yes", "no"}
	if err := c.ConfigurePoll(t.Context(), id, config); err != nil {
		t.Fatal(err)
	}
	if _, results, err := c.SubmitVotes(t.Context(), id, []client.Vote{{UserID: "5"}, {UserID: "6", Value: 2}}, ""); err != nil || !results[0].Accepted || results[1].Accepted {
		t.Errorf("%v, %v", results, err)
	}
	config.Prompt = "Sell the dog?"
	if err := c.ConfigurePoll(t.Context(), id, config); !client.IsOtherQuestion(err) {
		t.Errorf("another question: %v", err)
	}
	if err := c.ConfigurePollKeepingVotes(t.Context(), id, config); err != nil {
		t.Errorf("another question with the votes: %v", err)
	}
	if got, err := c.ReadPoll(t.Context(), id); err != nil || got.Prompt != config.Prompt || !got.Strict || got.QuestionChanged != got.Version {
		t.Errorf("%+v, %v", got, err)
	}
}
