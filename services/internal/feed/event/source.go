package event

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// SourceKind is the kind of a source.
type SourceKind int

// The kinds of sources.
const (
	Poll SourceKind = iota + 1
	Document
	Feed
	Buffer
	Question
)

// sourceType holds the properties that all sources of a kind share.
type sourceType struct {
	stored string // the kind of their names
	load   func(ctx context.Context, stores *Stores, s Source, known Knowledge, now time.Time) (*sourceRead, error)
	// event is the name of the events that only staff receives, to a topic that is the whole name;
	// nameOf is the name of the source with an id. Other types have neither.
	event  string
	nameOf func(environment, extension, channel, id string) key.Name
}

// sourceTypes returns the types by their kinds. The first one is of no source.
func sourceTypes() [Question + 1]sourceType {
	return [...]sourceType{
		Poll:     {stored: key.Poll, load: loadPoll},
		Document: {stored: key.Document, load: loadDocument},
		Feed:     {stored: key.Feed, load: loadFeed},
		Buffer:   {key.Buffer, loadBuffer, contract.Accumulate, bufferName},
		Question: {key.Question, loadQuestion, contract.RankUpdate, questionName},
	}
}

// Source is a poll, a document of state or configuration, a feed of messages, an
// accumulation buffer or a question.
type Source struct {
	Kind     SourceKind
	Audience Audience
	// ID names a poll, a buffer or a question; others have none.
	ID string
	// Whispers reports that the source is a feed of messages to single viewers.
	Whispers bool
	// Games reports that only games receive the source's events: those of a feed of messages
	// to games or of a pairing.
	Games bool
	// Config reports that the source is a document of configuration.
	Config bool
	// Keys reports that only streams of keys receive the source's events: those of the overlay keys
	// or the staff keys of a channel.
	Keys bool
	// pairing reports that the source is a document of pairings.
	pairing bool
	// Name is the name of the stream or the key of the document, as it is stored.
	Name string
}

// PollSource returns the poll with the given id as a channel sees it.
func PollSource(environment, extension, channel, id string) Source {
	p := voting.Poll{Environment: environment, Extension: extension, Channel: channel, ID: id}
	return sourceOf(p.StreamName())
}

// DocumentSources returns the documents of an audience: its state and its configuration.
func DocumentSources(a Audience) []Source {
	return []Source{
		sourceOf(a.keyName(key.Document, key.ExtensionState, key.ChannelState)),
		sourceOf(a.keyName(key.Document, key.ExtensionConfig, key.ChannelConfig)),
	}
}

// UpdateName returns the name of the events about a document.
func (s Source) UpdateName() string {
	switch {
	case s.Keys:
		return keyUpdate
	case s.pairing:
		return PairingUpdate
	case s.Config && s.Audience.Global:
		return contract.ExtensionConfigUpdate
	case s.Config:
		return contract.ChannelConfigUpdate
	case s.Audience.Global:
		return contract.ExtensionStateUpdate
	}
	return contract.ChannelStateUpdate
}

// FeedSource returns the feed of messages to an audience.
func FeedSource(a Audience) Source { return sourceOf(a.keyName(key.Feed, key.Global, key.Channel)) }

// WhisperSource returns the feed of messages to single viewers of a channel.
func WhisperSource(a Audience) Source { return sourceOf(a.keyName(key.Feed, "", key.Whispers)) }

// GameSource returns the feed of messages to the games in a channel.
func GameSource(a Audience) Source {
	name := a.keyName(key.Feed, "", key.Games)
	return Source{Kind: Feed, Audience: a, Games: true, Name: name.String()}
}

// PairingSource returns what the credentials of the games in a channel hang on.
func PairingSource(a Audience) Source {
	name := a.keyName(key.Document, "", key.ChannelPairing)
	return Source{Kind: Document, Audience: a, Games: true, Name: name.String(), pairing: true}
}

// OverlaySource returns what the overlay keys of a channel hang on.
func OverlaySource(a Audience) Source { return keySource(a, key.OverlayKeys) }

// StaffSource returns what the staff keys of a channel hang on.
func StaffSource(a Audience) Source { return keySource(a, key.StaffKeys) }

