package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/voting"
)

var everything = transfer.Scope{Extension: "x", Environments: []string{"production", "sandbox"}, Kinds: transfer.Kinds()}

// domains are services over one store.
type domains struct {
	t            testing.TB
	voting       *voting.Service
	accumulation *accumulation.Service
	ranking      *ranking.Service
	roster       *roster.Service
}

func newDomains(t testing.TB, store stream.Store) *domains {
	clock := stream.SystemClock()
	d := &domains{t, voting.NewService(store, clock, stream.Options{}),
		accumulation.NewService(store, clock, stream.Options{}), ranking.NewService(store, clock, stream.Options{}),
		roster.NewService(store, clock, stream.Options{})}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		d.must(d.voting.Close(ctx))
		d.must(d.accumulation.Close(ctx))
		d.must(d.ranking.Close(ctx))
		d.must(d.roster.Close(ctx))
	})
	return d
}

func (d *domains) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *domains) vote(p voting.Poll, v voting.Voter, value, count int64) {
	d.t.Helper()
	_, err := d.voting.Vote(d.t.Context(), p, v, value, count)
	d.must(err)
}

// full returns a store with some of everything, among it what JSON cannot tell.
func full(t testing.TB) *storetest.Memory {
	t.Helper()
	m := storetest.NewMemory()
	d, ctx := newDomains(t, m), t.Context()
	for _, environment := range everything.Environments {
		poll := voting.Poll{Environment: environment, Extension: "x", Channel: "1", ID: "ü/ %"}
		d.must(d.voting.Configure(ctx, poll, voting.Config{TotalVotesPerUser: 9, VotesPerOption: 9, DistinctOptionsPerUser: 9,
			Prompt: "<é> \u2028", UserData: json.RawMessage(`{"a":[1.50,"<"]}`)}))
		d.vote(poll, voting.Voter{OpaqueID: "U\"汉\"", UserID: "1"}, -128, 9)
		d.vote(poll, voting.Voter{OpaqueID: "not text \xff"}, 128, 1)
		scope := once.NewScope([][]byte{[]byte("secret")}, time.Now(), poll.ID)
		for range 2 {
			d.must(d.voting.Modify(ctx, poll, "1", -5, scope.NewKey("k", nil)))
		}
		d.must(d.voting.Reset(ctx, poll))
		d.vote(poll, voting.Voter{OpaqueID: "U1"}, 0, 1)
		for _, p := range []voting.Poll{
			{Environment: environment, Extension: "x", ID: "global"},
			{Environment: environment, Extension: "x", Channel: "not text \xff", ID: "default"},
			{Environment: environment, Extension: "xx", Channel: "1", ID: "of another extension"},
		} {
			d.vote(p, voting.Voter{UserID: "1"}, 1, 1)
		}
		buffer := accumulation.Buffer{Environment: environment, Extension: "x", Name: "default"}
		for i, data := range []string{`{}`, `{"a":"` + strings.Repeat("é<\\", 10_000) + `"}`, `{ "not" : "compact" }`, `not JSON`, "{\"\xff\":1}"} {
			d.must(d.accumulation.Append(ctx, buffer, accumulation.Submission{ChannelID: fmt.Sprint(i), OpaqueID: "U1", Data: json.RawMessage(data)}))
		}
		question := ranking.Question{Environment: environment, Extension: "x", Channel: "1", ID: "tea?"}
		for i, key := range []string{"green", "black", "=SUM(A1)", "green"} {
			_, err := d.ranking.Submit(ctx, question, fmt.Sprint(i), key)
			d.must(err)
		}
		d.must(d.ranking.Clear(ctx, ranking.Question{Environment: environment, Extension: "x", ID: "global"}))
		config := ranking.Config{Normalization: contract.CompatibleAnswers, MinLength: 1, MaxLength: 9, Blocked: []string{"<ü>"}, AnswersPerViewer: 2, HoldAnswers: true}
		question.ID = "moderated"
		d.must(d.ranking.Configure(ctx, question, config))
		_, err := d.ranking.Submit(ctx, question, "U1", "Ｔea ")
		d.must(err)
		for _, m := range []ranking.Moderation{{Action: ranking.Merge, Key: "tea", Into: "ü"}, {Action: ranking.Hide, Key: "="}, {Action: ranking.Show, Key: "tea"}} {
			d.must(d.ranking.Moderate(ctx, question, m))
		}
		for _, extension := range []string{"x", "of another extension"} {
			viewers := roster.Roster{Environment: environment, Extension: extension}
			d.must(d.roster.Note(ctx, viewers, "7", true))
			d.must(d.roster.Note(ctx, viewers, "5", true))
			d.must(d.roster.Note(ctx, viewers, "7", false))
		}
		putDocuments(t, m, environment)
	}
	appendOdd(t, m)
	return m
}

