package transfer_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// FuzzImport: an import of any file leaves the store sound.
func FuzzImport(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"record":"header","format":"acclaim-export","version":1,"extension":"x","environments":["production"],"kinds":["votes"]}` + "\n" +
		`{"record":"footer","streams":0,"chunks":0,"entries":0,"documents":0,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`))
	_, lines := small(f)
	f.Add([]byte(strings.Join(lines, "")))
	f.Fuzz(func(t *testing.T, file []byte) {
		to := storetest.NewMemory()
		_, _ = transfer.Import(t.Context(), bytes.NewReader(file), to, nil)
		wantSound(t, to)
	})
}

// FuzzForged: the same holds for a file with valid sums.
func FuzzForged(f *testing.F) {
	f.Add("votes", "a", []byte{0, 4}, `[{"entry":"reset"}]`, int64(7))
	f.Add("rankings", "global", []byte{0, 0}, `[{"entry":"clear"}]`, int64(7))
	f.Add("accumulations", "a", []byte{0, 0, 0, 0, 2, '{', '}'}, `[{"entry":"submission","data":{}}]`, int64(0))
	f.Add("viewers", "users", []byte{0, 1, 1, '7'}, `[{"entry":"seen","userID":"7"}]`, int64(7))
	f.Add("viewers", "a", []byte{0, 2, 1, '7'}, `[{"entry":"gone","userID":"7"}]`, int64(7))
	f.Add("votes", "a", []byte{1}, `[null]`, int64(-1))
	f.Fuzz(func(t *testing.T, kind, id string, payload []byte, entries string, at int64) {
		var list []json.RawMessage
		if json.Unmarshal([]byte(entries), &list) != nil || bytes.ContainsAny([]byte(entries), "\r\n") {
			return
		}
		first := map[string]string{"votes": "poll", "accumulations": "buffer", "rankings": "rank", "viewers": "roster"}[kind]
		name := first + "/production/x/channel/1/" + id
		if strings.HasPrefix(id, "global") {
			name = first + "/production/x/global/" + id
		}
		if kind == "accumulations" || kind == "viewers" {
			name = first + "/production/x/" + id
		}
		chunk := stream.Chunk{Stream: name, Seq: 1, At: at, Count: len(list), Payload: payload}
		sum := chunk.Sum()
		file := fmt.Sprintf(`{"record":"header","format":"acclaim-export","version":1,"extension":"x","environments":["production"],"kinds":[%q]}
{"record":"chunk","kind":%q,"stream":%q,"seq":1,"at":%d,"chunk":"%s","entries":%s,"payload":%s,"sum":"%x"}
`, kind, kind, name, at, strings.Repeat("00", 16), entries, mustJSON(payload), sum)
		to := storetest.NewMemory()
		_, _ = transfer.Import(t.Context(), strings.NewReader(file), to, nil)
		wantSound(t, to)
		if wellFormed := len(contentOf(t, to, "").Streams) > 0; wellFormed {
			out := export(t, to, transfer.Scope{Extension: "x", Environments: []string{"production"}, Kinds: []string{kind}})
			if !strings.Contains(string(out), hex.EncodeToString(sum[:])) {
				t.Errorf("%s is exported as %s", file, out)
			}
		}
	})
}

func mustJSON(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}

// wantSound replays every stream of a store.
func wantSound(t *testing.T, m *storetest.Memory) {
	t.Helper()
	d := newDomains(t, m)
	for name := range contentOf(t, m, "").Streams {
		verify := d.voting.Verify
		switch first, _, _ := strings.Cut(name, "/"); first {
		case "buffer":
			verify = d.accumulation.Verify
		case "rank":
			verify = d.ranking.Verify
		case "roster":
			verify = d.roster.Verify
		}
		if _, err := verify(t.Context(), name); err != nil {
			t.Errorf("%s was stored: %v", name, err)
		}
	}
}
