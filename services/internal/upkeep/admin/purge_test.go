package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// inTwoHours is the time at which a purge may remove what a test has just written.
func inTwoHours() time.Time { return time.Now().Add(2 * time.Hour) }

// poll returns a poll of the extension "ext".
func poll(environment, channel, id string) voting.Poll {
	return voting.Poll{Environment: environment, Extension: "ext", Channel: channel, ID: id}
}

// all names what fillStreams writes, in the order of remainingStreams.
func all() []string {
	return []string{"poll 7 p1", "poll 7 q1", "poll 8 p1", "poll globalp", "poll 7 boxed", "buffer b1", "rank 7 p2"}
}

func allPolls() []voting.Poll {
	return []voting.Poll{
		poll("production", "7", "p1"), poll("production", "7", "q1"), poll("production", "8", "p1"),
		poll("production", "9", "globalp"), poll("sandbox", "7", "boxed"),
	}
}

var (
	purgeBuffer   = accumulation.Buffer{Environment: "production", Extension: "ext", Name: "b1"}
	purgeQuestion = ranking.Question{Environment: "production", Extension: "ext", Channel: "7", ID: "p2"}
)

func fillStreams(t *testing.T, d *domains) {
	t.Helper()
	for _, p := range allPolls() {
		if _, err := d.polls.Vote(t.Context(), p, voting.Voter{OpaqueID: "U1"}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.buffers.Append(t.Context(), purgeBuffer, accumulation.Submission{OpaqueID: "U1", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.questions.Submit(t.Context(), purgeQuestion, "U1", "tea"); err != nil {
		t.Fatal(err)
	}
}

// remainingStreams returns the names of the streams that hold something.
func remainingStreams(t *testing.T, d *domains) (left []string) {
	t.Helper()
	for i, p := range allPolls() {
		for _, err := range d.polls.Log(t.Context(), p, voting.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, all()[i])
		}
	}
	for _, err := range d.buffers.Entries(t.Context(), purgeBuffer, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, "buffer b1")
	}
	board, err := d.questions.Board(t.Context(), purgeQuestion, ranking.Visible, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(board.Scores) > 0 {
		left = append(left, "rank 7 p2")
	}
	return left
}

func TestPurgeSelects(t *testing.T) {
	for name, test := range map[string]struct {
		filter admin.PurgeFilter
		want   []string
	}{
		"everything":  {admin.PurgeFilter{}, []string{"buffer b1", "poll 7 p1", "poll 7 q1", "poll 8 p1", "poll globalp", "rank 7 p2"}},
		"kind":        {admin.PurgeFilter{Kinds: []string{key.Question}}, []string{"rank 7 p2"}},
		"its name":    {admin.PurgeFilter{Kinds: []string{"question"}}, []string{"rank 7 p2"}},
		"prefix":      {admin.PurgeFilter{Prefix: "p"}, []string{"poll 7 p1", "poll 8 p1", "rank 7 p2"}},
		"channel":     {admin.PurgeFilter{Channel: "7"}, []string{"poll 7 p1", "poll 7 q1", "rank 7 p2"}},
		"environment": {admin.PurgeFilter{Environment: tenant.Sandbox}, []string{"poll 7 boxed"}},
		"extension":   {admin.PurgeFilter{Extension: "other"}, nil},
		"too young":   {admin.PurgeFilter{OlderThan: 3 * time.Hour}, nil},
		"dry run":     {admin.PurgeFilter{Prefix: "globalp", DryRun: true}, []string{"poll globalp"}},
	} {
		for _, alone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, alone: %v", name, alone), func(t *testing.T) {
				store, err := pebblestore.Open(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close() //nolint:errcheck // of a test
				d := newDomains(store, stream.SystemClock(), stream.Options{Exclusive: true})
				fillStreams(t, d)
				filter := test.filter
				if filter.Extension == "" {
					filter.Extension = "ext"
				}
				if filter.Environment == "" {
					filter.Environment = tenant.Production
				}
				if filter.OlderThan == 0 {
					filter.OlderThan = time.Hour
				}
				served, remover := d.table, admin.StreamRemover(nil)
				if alone {
					if err := d.close(t.Context()); err != nil {
						t.Fatal(err)
					}
					d = newDomains(store, stream.SystemClock(), stream.Options{Exclusive: true})
					served, remover = d.table, store
				}
				position := key.Name{Kind: key.Sink, Environment: "production", Extension: "ext", Sink: "s", Transport: "webhook", Scope: key.Position, ID: "poll/production/ext/channel/7/p1"}.String()
				if err := store.Put(t.Context(), document.Write{Key: position, Body: []byte(`{"head":1}`)}); err != nil {
					t.Fatal(err)
				}
				report, err := admin.NewPurgeService(store, served, remover, inTwoHours).Purge(t.Context(), filter, func(int) {})
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, name := range report.Names {
					name = strings.NewReplacer(" / production", "", " / sandbox", "", " / ext", "", " / channel", "", " / global / ", " / ").Replace(name)
					names = append(names, strings.ReplaceAll(name, " /", ""))
				}
				if slices.Sort(names); !cmp.Equal(test.want, names) || report.Total().Found != len(test.want) || len(report.Problems) != 0 {
					t.Errorf("purged %q, %+v, want %q", names, report, test.want)
				}
				left := remainingStreams(t, d)
				for _, name := range all() {
					if gone := slices.Contains(test.want, name) && !filter.DryRun; slices.Contains(left, name) == gone {
						t.Errorf("%s is gone: %v", name, !gone)
					}
				}
				verification := verify(t, store)
				if len(verification.Problems) != 0 {
					t.Errorf("verify: %+v", verification.Problems)
				}
				if err := d.close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestPurgeRefuses(t *testing.T) {
	p := admin.NewPurgeService(nil, nil, nil, inTwoHours)
	for _, filter := range []admin.PurgeFilter{{OlderThan: time.Hour - 1}, {}, {OlderThan: time.Hour, Kinds: []string{"message"}}} {
		if _, err := p.Purge(t.Context(), filter, func(int) {}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", filter, err)
		}
	}
}
