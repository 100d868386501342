package key_test

import (
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
)

// stored holds names as stores have them: they may not change.
var stored = map[string]key.Name{
	"poll/production/ext/channel/1/launch":    {Kind: key.Poll, Environment: "production", Extension: "ext", Scope: key.Channel, Channel: "1", ID: "launch"},
	"poll/sandbox/ext/global/global%20a%2Fb":  {Kind: key.Poll, Environment: "sandbox", Extension: "ext", Scope: key.Global, ID: "global a/b"},
	"poll/production/ext/channel//":           {Kind: key.Poll, Environment: "production", Extension: "ext", Scope: key.Channel},
	"rank/production/ext/channel/1/q%C3%A4":   {Kind: key.Question, Environment: "production", Extension: "ext", Scope: key.Channel, Channel: "1", ID: "qä"},
	"rank/production/ext/global/globalq":      {Kind: key.Question, Environment: "production", Extension: "ext", Scope: key.Global, ID: "globalq"},
	"buffer/production/ext/global":            {Kind: key.Buffer, Environment: "production", Extension: "ext", ID: "global"},
	"message/production/ext/channel/1":        {Kind: key.Feed, Environment: "production", Extension: "ext", Scope: key.Channel, Channel: "1"},
	"message/production/ext/whispers/1":       {Kind: key.Feed, Environment: "production", Extension: "ext", Scope: key.Whispers, Channel: "1"},
	"message/production/ext/global":           {Kind: key.Feed, Environment: "production", Extension: "ext", Scope: key.Global},
	"document/production/ext/state/extension": {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ExtensionState},
	"document/production/ext/state/channel/1": {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ChannelState, Channel: "1"},
	"document/production/ext/state/viewer/1/U%FF": {
		Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ViewerState, Channel: "1", ID: "U\xff",
	},
	"document/production/ext/state/extension_viewer/42": {
		Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ExtensionViewerState, ID: "42",
	},
	"document/production/ext/state/extension_hidden": {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ExtensionHiddenState},
	"document/production/ext/config/extension":       {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ExtensionConfig},
	"document/production/ext/config/channel/1":       {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ChannelConfig, Channel: "1"},
	"message/production/ext/games/1":                 {Kind: key.Feed, Environment: "production", Extension: "ext", Scope: key.Games, Channel: "1"},
	"roster/production/ext/users":                    {Kind: key.Roster, Environment: "production", Extension: "ext", ID: "users"},
	"document/production/ext/store/channel/1/a":      {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.NamedStore, Channel: "1", ID: "a"},
	"document/production/ext/store/count/1":          {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.NamedStoreCount, Channel: "1"},
	"document/production/ext/pairing/channel/1":      {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ChannelPairing, Channel: "1"},
	"document/production/ext/pairing/open":           {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.OpenPairings},
	"document/production/ext/pairing/game/X":         {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.GamePairing, ID: "X"},
	"document/production/ext/pairing/pin/X":          {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.PinIndex, ID: "X"},
	"document/production/ext/pairing/overlay/1":      {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.OverlayKeys, Channel: "1"},
	"document/production/ext/pairing/staff/1":        {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.StaffKeys, Channel: "1"},
	"document/production/ext/purchase/coins/1/5": {
		Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.CoinBalance, Channel: "1", ID: "5",
	},
	"document/production/ext/purchase/receipt/t": {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.PurchaseReceipt, ID: "t"},
	"document/production/ext/match/index":        {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.Matches},
	"document/production/ext/match/channels/X":   {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.Match, ID: "X"},
	"document/production/ext/picture/list/1":     {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.Pictures, Channel: "1"},
	"document/production/ext/picture/image/1/X":  {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.Picture, Channel: "1", ID: "X"},
	"document/production/ext/visualization":      {Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.Visualization},
	"erased/sandbox/ext/ABC":                     {Kind: key.Erased, Environment: "sandbox", Extension: "ext", ID: "ABC"},
	"erasure/production/ext/ABC":                 {Kind: key.Erasure, Environment: "production", Extension: "ext", ID: "ABC"},
	"sink/production/ext/s/webhook/at/poll/production/ext/channel/1/a%20b": {
		Kind: key.Sink, Environment: "production", Extension: "ext", Sink: "s", Transport: "webhook",
		Scope: key.Position, ID: "poll/production/ext/channel/1/a%20b",
	},
	"sink/production/ext/s/pubsub/lane/channel-1%2Fx": {
		Kind: key.Sink, Environment: "production", Extension: "ext", Sink: "s", Transport: "pubsub", Scope: key.Lease, ID: "channel-1/x",
	},
}