func keySource(a Audience, scope key.Scope) Source {
	name := a.keyName(key.Document, "", scope)
	return Source{Kind: Document, Audience: a, Keys: true, Name: name.String()}
}

// keyName returns the name of what an audience has of a kind, in one of two scopes.
func (a Audience) keyName(kind string, extension, channel key.Scope) key.Name {
	name := key.Name{Kind: kind, Environment: a.Environment, Extension: a.Extension, Scope: extension}
	if !a.Global {
		name.Scope, name.Channel = channel, a.Channel
	}
	return name
}

// PollStreams returns the prefix of the names of all polls' streams of an audience.
func PollStreams(a Audience) string { return a.keyName(key.Poll, key.Global, key.Channel).Siblings() }

// PollAudiences returns the audiences among whose polls are those that a channel
// sees under ids that begin with prefix.
func PollAudiences(environment, extension, channel, prefix string) (audiences []Audience) {
	one := PollSource(environment, extension, channel, prefix).Audience
	if one.Global || strings.HasPrefix(string(key.Global), prefix) {
		audiences = append(audiences, Audience{Environment: environment, Extension: extension, Global: true})
	}
	if !one.Global {
		audiences = append(audiences, one)
	}
	return audiences
}

// NamedSource returns the source that only a topic with the name of its events stands for,
// such as a buffer. ok is false for any other name.
func NamedSource(environment, extension, channel, name string) (s Source, ok bool) {
	for _, t := range sourceTypes() {
		if id, ok := strings.CutPrefix(name, t.event); ok && t.event != "" && id != "" {
			return sourceOf(t.nameOf(environment, extension, channel, id)), true
		}
	}
	return Source{}, false
}

// ForStaff reports whether only staff receives the source's events.
func (s Source) ForStaff() bool { return sourceTypes()[s.Kind].event != "" }

// StreamPrefixes returns the prefixes of the streams that hold an extension's
// sources.
func StreamPrefixes(environment, extension string) (prefixes []string) {
	for kind, t := range sourceTypes() {
		if kind != 0 && SourceKind(kind) != Document {
			prefixes = append(prefixes, key.Prefix(t.stored, environment, extension))
		}
	}
	return prefixes
}

// DocumentPrefixes returns the prefixes of the keys of the documents of an extension's
// channels that are sources.
func DocumentPrefixes(environment, extension string) (prefixes []string) {
	for _, scope := range []key.Scope{key.ChannelState, key.ChannelConfig} {
		prefixes = append(prefixes, key.Name{Kind: key.Document, Environment: environment, Extension: extension, Scope: scope}.Siblings())
	}
	return prefixes
}

// ParseSource returns the source of a stream's name or a document's key. ok is false
// where no events come from it.
func ParseSource(name string) (s Source, ok bool) {
	parsed, err := key.Parse(name)
	if err != nil {
		return Source{}, false
	}
	s = describe(parsed)
	s.Name = name
	return s, s.Kind != 0
}

func sourceOf(name key.Name) Source {
	s := describe(name)
	s.Name = name.String()
	return s
}

// describe returns a source without its name, without a kind where no events come
// from what the name stands for.
func describe(name key.Name) Source {
	s := Source{
		Audience: Audience{Environment: name.Environment, Extension: name.Extension, Channel: name.Channel},
		ID:       name.ID,
	}
	// Without a scope it belongs to the extension.
	s.Audience.Global = slices.Contains([]key.Scope{"", key.Global, key.ExtensionState, key.ExtensionConfig}, name.Scope)
	for kind, t := range sourceTypes() {
		if t.stored == name.Kind {
			s.Kind = SourceKind(kind)
		}
	}
	s.Whispers = s.Kind == Feed && name.Scope == key.Whispers
	s.Config = s.Kind == Document && (name.Scope == key.ExtensionConfig || name.Scope == key.ChannelConfig)
	switch {
	case s.Kind == Feed && name.Scope == key.Games: // which only games receive
		s.Kind = 0
	case s.Kind == Document && !s.Config && name.Scope != key.ExtensionState && name.Scope != key.ChannelState:
		s.Kind = 0
	}
	return s
}
