package voting_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// keyOf returns the nth key of a caller, for one of its requests.
func keyOf(caller, n, request uint64) *once.Key {
	var m once.Mark
	binary.LittleEndian.PutUint64(m.Owner[:], caller)
	binary.LittleEndian.PutUint64(m.Key[:], (caller<<32|n)*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(m.Request[:], request*0xff51afd7ed558ccd)
	return &once.Key{Marks: []once.Mark{m}}
}

var keyedPoll = voting.Poll{Environment: "production", Extension: "e", Channel: "c", ID: "keyed"}

// keyedVotes sends votes of voters with numbers, each with a key.
type keyedVotes struct {
	*voting.Service
	t *testing.T
}

func voterOf(n uint64) voting.Voter {
	return voting.Voter{OpaqueID: fmt.Sprint("U", n), UserID: fmt.Sprint(n)}
}

// vote expects a vote to be new, "replayed", "reused" or "full".
func (k keyedVotes) vote(voter uint64, value int64, key uint64, want string) {
	k.t.Helper()
	sent := keyOf(voter, key, uint64(value))
	_, err := k.Vote(k.t.Context(), keyedPoll, voterOf(voter), value, 1, sent)
	got := "new"
	switch {
	case fault.KindOf(err) == fault.Reused:
		got = "reused"
	case errors.Is(err, once.ErrFull):
		got = "full"
	case err != nil:
		got = err.Error()
	case sent.Replayed:
		got = "replayed"
	}
	if got != want {
		k.t.Errorf("voter %d, value %d, key %d: %s, want %s", voter, value, key, got, want)
	}
}

// wantVote expects the stored vote of a voter and the number of all.
func (k keyedVotes) wantVote(voter uint64, value, count int64) {
	k.t.Helper()
	tally, err := k.Tally(k.t.Context(), keyedPoll, voterOf(voter))
	if err != nil {
		k.t.Fatal(err)
	}
	var got struct{ Count, Vote int64 }
	if err := json.Unmarshal(tally.AppendJSON(nil), &got); err != nil || got.Count != count || got.Vote != value {
		k.t.Errorf("voter %d sees %+v, %v, want vote %d of %d", voter, got, err, value, count)
	}
}

// In a single-vote poll a voter's record recognises its last key and the ring those before,
// also in a process that has read a snapshot or the log (section 1.4).
func TestRepetitionInASingleVotePoll(t *testing.T) {
	for name, tail := range map[string]int{"in memory": -1, "from a snapshot": 1, "from the log": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				k := &keyedVotes{newService(t, store, stream.Options{SnapshotTail: max(tail, 1)}), t}
				reopen := func() {
					if tail < 0 {
						return
					}
					if err := k.Close(t.Context()); err != nil {
						t.Error(err)
					}
					k.Service = newService(t, store, stream.Options{SnapshotTail: tail})
				}
				repeatSingleVotes(k, reopen)
				if report, err := k.Verify(t.Context(), keyedPoll.Stream()); err != nil || tail == 1 && !report.Snapshot {
					t.Errorf("verify: %+v, %v", report, err)
				}
			})
		})
	}
}

func repeatSingleVotes(k *keyedVotes, reopen func()) {
	ctx := k.t.Context()
	k.vote(1, 3, 1, "new")
	k.vote(2, 5, 1, "new")
	reopen()
	k.vote(1, 3, 1, "replayed")
	k.vote(1, 4, 1, "reused")
	k.vote(1, 7, 2, "new")
	reopen()
	k.vote(1, 3, 1, "replayed") // an older request must not undo a later one
	k.vote(1, 4, 1, "reused")
	k.vote(1, 7, 2, "replayed")
	k.wantVote(1, 7, 2)
	if _, err := k.Vote(ctx, keyedPoll, voterOf(1), 9, 1); err != nil {
		k.t.Error(err)
	}
	k.vote(1, 7, 2, "replayed")
	k.wantVote(1, 9, 2)

	config := voting.DefaultConfig()
	config.UserIDVoting = true
	configure(k, config)
	k.vote(1, 7, 2, "replayed") // although its record is now another one
	config.TotalVotesPerUser, config.VotesPerOption = 9, 9
	configure(k, config)
	k.vote(1, 7, 2, "replayed")
	k.vote(1, 1, 3, "new")
	k.vote(1, 1, 4, "new")
	reopen()
	k.vote(1, 1, 3, "replayed")
	k.wantVote(1, 1, 4)

	if err := k.Reset(ctx, keyedPoll); err != nil {
		k.t.Error(err)
	}
	k.vote(1, 7, 2, "replayed") // a vote of before the reset does not come back
	k.vote(3, 6, 1, "new")
	reopen()
	k.vote(2, 5, 1, "replayed")
	k.vote(3, 6, 1, "replayed")
	<-time.After(once.Lifetime + time.Second)
	k.vote(2, 5, 1, "new")
	k.vote(3, 6, 1, "new")
	k.wantVote(3, 6, 2)
}

