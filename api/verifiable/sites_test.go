package verifiable_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// shown is a site with what a viewer has to check it.
type shown struct {
	Receipt string              `json:"receipt"`
	Policy  string              `json:"policy,omitempty"`
	Monitor *verifiable.Monitor `json:"monitor,omitempty"`
	Files   map[string][]byte   `json:"files"` // by path, in base64
}

// show returns the site with Alice's receipt, and of all ballots only the proof of hers.
func (s *story) show() shown {
	s.t.Helper()
	files, own := s.files(), verifiable.BallotPath(s.poll.id, s.poll.newest.Entries.N, s.alice)
	maps.DeleteFunc(files, func(path string, _ *fstest.MapFile) bool { return strings.Contains(path, "/ballots/") && path != own })
	return showFiles(s.receipt, files)
}

func showFiles(receipt []byte, files fstest.MapFS) shown {
	c := shown{Receipt: string(receipt), Files: map[string][]byte{}}
	for path, file := range files {
		c.Files[path] = file.Data
	}
	return c
}

func (c *shown) source() verifiable.Source {
	files := fstest.MapFS{}
	for path, data := range c.Files {
		files[path] = &fstest.MapFile{Data: data}
	}
	return verifiable.Directory{FS: files}
}

// siteVector is a site that other implementations check, with the verdicts.
type siteVector struct {
	Name string `json:"name"`
	shown
	Vote     string               `json:"vote"`
	Recorded verifiable.Verdict   `json:"recorded"`
	Counted  verifiable.Verdict   `json:"counted"`
	Same     verifiable.Verdict   `json:"same"`
	Missing  bool                 `json:"missing,omitempty"` // the check lacks a file
	Findings []verifiable.Finding `json:"findings"`
}