func putDocuments(t testing.TB, m *storetest.Memory, environment string) {
	t.Helper()
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for i, body := range []string{`{}`, `{"a":1.50,"<":"é\u2028"}`, `{ "a" : 1 }`, "{\"\xff\":1}", deep, "null", "", "not JSON"} {
		name := key.Join("document", environment, "x", "state", "viewer", fmt.Sprint(i), "not text\xff"[:8+i%2])
		for version := range uint64(1 + i) {
			write := document.Write{Key: name, Expect: version, Body: []byte(body)}
			if i > 0 {
				write.ID = document.WriteID{byte(i), 15: byte(version)}
			}
			if i == 7 {
				write.Keys = []once.Kept{{Mark: once.Mark{Owner: once.Owner{byte(i)}}, At: int64(version)}}
			}
			if err := m.Put(t.Context(), write); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// appendOdd stores chunks with groups, without entries, with bytes after the
// entries, and many.
func appendOdd(t testing.TB, m *storetest.Memory) {
	t.Helper()
	reset, err := voting.EntryCodec{}.AppendReadable(nil, []byte(`{"entry":"reset"}`))
	if err != nil {
		t.Fatal(err)
	}
	group := append(append([]byte{1}, bytes.Repeat([]byte{0xab}, 16)...), 2, 0b101, 0)
	name := voting.Poll{Environment: "production", Extension: "x", Channel: "2", ID: "odd"}.Stream()
	payloads := [][]byte{append(bytes.Clone(group), reset...), group, append([]byte{0}, append(reset, "after"...)...)}
	for range 600 {
		payloads = append(payloads, append([]byte{0}, reset...))
	}
	var head stream.Head
	for i, payload := range payloads {
		chunk := stream.Chunk{Stream: name, Seq: head.Seq + 1, At: head.At + int64(i%2), ID: stream.ChunkID{byte(i), byte(i >> 8), 1}, Prev: head.Sum, Payload: payload}
		if i != 1 {
			chunk.Count = 1
		}
		if head, err = head.Next(&chunk, true); err != nil {
			t.Fatal(err)
		}
		if err := m.Append(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
}

func export(t testing.TB, store transfer.Source, scope transfer.Scope) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := transfer.Export(t.Context(), store, scope, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// content is all that is in a store.
type content struct {
	Streams   map[string][]stream.Chunk
	Documents map[string]document.Document
}

// contentOf returns what a store holds under a scope's prefixes.
func contentOf(t *testing.T, m *storetest.Memory, prefixes ...string) content {
	t.Helper()
	c := content{map[string][]stream.Chunk{}, map[string]document.Document{}}
	for _, prefix := range prefixes {
		for _, name := range listed(t, m.Streams(t.Context(), prefix)) {
			c.Streams[name] = listed(t, m.Chunks(t.Context(), name, 0))
		}
		for _, name := range listed(t, m.Keys(t.Context(), prefix)) {
			found, err := m.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			found[0].Body = append([]byte{}, found[0].Body...)
			c.Documents[name] = found[0]
		}
	}
	return c
}

// listed returns what a store yields.
func listed[T any](t testing.TB, listing iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for one, err := range listing {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func wantSame(t *testing.T, want, got content) {
	t.Helper()
	if !reflect.DeepEqual(want, got) { // which takes no time beside what tells the difference
		t.Errorf("content (-want +got):\n%.2000s", cmp.Diff(want, got))
	}
}

func pollOf(id string) voting.Poll {
	return voting.Poll{Environment: "production", Extension: "x", Channel: "1", ID: id}
}

func voterOf(n int) voting.Voter { return voting.Voter{OpaqueID: fmt.Sprint("U", n)} }