func configure(k *keyedVotes, c voting.Config) {
	k.t.Helper()
	if err := k.Configure(k.t.Context(), keyedPoll, c); err != nil {
		k.t.Fatal(err)
	}
}

// voteInBatches sends keyed votes of voters, one each, through POST /votes' batches while time
// passes, and returns how many were replayed.
func voteInBatches(t *testing.T, s *voting.Service, voters, pause int, caller func(voter int) uint64) (replayed, refused int) {
	t.Helper()
	for from := 0; from < voters; from += contract.MaxVotes {
		votes := make([]voting.Submission, contract.MaxVotes)
		for i := range votes {
			n := uint64(from + i)
			votes[i] = voting.Submission{Voter: voting.Voter{OpaqueID: fmt.Sprint("U", n)}, Value: int64(n % 8), Count: 1, Key: keyOf(caller(from+i), n, n%8)}
		}
		verdicts, err := s.VoteAll(t.Context(), keyedPoll, votes, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, refusal := range verdicts.Refusals {
			switch {
			case errors.Is(refusal, once.ErrFull):
				refused++
			case refusal != nil:
				t.Fatal(refusal)
			case votes[i].Key.Replayed:
				replayed++
			}
		}
		<-time.After(time.Duration(pause) * time.Millisecond)
	}
	return replayed, refused
}

// A million viewers vote once within half a minute, each with a key of their own, in a process
// of 1 GiB, and repeat that a minute later. None needs room for a key: there is none.
func TestMillionViewersNeedNoRoom(t *testing.T) {
	const viewers = 1_000_000
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, storetest.NewMemory(), stream.Options{Exclusive: true, MemoryBudget: 1 << 30 * 8 / 100, KeyBudget: 1})
		each := func(voter int) uint64 { return uint64(voter) }
		if replayed, refused := voteInBatches(t, s, viewers, 30, each); replayed+refused > 0 {
			t.Errorf("of the votes %d were replayed and %d refused", replayed, refused)
		}
		<-time.After(time.Minute)
		if replayed, refused := voteInBatches(t, s, viewers, 30, each); replayed != viewers {
			t.Errorf("of the repetitions %d were replayed and %d refused", replayed, refused)
		}
		(keyedVotes{s, t}).wantVote(0, 0, viewers)
		bytes := s.Stats().ResidentBytes
		t.Logf("%d bytes a voter", bytes/viewers)
		if bytes > 64*viewers {
			t.Errorf("the poll keeps %d bytes for a voter", bytes/viewers)
		}
	})
}

// A bot whose keys fill its part of the room is refused, and no viewer beside it; none of its
// keys goes before its time.
func TestBotFillsOnlyItsPartOfTheRoom(t *testing.T) {
	const votes, room = 70_000, 40_000
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, storetest.NewMemory(), stream.Options{Exclusive: true, KeyBudget: room * stream.KeySize})
		k := &keyedVotes{s, t}
		config := voting.DefaultConfig()
		config.TotalVotesPerUser, config.VotesPerOption = 9, 9
		configure(k, config)
		bot := func(int) uint64 { return 1 << 31 }
		_, refused := voteInBatches(t, s, votes, 20, bot)
		if accepted := votes - refused; accepted < room/2-1 || accepted > room/2 {
			t.Errorf("%d votes are accepted", accepted)
		}
		for n := range uint64(1000) {
			k.vote(votes+n, 1, 1, "new")
		}
		stats := s.Stats().Keys
		if stats.OverShare != uint64(refused) || stats.Full > 0 || stats.Used > stats.Limit {
			t.Errorf("%d were refused: %+v", refused, stats)
		}
		<-time.After(20 * time.Second)
		if replayed, again := voteInBatches(t, s, votes, 0, bot); replayed != votes-refused || again != refused {
			t.Errorf("%d were replayed and %d refused, want %d and %d", replayed, again, votes-refused, refused)
		}
		k.vote(votes, 1, 1, "replayed")
		k.wantVote(votes, 1, int64(votes-refused+1000))
		<-time.After(once.KeptAtLeast)
		if _, refused := voteInBatches(t, s, 1000, 0, func(int) uint64 { return 2 << 31 }); refused > 0 {
			t.Errorf("%d are refused when the keys are old", refused)
		}
	})
}

// FuzzKeys compares the keys of a poll with a list: a repeated vote never counts again while its
// key is kept, whatever happens to the poll, the process and the room for keys meanwhile.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("002070102020707070z0\xd30z020\x93010z01000\xf5070z0\x9b0107020707070202010102020107070202070081020\xf50")) // refused commands drop no keys
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		script := make([]byte, 600)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		synctest.Test(t, func(t *testing.T) { runKeyScript(t, script) })
	})
}

