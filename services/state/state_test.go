package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/state"
)

func newService() *state.Service {
	return state.NewService(document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{}))
}

// someone is a caller who has everything.
var someone = state.Caller{Environment: "production", Extension: "ext", Channel: "channel", OpaqueID: "U1", UserID: "1"}

func change(t *testing.T, text string) state.Edit {
	t.Helper()
	parsed, err := document.ParseChange([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return state.Edit{Change: parsed}
}

func write(t *testing.T, s *state.Service, c state.Caller, scope state.Scope, text string) {
	t.Helper()
	if _, err := s.Write(t.Context(), c, scope, change(t, text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *state.Service, c state.Caller, scopes ...state.Scope) []string {
	t.Helper()
	found, err := s.Read(t.Context(), c, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([]string, len(found))
	for i, d := range found {
		bodies[i] = string(d.Body)
	}
	return bodies
}

func wantInvalid(t *testing.T, err error, reason string) {
	t.Helper()
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), reason) {
		t.Errorf("error is %v, want fault.Invalid with %q", err, reason)
	}
}

var allScopes = []state.Scope{
	state.Extension, state.Channel, state.Viewer, state.ExtensionViewer, state.ExtensionConfig, state.ChannelConfig, state.ExtensionHidden,
}

func TestScopesAreApart(t *testing.T) {
	s := newService()
	if diff := cmp.Diff(make([]string, len(allScopes)), read(t, s, someone, allScopes...)); diff != "" {
		t.Errorf("before any write (-want +got):\n%s", diff)
	}
	var want []string
	for i, scope := range allScopes {
		body := fmt.Sprintf(`{"scope":%d}`, i)
		write(t, s, someone, scope, body)
		want = append(want, body)
	}
	if diff := cmp.Diff(want, read(t, s, someone, allScopes...)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// Which documents are the same for two callers that differ in one thing.
func TestWhoSharesWhat(t *testing.T) {
	for name, test := range map[string]struct {
		other  func(*state.Caller)
		shared string // of extension, channel, viewer, extension viewer, extension config, channel config, hidden
	}{
		"nothing different": {func(*state.Caller) {}, "yes yes yes yes yes yes yes"},
		"environment":       {func(c *state.Caller) { c.Environment = "sandbox" }, "no no no no no no no"},
		"extension":         {func(c *state.Caller) { c.Extension = "other" }, "no no no no no no no"},
		"channel":           {func(c *state.Caller) { c.Channel = "other" }, "yes no no yes yes no yes"},
		"opaque id":         {func(c *state.Caller) { c.OpaqueID = "U2" }, "yes yes no yes yes yes yes"},
		"user id":           {func(c *state.Caller) { c.UserID = "2" }, "yes yes yes no yes yes yes"},
		"not shared":        {func(c *state.Caller) { c.UserID = "" }, "yes yes yes no yes yes yes"},
		"no opaque id":      {func(c *state.Caller) { c.OpaqueID = "" }, "yes yes no yes yes yes yes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			for _, scope := range allScopes {
				write(t, s, someone, scope, `{"mine":1}`)
			}
			other := someone
			test.other(&other)
			var shared []string
			for _, body := range read(t, s, other, allScopes...) {
				shared = append(shared, map[string]string{`{"mine":1}`: "yes", "": "no"}[body])
			}
			if got := strings.Join(shared, " "); got != test.shared {
				t.Errorf("shared: %s, want %s", got, test.shared)
			}
		})
	}
}

func TestNamesCannotBeForged(t *testing.T) {
	s := newService()
	write(t, s, state.Caller{Extension: "e", Channel: "a", OpaqueID: "b/c"}, state.Viewer, `{"secret":1}`)
	for _, c := range []state.Caller{
		{Extension: "e", Channel: "a/b", OpaqueID: "c"},
		{Extension: "e", Channel: "a", OpaqueID: "b%2Fc"},
		{Environment: "e", Channel: "a", OpaqueID: "b/c"},
	} {
		if got := read(t, s, c, state.Viewer); got[0] != "" {
			t.Errorf("%+v reads %s", c, got)
		}
	}
}

func TestViewerWithoutOpaqueID(t *testing.T) {
	s := newService()
	shared := state.Caller{Extension: "e", Channel: "c", UserID: "7"}
	write(t, s, shared, state.Viewer, `{"by":"user id"}`)
	if got := read(t, s, shared, state.Viewer); got[0] != `{"by":"user id"}` {
		t.Errorf("viewer state is %s", got)
	}
}

func TestCallerWithoutIdentity(t *testing.T) {
	s := newService()
	nobody := state.Caller{Extension: "e", Channel: "c"}
	write(t, s, nobody, state.Channel, `{"c":1}`)
	got := read(t, s, nobody, state.Viewer, state.Channel, state.ExtensionViewer, state.Extension)
	if diff := cmp.Diff([]string{"", `{"c":1}`, "", ""}, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	for _, scope := range []state.Scope{state.Viewer, state.ExtensionViewer} {
		_, err := s.Write(t.Context(), nobody, scope, change(t, `{}`))
		wantInvalid(t, err, "names no viewer")
	}
}

func TestWriteObeysMatchAndLimit(t *testing.T) {
	s := newService()
	e := change(t, `{"a":1}`)
	e.Match = new(uint64)
	if made, err := s.Write(t.Context(), someone, state.Channel, e); err != nil || made.Version != 1 {
		t.Fatalf("version %d, error %v", made.Version, err)
	}
	if _, err := s.Write(t.Context(), someone, state.Channel, e); fault.KindOf(err) != fault.Mismatch {
		t.Errorf("error is %v, want fault.Mismatch", err)
	}
	e = change(t, `{"b":2}`)
	e.MaxBytes = 12
	if _, err := s.Write(t.Context(), someone, state.Channel, e); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("error is %v, want fault.TooLarge", err)
	}
}

func TestViewersTogether(t *testing.T) {
	s := newService()
	write(t, s, someone, state.ExtensionViewer, `{"old":1}`)
	admin := state.Caller{Environment: "production", Extension: "ext", Channel: "elsewhere"}
	err := s.WriteViewers(t.Context(), admin, map[string]state.Edit{
		"1":  change(t, `[{"op":"test","path":"/old","value":1},{"op":"add","path":"/new","value":2}]`),
		"22": change(t, `{"new":22}`),
		"3":  change(t, `{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.ReadViewers(t.Context(), admin, []string{"22", "4", "1", "3", "1"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for id, d := range found {
		got[id] = string(d.Body)
	}
	want := map[string]string{"1": `{"new":2,"old":1}`, "22": `{"new":22}`, "3": `{}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if own := read(t, s, someone, state.ExtensionViewer); own[0] != want["1"] {
		t.Errorf("the viewer reads %s", own)
	}
}

func TestOneViewerRefusesAll(t *testing.T) {
	s := newService()
	err := s.WriteViewers(t.Context(), someone, map[string]state.Edit{
		"1": change(t, `{"a":1}`), "2": change(t, `[{"op":"remove","path":"/a"}]`), "3": change(t, `{"a":1}`),
	})
	wantInvalid(t, err, `user 2: operation 0 ("remove", path "/a")`)
	if found, err := s.ReadViewers(t.Context(), someone, []string{"1", "2", "3"}); err != nil || len(found) != 0 {
		t.Errorf("stored %v, error %v", found, err)
	}
}

func TestNumberOfViewersIsBounded(t *testing.T) {
	s := newService()
	edits, ids := map[string]state.Edit{}, []string{}
	for i := range contract.MaxViewers {
		ids = append(ids, fmt.Sprint(i))
		edits[ids[i]] = change(t, `{"a":1}`)
	}
	if err := s.WriteViewers(t.Context(), someone, edits); err != nil {
		t.Fatal(err)
	}
	if found, err := s.ReadViewers(t.Context(), someone, ids); err != nil || len(found) != contract.MaxViewers {
		t.Fatalf("%d documents, error %v", len(found), err)
	}
	edits["x"], ids = edits["1"], append(ids, "x")
	wantInvalid(t, s.WriteViewers(t.Context(), someone, edits), "Too many ids specified")
	_, err := s.ReadViewers(t.Context(), someone, ids)
	wantInvalid(t, err, "Too many ids specified")
}

func TestViewerOf(t *testing.T) {
	ids := []string{"U1", "42"}
	for name, want := range map[string]bool{
		"document/production/x/state/viewer/1/U1":           true,
		"document/sandbox/x/state/viewer/1/42":              true,
		"document/production/x/state/viewer/U1/U2":          false, // a channel of that name
		"document/production/x/state/viewer/1/U1/U1":        false,
		"document/production/x/state/extension_viewer/42":   true,
		"document/production/x/state/extension_viewer/421":  false,
		"document/production/x/state/extension":             false,
		"document/production/x/state/channel/42":            false,
		"document/production/x/config/channel/42":           false,
		"document/production/x/config/viewer/1/42":          false,
		"poll/production/x/state/extension_viewer/42":       false,
		"document/production/x/state/extension_viewer/%zz":  false,
		"document/production/x/state/extension_viewer/%342": true, // 42, escaped
	} {
		if got := slices.Contains(ids, state.ViewerOf(name)); got != want {
			t.Errorf("%s belongs to the viewer: %t", name, got)
		}
	}
}