func TestNames(t *testing.T) {
	for text, name := range stored {
		if got := name.String(); got != text {
			t.Errorf("%+v is stored as %q, want %q", name, got, text)
		}
		if got, err := key.Parse(text); err != nil || got != name {
			t.Errorf("%q is parsed as %+v, %v, want %+v", text, got, err, name)
		}
		if got := key.KindOf(text); got != name.Kind {
			t.Errorf("the kind of %q is %q", text, got)
		}
		if !strings.HasPrefix(text, key.Prefix(name.Kind, name.Environment, name.Extension)) {
			t.Errorf("%q does not begin with the prefix of its kind, environment and extension", text)
		}
		if name.Kind == key.Sink {
			continue
		}
		if got, err := key.Split(text); err != nil || strings.Join(got, " ") != strings.Join(name.Elements(), " ") {
			t.Errorf("the elements of %q are %q, want %q", text, name.Elements(), got)
		}
	}
}

func TestPrefixes(t *testing.T) {
	poll := key.Name{Kind: key.Poll, Environment: "production", Extension: "e/x", Scope: key.Channel, Channel: "1", ID: "a"}
	global := key.Name{Kind: key.Poll, Environment: "production", Extension: "e/x", Scope: key.Global, ID: "global"}
	feed := key.Name{Kind: key.Feed, Environment: "production", Extension: "e/x", Scope: key.Channel, Channel: "1"}
	for want, got := range map[string]string{
		"poll/":                             key.Prefix(key.Poll),
		"poll/production/":                  key.Prefix(key.Poll, "production"),
		"poll/production/e%2Fx/":            key.Prefix(key.Poll, "production", "e/x"),
		"document/production/x/state/":      key.Prefix(key.Document, "production", "x", "state"),
		"poll/production/e%2Fx/channel/1/":  poll.Siblings(),
		"poll/production/e%2Fx/global/":     global.Siblings(),
		"message/production/e%2Fx/channel/": feed.Siblings(),
	} {
		if got != want {
			t.Errorf("got the prefix %q, want %q", got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "poll", "poll/", "other/production/ext/global/a",
		"poll/production/ext/global", "poll/production/ext/global/a/b", "poll/production/ext/channel/1", "poll/production/ext/viewer/1/a",
		"buffer/production/ext", "buffer/production/ext/a/b", "message/production/ext/global/", "message/production/ext/channel",
		"document/production/ext/state", "document/production/ext/state/viewer/1", "document/production/ext/visualization/1",
		"document/production/ext/state%2Fextension", "document/production/ext/other/extension", "poll/production/ext/global/%zz",
		"sink/production/ext/s/webhook", "sink/production/ext/s/webhook/at", "sink/production/ext/s/webhook/other/a",
	} {
		if got, err := key.Parse(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, got)
		}
	}
	// An erasure has to find a document whatever escapes its name has.
	if got, err := key.Parse("document/production/ext/state/extension_viewer/%342"); err != nil || got.ID != "42" {
		t.Errorf("escapes that are not needed are parsed as %+v, %v", got, err)
	}
}

// FuzzParse: what is parsed is formatted as a name of the same identity.
func FuzzParse(f *testing.F) {
	for text := range stored {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := key.Parse(text)
		if err != nil {
			return
		}
		if again, err := key.Parse(name.String()); err != nil || again != name {
			t.Errorf("%q is %+v, and its name %q is %+v, %v", text, name, name.String(), again, err)
		}
	})
}

func BenchmarkName(b *testing.B) {
	name := key.Name{Kind: key.Poll, Environment: "production", Extension: "sample-extension", Scope: key.Channel, Channel: "12345678", ID: "launch"}
	text := name.String()
	b.Run("String", func(b *testing.B) {
		for b.Loop() {
			if name.String() == "" {
				b.Fatal("no name")
			}
		}
	})
	b.Run("Join", func(b *testing.B) {
		for b.Loop() {
			if key.Join(name.Kind, name.Environment, name.Extension, "channel", name.Channel, name.ID) == "" {
				b.Fatal("no name")
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := key.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
