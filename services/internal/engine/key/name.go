package key

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The kinds of names: what a stream or a document holds.
const (
	Poll     = "poll"
	Question = "rank"
	Buffer   = "buffer"
	Feed     = "message"
	Document = "document" // state, configuration and secrets of an extension
	Erasure  = "erasure"  // intent records of unfinished erasures
	Erased   = "erased"   // records of finished erasures, which backups carry
	Sink     = "sink"     // positions and leases of sinks
	Roster   = "roster"   // the viewers that share their user id with an extension
	Log      = "log"      // signed results of polls, of all extensions
)

// RestoreClaim is the key of the document that names the restore which an empty store was
// claimed for. It belongs to no extension, and Parse does not read it.
const RestoreClaim = "restore/claim"

// ResultLog is the name of the stream of signed results. It belongs to no extension, so that no
// export, backup, erasure or purge has it, and Parse does not read it.
const ResultLog = Log + "/results"

// RestoreImported begins the keys of the documents that name, by client id, the backup from
// which a restore has imported an extension. Parse does not read them.
const RestoreImported = "restore/imported"

// Scope is the part of an extension that a stream or a document belongs to. A name
// holds its value between the extension and the fields of the scope.
type Scope string

// The scopes of polls, questions and feeds. Names of buffers and intent records
// have none: they belong to the extension.
const (
	Global  Scope = "global"
	Channel Scope = "channel"
	// Whispers are the messages to single viewers of a channel.
	Whispers Scope = "whispers"
	// Games are the messages to the games in a channel.
	Games Scope = "games"
)

// The scopes of documents.
const (
	ExtensionState       Scope = "state/extension"
	ChannelState         Scope = "state/channel"
	ViewerState          Scope = "state/viewer" // one viewer in one channel
	ExtensionViewerState Scope = "state/extension_viewer"
	ExtensionHiddenState Scope = "state/extension_hidden" // only backends and owners see it
	ExtensionConfig      Scope = "config/extension"
	ChannelConfig        Scope = "config/channel"
	Visualization        Scope = "visualization" // the secret of visualization ids
	NamedStore           Scope = "store/channel" // one of the named documents of a channel
	NamedStoreCount      Scope = "store/count"   // the number of these
	ChannelPairing       Scope = "pairing/channel"
	OpenPairings         Scope = "pairing/open"     // PINs that games show
	GamePairing          Scope = "pairing/game"     // one that a broadcaster has confirmed
	PinIndex             Scope = "pairing/pin"      // the channel of a PIN
	OverlayKeys          Scope = "pairing/overlay"  // those of a channel
	StaffKeys            Scope = "pairing/staff"    // those of a channel
	OpenPurchases        Scope = "purchase/channel" // the ids of those of a channel
	OpenPurchase         Scope = "purchase/open"    // one, and the lists of their ids
	PurchaseReceipt      Scope = "purchase/receipt" // one purchase, by the platform's id
	CoinBalance          Scope = "purchase/coins"   // of one viewer in one channel
	Matches              Scope = "match/index"      // the ids of those of an extension
	Match                Scope = "match/channels"   // the channels and polls of one
	Pictures             Scope = "picture/list"     // those of a channel
	Picture              Scope = "picture/image"    // one of them
)

// The scopes of a sink's documents.
const (
	// Position has as ID the name of the stream or document whose delivery it
	// records, unescaped.
	Position Scope = "at"
	Lease    Scope = "lane" // its ID is that of a queue
)

// Name is the identity of a stream or a document. Kind and Scope decide which of
// the other fields a name has; all others are empty.
type Name struct {
	Kind, Environment, Extension string

	Sink, Transport string // of a sink's documents

	Scope   Scope
	Channel string // of the scopes of channels and of ViewerState
	ID      string // of the poll, question, buffer, viewer, intent record, ...
}

// fields are those that a name has after its scope.
type fields uint8

const (
	withChannel fields = 1 << iota
	withID
	withRawID // unescaped, up to the end of the name
)

// layout returns which fields follow the scope, false when the kind has no such
// scope.
func layout(kind string, scope Scope) (fields, bool) {
	switch kind {
	case Poll, Question:
		switch scope {
		case Global:
			return withID, true
		case Channel:
			return withChannel | withID, true
		}
	case Feed:
		switch scope {
		case Global:
			return 0, true
		case Channel, Whispers, Games:
			return withChannel, true
		}
	case Buffer, Erasure, Erased, Roster:
		return withID, scope == ""
	case Sink:
		switch scope {
		case Position:
			return withRawID, true
		case Lease:
			return withID, true
		}
	case Document:
		return documentLayout(scope)
	}
	return 0, false
}

func documentLayout(scope Scope) (fields, bool) {
	switch scope {
	case ExtensionState, ExtensionHiddenState, ExtensionConfig, Visualization, OpenPairings, Matches:
		return 0, true
	case ChannelState, ChannelConfig, NamedStoreCount, ChannelPairing, OverlayKeys, StaffKeys, OpenPurchases, Pictures:
		return withChannel, true
	case ViewerState, NamedStore, OpenPurchase, CoinBalance, Picture:
		return withChannel | withID, true
	case ExtensionViewerState, GamePairing, PinIndex, PurchaseReceipt, Match:
		return withID, true
	}
	return 0, false
}

