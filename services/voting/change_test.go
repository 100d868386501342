package voting

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

func patch(text string) changeCommand {
	return changeCommand{"p", Change{Patch: json.RawMessage(text)}}
}

// Each patch changes what it names, and nothing else.
func TestPatch(t *testing.T) {
	before := Config{
		DistinctOptionsPerUser: 2, TotalVotesPerUser: 5, VotesPerOption: 3, Prompt: "Tea?", Options: []string{"yes", "no"},
		UserData: json.RawMessage(`{"a":{"b":1.10,"c":2},"d":"<"}`), Schedule: contract.Schedule{StartsAt: 7, EndsAt: 8},
		ResultsVisibility: VisibleToStaff, ShowCount: true, LoggedInOnly: true, PollSettings: contract.PollSettings{PublicResults: true},
	}
	tests := map[string]struct {
		patch string
		want  func(*Config)
	}{
		"nothing":          {`{}`, func(*Config) {}},
		"one member":       {`{"prompt":"<Coffee>?"}`, func(c *Config) { c.Prompt = "<Coffee>?" }},
		"several":          {`{"endsAt":9,"disabled":true}`, func(c *Config) { c.EndsAt, c.Disabled = 9, true }},
		"an array":         {`{"options":["no"]}`, func(c *Config) { c.Options = []string{"no"} }},
		"within userData":  {`{"userData":{"a":{"c":null,"e":[{"f":null}]}}}`, func(c *Config) { c.UserData = json.RawMessage(`{"a":{"b":1.10,"e":[{"f":null}]},"d":"<"}`) }},
		"all of userData":  {`{"userData":[1]}`, func(c *Config) { c.UserData = json.RawMessage(`[1]`) }},
		"removed members":  {`{"totalVotesPerUser":null,"resultsVisibility":null,"options":null,"endsAt":null}`, func(c *Config) { c.TotalVotesPerUser, c.ResultsVisibility, c.Options, c.EndsAt = 1, "", nil, 0 }},
		"removed userData": {`{"userData":null}`, func(c *Config) { c.UserData = json.RawMessage("null") }},
		"visible":          {`{"resultsVisibility":"always","showCount":false}`, func(c *Config) { c.ResultsVisibility, c.ShowCount = "", false }},
		"not public":       {`{"publicResults":false}`, func(c *Config) { c.PublicResults = false }},
		"weights":          {`{"weightedVotes":true}`, func(c *Config) { c.WeightedVotes = true }},
		"devices":          {`{"loggedInOnly":false,"deviceVoting":true}`, func(c *Config) { c.LoggedInOnly, c.DeviceVoting = false, true }},
		"an end now":       {`{"endsAt":-1}`, func(c *Config) { c.EndsAt = (start + 1000) / 1000 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			p.accept(t, configureCommand{id: "p", config: before})
			want := p.state.currentConfig()
			test.want(&want)
			p.at += 1000
			p.accept(t, patch(test.patch))
			got := p.state.currentConfig()
			if changed := test.patch != `{}`; (got.Version == want.Version) == changed {
				t.Errorf("the version is %d, and was %d", got.Version, want.Version)
			}
			want.Version, want.QuestionChanged = got.Version, got.QuestionChanged
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangeConditions: what a change asks of the configuration in force.
func TestChangeConditions(t *testing.T) {
	configured := func(t *testing.T, p *poll) { p.accept(t, with(func(c *Config) { c.Prompt = "a" })) }
	voted := func(t *testing.T, p *poll) { p.accept(t, cast(ann, 1)) }
	reset := func(t *testing.T, p *poll) { p.accept(t, cast(ann, 1), resetCommand{}) }
	empty := func(*testing.T, *poll) {}
	version := func(versions ...int64) *Precondition { return &Precondition{Versions: versions} }
	tests := map[string]struct {
		before func(*testing.T, *poll)
		change Change
		want   error
	}{
		"a patch":                                   {configured, Change{Patch: json.RawMessage(`{}`)}, nil},
		"a patch of votes alone":                    {voted, Change{Patch: json.RawMessage(`{"prompt":"b"}`)}, nil},
		"a patch of nothing":                        {empty, Change{Patch: json.RawMessage(`{"prompt":"b"}`)}, errNothingToPatch},
		"a patch after a reset":                     {reset, Change{Patch: json.RawMessage(`{"prompt":"b"}`)}, errNothingToPatch},
		"the version":                               {configured, Change{Patch: json.RawMessage(`{}`), IfMatch: version(1, start)}, nil},
		"another version":                           {configured, Change{Patch: json.RawMessage(`{}`), IfMatch: version(start + 1)}, errOtherVersion},
		"no version":                                {configured, Change{Config: DefaultConfig(), IfMatch: version()}, errOtherVersion},
		"any version":                               {configured, Change{Config: DefaultConfig(), IfMatch: &Precondition{Any: true}}, nil},
		"any version without a configuration":       {voted, Change{Config: DefaultConfig(), IfMatch: &Precondition{Any: true}}, errOtherVersion},
		"version 0 without a configuration":         {empty, Change{Config: DefaultConfig(), IfMatch: version(0)}, errOtherVersion},
		"a whole configuration where there is none": {empty, Change{Config: DefaultConfig()}, nil},
		"a member of the wrong type":                {configured, Change{Patch: json.RawMessage(`{"prompt":1}`)}, errInvalidBody},
		"no object":                                 {configured, Change{Patch: json.RawMessage(`[]`)}, errInvalidBody},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPoll()
			test.before(t, p)
			decided, err := p.Decide(p.state.fork(), p.at+1, changeCommand{"p", test.change})
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if err == nil && (decided.Result.version == nil || decided.Store && *decided.Result.version != p.at+1) {
				t.Errorf("the version is %v", decided.Result.version)
			}
		})
	}
}

// The limits of a configuration hold for what a patch makes of it.
func TestPatchIsChecked(t *testing.T) {
	p := newPoll()
	p.accept(t, with(func(c *Config) { c.StartsAt = 10; c.UserData = json.RawMessage(`{"a":1}`) }))
	for text, want := range map[string]string{
		`{"endsAt":9}`: "startsAt must not be after endsAt",
		`{"userData":{"b":"` + strings.Repeat("x", 1020) + `"}}`: "userData must be at most 1024 bytes",
		`{"global":true}`: "id of a global poll must begin with 'global'",
	} {
		if got := p.do(t, patch(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A change reaches another process whole, and its answer comes back.
func TestChangesAreForwarded(t *testing.T) {
	for _, c := range []changeCommand{
		{"p", Change{Config: Config{UserData: json.RawMessage("null")}, Patch: json.RawMessage(`{"prompt":"<é>","endsAt":null}`), IfMatch: &Precondition{Any: true, Versions: []int64{1, 0}}, KeepVotes: true}},
		{"p", Change{Config: Config{Prompt: "x", UserData: json.RawMessage("null"), ResultsVisibility: VisibleToStaff}}},
	} {
		got := pollRules{}.DecodeCommand(wire.NewReader(c.appendTo(nil)))
		if diff := cmp.Diff(Command(c), got, cmp.AllowUnexported(changeCommand{})); diff != "" {
			t.Errorf("change (-sent +read):\n%s", diff)
		}
	}
	version := int64(-7)
	encoded := pollRules{}.AppendResult(nil, Answer{version: &version}, Answer{})
	if got := (pollRules{}).DecodeResult(wire.NewReader(encoded), Answer{}); got.version == nil || *got.version != version {
		t.Errorf("the version is read as %v", got.version)
	}
}

// While a process of an earlier release is alive no other process gets a change: this one
// commits it, and the owner sees it.
func TestChangesBesideEarlierReleases(t *testing.T) {
	ctx, poll := t.Context(), Poll{Environment: "production", Extension: "e", Channel: "c", ID: "p"}
	store, old := storetest.NewMemory(), true
	owner := NewService(store, stream.SystemClock(), stream.Options{})
	sent := &countingPeer{serve: owner.Serve}
	s := NewService(store, stream.SystemClock(), stream.Options{Peers: sent, PeersRead: func(level stream.Level) bool { return level == 0 || !old }})
	t.Cleanup(func() { _, _ = s.Close(context.WithoutCancel(ctx)), owner.Close(context.WithoutCancel(ctx)) })
	for _, text := range []string{`{"prompt":"a"}`, `{"showCount":true}`, `{"disabled":true}`, `{"loggedInOnly":true}`} {
		if text == `{"prompt":"a"}` {
			if err := owner.Configure(ctx, poll, DefaultConfig()); err != nil {
				t.Fatal(err)
			}
		}
		before := sent.count
		version, known, err := s.Change(ctx, poll, Change{Patch: json.RawMessage(text)})
		if forwarded := sent.count > before; err != nil || !known || forwarded == old {
			t.Errorf("%s: %v, %v, forwarded: %v, with an earlier release: %v", text, known, err, forwarded, old)
		}
		if config, _, _, err := owner.Config(ctx, poll); err != nil || config.Version != version {
			t.Errorf("after %s the owner has version %d, want %d, %v", text, config.Version, version, err)
		}
		old = !old
	}
	config, _, _, err := owner.Config(ctx, poll)
	if err != nil || config.Prompt != "a" || !config.ShowCount || !config.Disabled || !config.LoggedInOnly {
		t.Errorf("configuration is %+v, %v", config, err)
	}
}

// countingPeer is the owner of every stream.
type countingPeer struct {
	serve func(ctx context.Context, request []byte, answer func([]byte)) error
	count int
}

func (p *countingPeer) Owner(string) stream.Peer { return p }
func (*countingPeer) Contenders(string) int      { return 0 }
func (*countingPeer) ID() string                 { return "owner" }

func (p *countingPeer) Send(ctx context.Context, request []byte, receive func([]byte)) error {
	p.count++
	return p.serve(ctx, request, receive)
}
