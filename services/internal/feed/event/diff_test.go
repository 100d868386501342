package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// tallies returns the statistics of a poll after 0, 1, ... n votes.
func tallies(t testing.TB, n int) []*voting.Statistics {
	t.Helper()
	s := voting.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{})
	defer func() { _ = s.Close(t.Context()) }() // nothing is left to store
	p := voting.Poll{Environment: "production", Extension: "ext", Channel: "1", ID: "p"}
	var all []*voting.Statistics
	for votes := range n + 1 {
		o, err := s.Overview(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Statistics)
		if _, err := s.Vote(t.Context(), p, voting.Voter{OpaqueID: fmt.Sprint("U", votes)}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// names returns the names of a change's events, updates with their number of votes.
func names(t testing.TB, c Change) (all []string) {
	t.Helper()
	for _, s := range c.Steps {
		name := s.Event.Name
		var data struct{ Stats *struct{ Count int } }
		if strings.HasPrefix(name, "vote_") {
			if err := json.Unmarshal(s.Event.Data, &data); err != nil {
				t.Fatal(err)
			}
		}
		if data.Stats != nil {
			name += fmt.Sprint(" ", data.Stats.Count)
		}
		all = append(all, name)
	}
	return all
}

func TestDiffPoll(t *testing.T) {
	stats := tallies(t, 2)
	now := time.Unix(1000, 0)
	source := PollSource("production", "ext", "1", "p")
	known := func(k Knowledge, votes int) Knowledge {
		k.Stats = statsDigest(stats[votes])
		return k
	}
	for name, test := range map[string]struct {
		known         Knowledge
		resets, votes int
		endsAt        int64
		open          bool // the log has not passed the end
		want          []string
		ended         int64
	}{
		"empty":                        {},
		"first votes":                  {votes: 1, want: []string{"vote_update:p 1"}},
		"the same":                     {known: known(Knowledge{}, 1), votes: 1},
		"more votes":                   {known: known(Knowledge{}, 1), votes: 2, want: []string{"vote_update:p 2"}},
		"deleted":                      {known: known(Knowledge{}, 1), resets: 1, want: []string{"vote_delete:p", "vote_update:p 0"}},
		"deleted, and votes since":     {known: known(Knowledge{}, 1), resets: 1, votes: 1, want: []string{"vote_delete:p", "vote_update:p 1"}},
		"the deletion is known":        {known: Knowledge{Resets: 1, Stats: resetStats}, resets: 1, want: []string{"vote_update:p 0"}},
		"it ends later":                {endsAt: 1001},
		"it has ended, without votes":  {endsAt: 1000, want: []string{"vote_update:p 0"}, ended: 1000},
		"its end is not in the log":    {endsAt: 1000, open: true},
		"its owner still takes votes":  {known: known(Knowledge{}, 1), votes: 2, endsAt: 1000, open: true, want: []string{"vote_update:p 2"}},
		"the end is known":             {known: Knowledge{EndsAt: 999, Ended: 999}, endsAt: 999, ended: 999},
		"it has ended at another time": {known: Knowledge{EndsAt: 900, Ended: 900}, endsAt: 999, want: []string{"vote_update:p 0"}, ended: 999},
		"deleted after the end":        {known: Knowledge{EndsAt: 999, Ended: 999}, resets: 1, endsAt: 999, want: []string{"vote_delete:p", "vote_update:p 0"}, ended: 999},
		"it goes on":                   {known: Knowledge{EndsAt: 999, Ended: 999}, endsAt: 2000},
		"the other clock is ahead":     {known: Knowledge{EndsAt: 1001, Ended: 1001}, endsAt: 1001, ended: 1001},
	} {
		read := voting.Overview{Statistics: stats[test.votes], Config: voting.Config{Schedule: contract.Schedule{EndsAt: test.endsAt}}, Resets: uint64(test.resets), Head: 7}
		read.Closed = test.endsAt != 0 && test.endsAt <= now.Unix() && !test.open
		c := DiffPoll(source, test.known, read, now, Staff)
		want := known(Knowledge{Head: 7, Resets: uint64(test.resets), EndsAt: test.endsAt, Ended: test.ended}, test.votes)
		if got := names(t, c); !slices.Equal(got, test.want) || c.Final != want || c.More() {
			t.Errorf("%s: %q and %+v, want %q and %+v", name, got, c.Final, test.want, want)
		}
		again := DiffPoll(source, c.Final, read, now, Staff)
		if len(again.Steps) > 0 || again.Final != c.Final {
			t.Errorf("%s: the same read again gives %q", name, names(t, again))
		}
	}
}

func TestDiffDocument(t *testing.T) {
	for _, test := range []struct {
		source         Source
		known, version uint64
		body, want     string
	}{
		{DocumentSources(Audience{Channel: "1"})[0], 0, 0, "", ""},
		{DocumentSources(Audience{Channel: "1"})[0], 0, 3, `{"a":1}`, `broadcast channel_state_update {"a":1}`},
		{DocumentSources(Audience{Global: true})[0], 2, 3, `{"a":1}`, `global extension_state_update {"a":1}`},
		{DocumentSources(Audience{Global: true})[0], 3, 3, `{"a":1}`, ""},
		{DocumentSources(Audience{Channel: "1"})[0], 3, 0, "", `broadcast channel_state_update {}`},
		{DocumentSources(Audience{Channel: "1"})[1], 0, 3, `{"a":1}`, `broadcast channel_config_update {"a":1}`},
		{DocumentSources(Audience{Global: true})[1], 2, 3, `{"a":1}`, `global extension_config_update {"a":1}`},
	} {
		read := document.Document{Version: test.version}
		if test.body != "" {
			read.Body = []byte(test.body)
		}
		c, got := DiffDocument(test.source, Knowledge{Head: test.known}, read), ""
		if len(c.Steps) > 0 {
			e := c.Steps[0].Event
			got = e.Target() + " " + e.Name + " " + string(e.Data)
		}
		if got != test.want || c.Final != (Knowledge{Head: test.version}) || c.More() {
			t.Errorf("from %d to %d: %q and %+v, want %q", test.known, test.version, got, c.Final, test.want)
		}
	}
}

// page returns the messages from first to last, the last one at a head.
func page(first, last, head uint64) message.Page {
	p := message.Page{Last: last, Head: head}
	for n := first; n <= last && n > 0; n++ {
		p.Messages = append(p.Messages, message.Message{Number: n, Name: fmt.Sprint("m", n), Data: []byte("1")})
	}
	return p
}

func TestDiffFeed(t *testing.T) {
	source := FeedSource(Audience{Channel: "1"})
	for name, test := range map[string]struct {
		known Knowledge
		page  message.Page
		want  []string
	}{
		"empty":                       {},
		"the first":                   {page: page(1, 2, 5), want: []string{"m1", "m2"}},
		"the next":                    {Knowledge{Message: 2}, page(3, 4, 5), []string{"m3", "m4"}},
		"none":                        {Knowledge{Message: 4}, page(0, 4, 5), nil},
		"some are known":              {Knowledge{Message: 2}, page(1, 3, 5), []string{"m3"}},
		"some are missing":            {Knowledge{Message: 2}, page(5, 6, 5), []string{"resync", "m5", "m6"}},
		"all are missing":             {Knowledge{Message: 2}, page(0, 6, 5), []string{"resync"}},
		"the log is another, shorter": {Knowledge{Message: 9}, page(0, 3, 5), nil},
	} {
		c := DiffFeed(source, test.known, test.page)
		final := Knowledge{Head: test.page.Head, Message: test.page.Last, Before: test.page.Last}
		if got := names(t, c); !slices.Equal(got, test.want) || c.Final != final || c.More() {
			t.Errorf("%s: %q and %+v, want %q and %+v", name, got, c.Final, test.want, final)
		}
		if c.Missed != (len(test.want) > 0 && test.want[0] == contract.Resync) {
			t.Errorf("%s: missed is %v", name, c.Missed)
		}
	}
}

// FuzzDiffs: an audience that receives the steps of arbitrary reads, with pauses
// between any two of them, never lacks the last state, never receives an unchanged one
// again, and receives every message once and in order.
func FuzzDiffs(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{9, 1, 5, 5, 12, 40, 77, 200, 3, 3, 3, 129})
	stats := tallies(f, 5)
	f.Fuzz(func(t *testing.T, script []byte) {
		poll := pollModel{t: t, stats: stats, source: PollSource("production", "ext", "1", "p"), side: Staff, now: 1000}
		viewers := poll
		viewers.side = Viewers
		feed := feedModel{t: t, source: FeedSource(Audience{Channel: "1"})}
		documents := documentModel{t: t, source: DocumentSources(Audience{Channel: "1"})[0]}
		for _, b := range script {
			action, n := b%4, int(b/4)
			poll.write(action, n)
			viewers.write(action, n)
			feed.write(n)
			documents.version += uint64(n % 3)
			if action > 0 {
				poll.receive(n)
				viewers.receive(n)
				feed.receive(n)
				documents.receive()
			}
		}
		poll.finish()
		viewers.finish()
		feed.finish()
	})
}

// pollModel is a poll, and an audience that received some of its events.
type pollModel struct {
	t      testing.TB
	stats  []*voting.Statistics
	source Source
	side   Sight
	read   voting.Overview
	now    int64
	known  Knowledge

	shown     string // data of the last update
	announced string // data of the last announcement of the poll
	deletions int    // events
	last      string
}

func (m *pollModel) write(action byte, n int) {
	m.now += int64(n % 3)
	m.read.Head++
	if m.read.Statistics == nil {
		m.read.Statistics = m.stats[0]
	}
	switch action {
	case 1:
		m.read.Statistics = m.stats[n%len(m.stats)]
	case 2:
		starts := m.now + int64(n%7) - 4
		m.read.Config = voting.Config{
			Schedule: contract.Schedule{StartsAt: starts, EndsAt: max(starts, m.now+int64(n%5)-2)}, Version: int64(m.read.Head),
			ResultsVisibility: []voting.Visibility{"", voting.VisibleAfterClose, voting.VisibleToStaff}[n%3],
		}
		m.read.Configured = true
	case 3:
		m.read.Resets++
		m.read.Statistics, m.read.Config, m.read.Configured = m.stats[0], voting.Config{}, false
	}
	m.read.Closed = m.read.Closed && action < 2
	if n%3 > 0 { // else the clock of this writer is behind
		m.conclude()
	}
}

// conclude has the log reach the present.
func (m *pollModel) conclude() {
	m.read.Closed = m.read.Closed || m.read.Config.Status(time.Unix(m.now, 0)) == contract.Expired
}

// receive delivers at most some steps of the change, as a sink that is interrupted.
func (m *pollModel) receive(most int) {
	before := m.known
	c := DiffPoll(m.source, m.known, m.read, time.Unix(m.now, 0), m.side)
	steps := c.Steps[:min(len(c.Steps), most%3)]
	for _, s := range steps {
		if s.After == m.known {
			m.t.Fatalf("%s leads nowhere", s.Event.Name)
		}
		m.known = s.After
		if data := s.Event.Name + string(s.Event.Data); strings.HasPrefix(s.Event.Name, contract.VoteUpdate) {
			if data == m.shown && m.known.Ended == before.Ended && m.known.Resets == before.Resets && m.last == contract.VoteUpdate {
				m.t.Fatalf("%s comes again unchanged", data)
			}
			m.shown, m.last = data, contract.VoteUpdate
		} else if strings.HasPrefix(s.Event.Name, contract.PollUpdate) {
			if data == m.announced {
				m.t.Fatalf("%s comes again unchanged", data)
			}
			m.announced, m.last = data, contract.PollUpdate
		} else {
			m.announced = ""
			m.deletions++
			m.last = contract.VoteDelete
		}
	}
	if len(c.Steps) == 0 {
		m.known = c.Final
	}
}

func (m *pollModel) finish() {
	if m.read.Statistics == nil {
		return
	}
	m.conclude()
	for range 3 {
		m.receive(2)
	}
	status := m.read.Config.Status(time.Unix(m.now, 0))
	read := m.read
	if m.side == Viewers {
		read = read.ForViewers(status)
	}
	want := string(pollData("p", read.Statistics, status))
	statsOf := func(data string) string { stats, _, _ := strings.Cut(data, `,"status"`); return stats }
	if m.shown != "" && statsOf(m.shown) != statsOf(contract.VoteUpdate+"p"+want) && !read.Statistics.Empty() || m.shown == "" && !read.Statistics.Empty() {
		m.t.Fatalf("in the end %s is shown, the poll is %s", m.shown, want)
	}
	if announced := string(read.Config.View("p", status).JSON()); read.Configured && m.announced != contract.PollUpdate+"p"+announced {
		m.t.Fatalf("in the end %s is announced, the poll is %s", m.announced, announced)
	}
	if m.read.Resets > 0 && m.deletions == 0 {
		m.t.Fatal("no deletion was received")
	}
	if m.known.IsDue(time.Unix(m.now, 0)) {
		m.t.Fatal("the end is due still")
	}
	if c := DiffPoll(m.source, m.known, m.read, time.Unix(m.now, 0), m.side); len(c.Steps) > 0 || c.Final != m.known {
		m.t.Fatalf("nothing has changed, but %q comes", names(m.t, c))
	}
}

// feedModel is a feed that keeps its newest messages, and an audience.
type feedModel struct {
	t        testing.TB
	source   Source
	last     uint64
	known    Knowledge
	received uint64 // number of the last message, or the last one that a resync stands for
}

const keptByModel = 8

func (m *feedModel) write(n int) { m.last += uint64(n % 6) }

func (m *feedModel) receive(most int) {
	first := uint64(1)
	if m.last > keptByModel {
		first = m.last - keptByModel + 1
	}
	c := DiffFeed(m.source, m.known, page(max(first, m.known.Message+1), m.last, m.last))
	steps := c.Steps[:min(len(c.Steps), most)]
	for i, s := range steps {
		switch {
		case s.Event.Name == contract.Resync && i == 0 && first > m.received+1:
			m.received = first - 1
		case s.Event.Message == m.received+1:
			m.received++
		default:
			m.t.Fatalf("after message %d comes %s", m.received, s.Event.Name)
		}
		m.known = s.After
	}
	if len(c.Steps) == 0 {
		m.known = c.Final
	}
	if m.known.Message != m.received {
		m.t.Fatalf("message %d counts as received, not %d", m.known.Message, m.received)
	}
}

func (m *feedModel) finish() {
	m.receive(keptByModel + 1)
	if m.received != m.last {
		m.t.Fatalf("message %d is the last received of %d", m.received, m.last)
	}
}

// documentModel is a document, and an audience.
type documentModel struct {
	t       testing.TB
	source  Source
	version uint64
	known   Knowledge
}

func (m *documentModel) receive() {
	c := DiffDocument(m.source, m.known, document.Document{Version: m.version, Body: []byte("{}")})
	if (len(c.Steps) == 1) != (m.version != m.known.Head) {
		m.t.Fatalf("%d events from version %d to %d", len(c.Steps), m.known.Head, m.version)
	}
	m.known = c.Final
}