// The committed sites are those of the lies, and of tellings that have no other fault, with the
// verdicts that this implementation gives.
func TestSites(t *testing.T) {
	const file = "testdata/sites.json"
	tellings := otherSites()
	for name, l := range lies() {
		tellings[name] = func(t *testing.T) shown {
			s := tell(t)
			l.do(s)
			return s.show()
		}
	}
	var list []siteVector
	for _, name := range sorted(tellings) {
		list = append(list, judgeSite(t, name, tellings[name](t)))
	}
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must(t, encoder.Encode(list))
	if *update {
		must(t, os.WriteFile(file, got.Bytes(), 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs; -update writes it again", file)
	}
}

func judgeSite(t *testing.T, name string, c shown) siteVector {
	t.Helper()
	check := verifiable.ReceiptCheck{Keys: newPublisher(t).keys(), Source: c.source(), Monitor: c.Monitor}
	if c.Policy != "" {
		policy, err := verifiable.ParsePolicy(c.Policy)
		must(t, err)
		check.Policy = policy
	}
	report, err := verifiable.VerifyReceipt(t.Context(), []byte(c.Receipt), check)
	if report == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return siteVector{Name: name, shown: c, Vote: report.Vote, Recorded: report.Recorded, Counted: report.Counted, Same: report.Same, Missing: err != nil, Findings: report.Findings}
}

// otherSites has sites that the table of lies lacks.
func otherSites() map[string]func(t *testing.T) shown {
	sites := map[string]func(t *testing.T) shown{
		"open": func(t *testing.T) shown { return tell(t).show() },
		"a cloned log": func(t *testing.T) shown {
			s := tell(t)
			clone := s.clone()
			s.poll.sign()
			receipt := s.poll.receipt("alice", s.alice)
			other := clone.polls[0]
			other.remove(int64(len(other.leaves)) - 1)
			other.vote("mallory", 0)
			other.sign()
			other.vote("trent", 0)
			other.sign()
			return showFiles(receipt, clone.files())
		},
		"an older log": func(t *testing.T) shown {
			s := tell(t)
			old := s.clone()
			s.poll.sign()
			return showFiles(s.poll.receipt("alice", s.alice), old.files())
		},
		"the end of a tree that was not signed": func(t *testing.T) shown {
			s := tell(t)
			s.end()
			signed, err := s.poll.newest.Encode()
			must(t, err)
			ended := s.poll.newest
			ended.Status, ended.Final = verifiable.TreeEnded, false
			forged, err := ended.Encode()
			must(t, err)
			s.begin("lunch", lunch()).sign()
			c := s.show()
			path := "log/tile/entries/000.p/4"
			c.Files[path] = bytes.Replace(c.Files[path], signed, forged, 1)
			return c
		},
		"another file's content": func(t *testing.T) shown {
			s := tell(t)
			s.end()
			c := s.show()
			path := "log/tile/0/000.p/3"
			c.Files[path] = bytes.Repeat([]byte{1}, len(c.Files[path]))
			return c
		},
		"many voters, one of them erased": func(t *testing.T) shown {
			s := tell(t)
			for i := range 300 {
				s.poll.vote(strings.Repeat("x", i+1), int16(i%3))
			}
			s.poll.add(verifiable.Entry{Kind: verifiable.EntryErasure, At: s.at})
			s.end()
			return s.show()
		},
	}
	maps.Copy(sites, endedSites())
	maps.Copy(sites, partialSites())
	maps.Copy(sites, watchedSites())
	maps.Copy(sites, hiddenSites())
	return sites
}

func endedSites() map[string]func(t *testing.T) shown {
	return map[string]func(t *testing.T) shown{
		"a reset": func(t *testing.T) shown {
			s := tell(t)
			s.poll.reset()
			s.poll.sign()
			return s.show()
		},
		"a reset, then a close": func(t *testing.T) shown {
			s := tell(t)
			s.poll.reset()
			s.poll.sign()
			s.poll.vote("dave", 1)
			s.end()
			return s.show()
		},
		"begun again": func(t *testing.T) shown {
			s := tell(t)
			s.poll.status = verifiable.TreeEnded
			s.poll.sign()
			s.begin("lunch", lunch()).sign()
			return s.show()
		},
	}
}

func partialSites() map[string]func(t *testing.T) shown {
	private := func(t *testing.T) *story {
		s := tell(t)
		s.poll.weigh("alice", 2)
		s.poll.private = true
		s.end()
		return s
	}
	return map[string]func(t *testing.T) shown{
		"without entries": func(t *testing.T) shown { return private(t).show() },
		"without entries and proof": func(t *testing.T) shown {
			s := private(t)
			c := s.show()
			delete(c.Files, verifiable.BallotPath(s.poll.id, s.poll.newest.Entries.N, s.alice))
			return c
		},
		"without the result": func(t *testing.T) shown {
			s := tell(t)
			c := s.show()
			delete(c.Files, s.poll.name.ResultPath())
			return c
		},
	}
}

// watchedSites have a witness, and viewers with a monitor.
func watchedSites() map[string]func(t *testing.T) shown {
	seed := [32]byte{7}
	witness := ed25519.NewKeyFromSeed(seed[:])
	watched := func(t *testing.T, policy string, watch func(s *story)) shown {
		s := tell(t)
		s.end()
		watch(s)
		c := s.show()
		c.Files["log/witnessed"] = cosign(t, c.Files["log/checkpoint"], "witness.example", witness)
		other := ed25519.NewKeyFromSeed(make([]byte, 32))
		c.Policy = "# two\nwitness a " + witnessKey("witness.example", witness) + "\nwitness b " + witnessKey("other.example", other) + " https://other.example\n" + policy
		c.Monitor = s.monitor
		return c
	}
	follow := func(s *story) { s.publisher.monitor(s.monitor) }
	return map[string]func(t *testing.T) shown{
		"watched":                   func(t *testing.T) shown { return watched(t, "group g any a b\nquorum g\n", follow) },
		"watched, without quorum":   func(t *testing.T) shown { return watched(t, "group g all a b\nquorum g\n", follow) },
		"watched by a slow monitor": func(t *testing.T) shown { return watched(t, "quorum a\n", func(*story) {}) },
		"watched, with another list of votes": func(t *testing.T) shown {
			return watched(t, "quorum a\n", func(s *story) {
				other := s.clone()
				other.begin("lunch", lunch()).sign()
				other.monitor(s.monitor)
			})
		},
	}
}

func hiddenSites() map[string]func(t *testing.T) shown {
	key, other := verifiable.SaltKey{1}, verifiable.SaltKey{2}
	hidden := func(t *testing.T, tell func(q *poll)) shown {
		s := &story{publisher: newPublisher(t)}
		c := lunch()
		c.ResultsVisibility, c.ShowCount = "afterClose", true
		s.poll = s.begin("secret", c)
		s.poll.hide(key)
		s.alice = s.poll.vote("alice", 1)
		s.poll.vote("bob", 0)
		s.poll.sign()
		s.receipt = s.poll.receipt("alice", s.alice)
		tell(s.poll)
		return s.show()
	}
	reveal := func(q *poll, key verifiable.SaltKey) {
		q.close()
		q.reveal(key)
		q.sign()
	}
	return map[string]func(t *testing.T) shown{
		"hidden":                  func(t *testing.T) shown { return hidden(t, func(*poll) {}) },
		"hidden, and revealed":    func(t *testing.T) shown { return hidden(t, func(q *poll) { reveal(q, key) }) },
		"revealed by another key": func(t *testing.T) shown { return hidden(t, func(q *poll) { reveal(q, other) }) },
		"hidden by two keys": func(t *testing.T) shown {
			return hidden(t, func(q *poll) {
				reveal(q, key)
				q.open()
				q.hide(other)
				q.vote("dave", 2)
				reveal(q, other)
			})
		},
	}
}
