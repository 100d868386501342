package voting

import (
	"bytes"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

const somePicture = "ECJFpxVllbUoK26I0buVRQ"

// A poll names pictures by their ids, one for each option at most, and its votes stay when they change.
func TestPicturesOfOptions(t *testing.T) {
	p := newPoll()
	pictured := func(pictures ...string) Command {
		return with(func(c *Config) { c.Strict, c.Options, c.Pictures = true, []string{"a", "b"}, pictures })
	}
	for _, test := range []struct {
		pictures []string
		reason   string
	}{
		{[]string{somePicture, somePicture, ""}, errPictures.Error()},
		{[]string{somePicture + "x"}, errPictureID.Error()},
		{[]string{strings.Repeat("/", len(somePicture))}, errPictureID.Error()},
		{[]string{"https://elsewhere.exam"}, errPictureID.Error()},
		{[]string{"", somePicture}, ""},
	} {
		if got := p.do(t, pictured(test.pictures...)); got != test.reason {
			t.Errorf("%q: %q, want %q", test.pictures, got, test.reason)
		}
	}
	p.accept(t, cast(Voter{OpaqueID: "U1"}, 1))
	p.accept(t, pictured(somePicture))
	if p.state.config.QuestionChanged != 0 || p.state.voters.isEmpty() {
		t.Errorf("other pictures change the question: %+v", p.state.config)
	}
	if view := p.state.config.View("p", "active"); len(view.Pictures) != 1 || view.Pictures[0] != somePicture {
		t.Errorf("viewers see the pictures %q", view.Pictures)
	}
	config := *p.state.config
	if got := p.do(t, configureCommand{id: "global-p", config: config}); got != errPictures.Error() {
		t.Errorf("a poll of all channels: %q", got)
	}
}

// While a process of an earlier release is alive, no configuration names pictures: its owner would lose
// them. Any process takes them away.
func TestPicturesWaitForPeers(t *testing.T) {
	s := NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{PeersRead: func(level stream.Level) bool { return level < stream.LevelPictures }})
	defer func() { _ = s.Close(t.Context()) }()
	p, config := Poll{Environment: "production", Extension: "ext", Channel: "1", ID: "p"}, DefaultConfig()
	config.Options = []string{"a"}
	if _, _, err := s.Change(t.Context(), p, Change{Config: config}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Change(t.Context(), p, Change{Patch: []byte(`{"pictures":["` + somePicture + `"]}`)}); err == nil || err.Error() != errPictures.Error() {
		t.Errorf("a patch: %v", err)
	}
	if _, _, err := s.Change(t.Context(), p, Change{Patch: []byte(`{"pictures":[]}`)}); err != nil {
		t.Errorf("a patch without any: %v", err)
	}
	config.Pictures = []string{somePicture}
	if _, _, err := s.Change(t.Context(), p, Change{Config: config}); err == nil || err.Error() != errPictures.Error() {
		t.Errorf("a configuration: %v", err)
	}
}

// What a caller changes in its lists after a configuration was decided on changes nothing that is stored.
func TestDecidedConfigIsACopy(t *testing.T) {
	options, pictures := []string{"a", "b"}, []string{somePicture, ""}
	config := DefaultConfig()
	config.Options, config.Pictures = options, pictures
	p := newPoll()
	decided, err := p.Decide(p.state, p.at, configureCommand{id: "p", config: config})
	if err != nil || !decided.Store {
		t.Fatal(err)
	}
	before := p.AppendEntry(nil, decided.Entry)
	options[1], pictures[0] = "another", ""
	if after := p.AppendEntry(nil, decided.Entry); !bytes.Equal(before, after) {
		t.Errorf("the caller has changed %q to %q", before, after)
	}
}