// keyModel is a poll with keys, and the list of the keys that it has accepted.
type keyModel struct {
	keyedVotes
	store *storetest.Memory
	keys  []modelKey
	last  uint64 // key
	// entries counts the votes that have to be in the log.
	entries int
	config  voting.Config
}

type modelKey struct {
	voter, key uint64
	value      int64
	at         time.Time
}

func runKeyScript(t *testing.T, script []byte) {
	m := &keyModel{keyedVotes: keyedVotes{t: t}, store: storetest.NewMemory(), config: voting.DefaultConfig()}
	m.Service = newService(t, m.store, stream.Options{KeyBudget: 30 * stream.KeySize})
	for ; len(script) > 1; script = script[2:] {
		m.step(script[0], script[1])
	}
	entries := 0
	for _, err := range m.Log(t.Context(), keyedPoll, voting.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries++
	}
	if entries != m.entries {
		t.Errorf("the log has %d votes, want %d", entries, m.entries)
	}
	if _, err := m.Verify(t.Context(), keyedPoll.Stream()); err != nil {
		t.Errorf("verify: %v", err)
	}
}

func (m *keyModel) step(op, arg byte) {
	<-time.After(time.Duration(op%4) * 700 * time.Millisecond)
	switch {
	case op < 110:
		m.voteNew(arg)
	case op < 220 && len(m.keys) > 0:
		m.repeat(m.keys[len(m.keys)-1-int(arg)%len(m.keys)])
	case op < 228:
		m.config.TotalVotesPerUser, m.config.VotesPerOption = 1+999*int64(arg&1), 999
		m.config.DistinctOptionsPerUser = 99
		m.config.UserIDVoting = arg&2 > 0
		configure(&m.keyedVotes, m.config)
	case op < 232:
		m.config = voting.DefaultConfig()
		if err := m.Reset(m.t.Context(), keyedPoll); err != nil {
			m.t.Fatal(err)
		}
	case op < 234:
		m.erase(uint64(arg % 16))
	case op < 248:
		if err := m.Close(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
		m.Service = newService(m.t, m.store, stream.Options{SnapshotTail: 1 << (arg % 2 * 20), KeyBudget: 20 * stream.KeySize * int64(1+arg%3)})
	default:
		<-time.After(time.Duration(arg) * 10 * time.Minute)
	}
}

func (m *keyModel) voteNew(arg byte) {
	m.last++
	k := modelKey{voter: uint64(arg % 16), key: m.last, value: int64(arg / 16), at: time.Now()}
	key := keyOf(k.voter%4, k.key, uint64(k.value)) // some callers vote for several voters
	_, err := m.Vote(m.t.Context(), keyedPoll, voterOf(k.voter), k.value, 1, key)
	switch {
	case errors.Is(err, once.ErrFull):
		if m.Stats().Keys.Used < m.Stats().Keys.Limit/3 {
			m.t.Fatalf("refused with room: %+v", m.Stats().Keys)
		}
	case err != nil || key.Replayed:
		m.t.Fatalf("a new key: %v, replayed: %t", err, key.Replayed)
	default:
		m.keys, m.entries = append(m.keys, k), m.entries+1
	}
}

// erase erases a voter: the keys go with the votes.
func (m *keyModel) erase(voter uint64) {
	viewer := rewrite.Viewer{IDs: []string{voterOf(voter).OpaqueID, voterOf(voter).UserID}}
	if _, err := m.Erase(m.t.Context(), keyedPoll.Stream(), viewer); err != nil {
		m.t.Fatal(err)
	}
	m.keys = slices.DeleteFunc(m.keys, func(k modelKey) bool { return k.voter == voter })
}

func (m *keyModel) repeat(k modelKey) {
	age, key := time.Since(k.at), keyOf(k.voter%4, k.key, uint64(k.value))
	_, err := m.Vote(m.t.Context(), keyedPoll, voterOf(k.voter), k.value, 1, key)
	switch {
	case errors.Is(err, once.ErrFull) && age >= once.KeptAtLeast:
	case err != nil:
		m.t.Fatalf("a repetition after %v: %v", age, err)
	case !key.Replayed && age < once.KeptAtLeast:
		m.t.Fatalf("a repetition after %v counts again", age)
	case key.Replayed && age > once.Lifetime+time.Second:
		m.t.Fatalf("a key is kept for %v", age)
	case !key.Replayed:
		for i := range m.keys {
			if m.keys[i].key == k.key {
				m.keys[i].at = time.Now()
			}
		}
		m.entries++
	}
}