// String returns the name as it is stored. It panics when the kind has no such
// scope: the name could not be parsed.
func (n Name) String() string {
	var buf [128]byte
	return string(n.append(buf[:0]))
}

func (n Name) append(buf []byte) []byte {
	has, ok := layout(n.Kind, n.Scope)
	if !ok {
		panic("key: " + n.Kind + " has no scope " + string(n.Scope))
	}
	buf = append(buf, url.PathEscape(n.Kind)...)
	buf = appendElement(buf, n.Environment)
	buf = appendElement(buf, n.Extension)
	if n.Kind == Sink {
		buf = appendElement(buf, n.Sink)
		buf = appendElement(buf, n.Transport)
	}
	if n.Scope != "" {
		buf = append(append(buf, '/'), n.Scope...)
	}
	if has&withChannel != 0 {
		buf = appendElement(buf, n.Channel)
	}
	switch {
	case has&withID != 0:
		buf = appendElement(buf, n.ID)
	case has&withRawID != 0:
		buf = append(append(buf, '/'), n.ID...)
	}
	return buf
}

func appendElement(buf []byte, element string) []byte {
	return append(append(buf, '/'), url.PathEscape(element)...)
}

// Siblings returns the prefix of the names that differ from n in the last element
// only, which the others may follow with further ones: for a poll, all polls of
// its channel, or all global ones.
func (n Name) Siblings() string {
	name := n.String()
	return name[:strings.LastIndexByte(name, '/')+1]
}

// Prefix returns the prefix of all names of a kind or, with an environment and an
// extension, of those within it. Elements of the scope may follow.
func Prefix(kind string, within ...string) string {
	var buf [128]byte
	prefix := append(buf[:0], url.PathEscape(kind)...)
	for _, element := range within {
		prefix = appendElement(prefix, element)
	}
	return string(append(prefix, '/'))
}

// KindOf returns the kind of a name, which may be one that Parse does not know.
func KindOf(name string) string {
	kind, _, _ := strings.Cut(name, "/")
	return kind
}

var errElements = errors.New("the elements do not fit the kind")

// ParseExact returns the Name that String formats as name.
func ParseExact(name string) (Name, error) {
	n, err := Parse(name)
	if err == nil && n.String() != name {
		return Name{}, fmt.Errorf("%q is not the name of a stream or a document: it has needless escapes", name)
	}
	return n, err
}

// Parse is ParseExact that also accepts escapes that String does not use.
func Parse(name string) (Name, error) {
	r := reader{rest: name, more: true}
	n, err := r.name()
	if err != nil {
		return Name{}, fmt.Errorf("%q is not the name of a stream or a document: %w", name, err)
	}
	return n, nil
}

func (r *reader) name() (n Name, err error) {
	n.Kind, n.Environment, n.Extension = r.element(), r.element(), r.element()
	if n.Kind == Sink {
		n.Sink, n.Transport = r.element(), r.element()
	}
	switch n.Kind {
	case Buffer, Erasure, Erased, Roster:
	case Document:
		n.Scope = r.documentScope()
	default:
		n.Scope = Scope(r.element())
	}
	has, ok := layout(n.Kind, n.Scope)
	if !ok {
		return n, errElements
	}
	r.fields(&n, has)
	if r.err == nil && (r.missing || r.more) {
		r.err = errElements
	}
	return n, r.err
}

// fields takes the elements that follow the scope.
func (r *reader) fields(n *Name, has fields) {
	if has&withChannel != 0 {
		n.Channel = r.element()
	}
	switch {
	case has&withID != 0:
		n.ID = r.element()
	case has&withRawID != 0:
		n.ID, r.missing, r.rest, r.more = r.rest, r.missing || !r.more, "", false
	}
}

// reader takes the elements of a name one by one.
type reader struct {
	rest    string
	more    bool // rest holds an element, maybe an empty one
	missing bool // more elements were taken than there are
	err     error
}

func (r *reader) element() string {
	if !r.more {
		r.missing = true
		return ""
	}
	var escaped string
	escaped, r.rest, r.more = strings.Cut(r.rest, "/")
	element, err := url.PathUnescape(escaped)
	if err != nil && r.err == nil {
		r.err = err
	}
	return element
}

// documentScope takes the one or two elements of a document's scope.
func (r *reader) documentScope() Scope {
	first := r.element()
	if Scope(first) == Visualization {
		return Visualization
	}
	scope := Scope(first + "/" + r.element())
	if _, ok := documentLayout(scope); ok {
		return scope
	}
	return Scope(first)
}

// Elements returns the elements of the name, unescaped, in order.
func (n Name) Elements() []string {
	has, _ := layout(n.Kind, n.Scope)
	elements := []string{n.Kind, n.Environment, n.Extension}
	if n.Kind == Sink {
		elements = append(elements, n.Sink, n.Transport)
	}
	if n.Scope != "" {
		elements = append(elements, strings.Split(string(n.Scope), "/")...)
	}
	if has&withChannel != 0 {
		elements = append(elements, n.Channel)
	}
	if has&(withID|withRawID) != 0 {
		elements = append(elements, n.ID)
	}
	return elements
}
