// Package pairing is the domain of the credentials that a streamer gives away and revokes.
// Games have PINs, which a streamer takes from one screen to another, and the refresh tokens
// that a game gets for one. Broadcast software has overlay keys.
//
// All that belongs to a channel is one document, so that every use of a credential is one
// edit: a PIN works once, and a refresh token is replaced with each use. Secrets are stored
// as hashes. Tokens (JWTs) are not stored: each names the family and the game that it hangs on,
// and is refused when one of them has ended. What was issued under a signing key ends with it:
// records name the key by its id, and callers say which keys are active.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other
// domain. It signs nothing.
package pairing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Bounds of what the document of a channel holds.
const (
	maxSuccessors = 8   // tokens of one game that may work
	maxConfirmed  = 64  // games whose PIN was confirmed in a channel; a further one replaces the oldest
	maxSpent      = 8   // replaced tokens of one game whose use ends it
	maxEnded      = 256 // games of a channel whose tokens are refused although their term goes on
	maxBytes      = 1 << 20
)

// Owner is an extension in one environment.
type Owner struct{ Environment, Extension string }

// Channel is a channel of an owner.
type Channel struct {
	Owner
	ID string
}

// Grant holds the rights that a credential gives: those of a broadcaster in the channel.
type Grant struct {
	Channel string
	// Server reports that the game may act in all channels. Channel is its own.
	Server bool
	// Key is the id of the signing key that the grant ends with.
	Key string
	// Family and Game are claims of tokens that are issued for the grant.
	Family, Game string
	// Refresh is the next refresh token.
	Refresh string
}

// Request asks for a PIN or a refresh token.
type Request struct {
	// By is the role of the token that asks.
	By string
	// Key is the id of the key that signed that token.
	Key string
	// Server asks for the rights of all channels. The caller has checked that the token has them.
	Server bool
}

// Service answers for the pairings of a store.
type Service struct {
	documents *document.Service
	allRead   func() bool
}

// NewService returns a service over documents, which its owner closes. It makes no staff keys until
// allRead reports that all processes over the store read them; nil is for a store of this process.
func NewService(documents *document.Service, allRead func() bool) *Service {
	return &Service{documents, allRead}
}

// channelRecord is the document of a channel. Times are Unix milliseconds.
type channelRecord struct {
	// Epoch counts revocations. It is the family of the channel's tokens.
	Epoch uint64       `json:"epoch"`
	PINs  []pinRecord  `json:"pins,omitempty"`
	Games []gameRecord `json:"games,omitempty"`
	// Shown are the games that showed a PIN which was confirmed, the oldest first.
	Shown []shownRecord `json:"shown,omitempty"`
	// Ended are games whose tokens are refused.
	Ended []endedRecord `json:"ended,omitempty"`
	// Confirmed holds the end of the last token of a game whose PIN was confirmed.
	Confirmed int64 `json:"confirmed,omitempty"`
}

// pinRecord is an open PIN. A PIN of an earlier version has no key, and a role that gave the
// rights of all channels.
type pinRecord struct {
	Hash    string `json:"hash"`
	Role    string `json:"role,omitempty"`
	Server  bool   `json:"server,omitempty"`
	Key     string `json:"key,omitempty"`
	ID      string `json:"id,omitempty"`   // of a game that shows it
	From    string `json:"from,omitempty"` // a hash of the address that asked for it
	Expires int64  `json:"expires"`
}

// gameRecord is a game with a refresh token. One of an earlier version has no key.
type gameRecord struct {
	ID      string        `json:"id"`
	Role    string        `json:"role"`
	Server  bool          `json:"server,omitempty"`
	Key     string        `json:"key,omitempty"`
	Created int64         `json:"created,omitempty"`
	Used    int64         `json:"used,omitempty"`
	Tokens  []tokenRecord `json:"tokens"`          // each the successor of one before it
	Spent   []string      `json:"spent,omitempty"` // hashes of replaced tokens, the oldest first
}

type tokenRecord struct {
	Hash    string `json:"hash"`
	Expires int64  `json:"expires"`
	// Replaced reports that the game has used a successor.
	Replaced bool `json:"replaced,omitempty"`
}

type shownRecord struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Expires int64  `json:"expires"` // of its token
}

type endedRecord struct {
	ID      string `json:"id"`
	Expires int64  `json:"expires"` // when its last token is over
}

func (o Owner) name(scope key.Scope, channel, id string) string {
	return key.Name{Kind: key.Document, Environment: o.Environment, Extension: o.Extension, Scope: scope, Channel: channel, ID: id}.String()
}

func (c Channel) document() string { return c.name(key.ChannelPairing, c.ID, "") }

// edit changes a document of the type T. change may run several times.
func edit[T any](ctx context.Context, s *Service, name string, change func(*T) error) error {
	_, err := s.documents.Edit(ctx, newEdit(name, change))
	return err
}

func newEdit[T any](name string, change func(*T) error) document.Edit {
	return document.Edit{Key: name, MaxBytes: maxBytes, Change: document.ComputeRecord(change)}
}

func errPIN() error { return fault.New(fault.Invalid, "The PIN is invalid or has expired") }

func errRefresh() error { return fault.New(fault.Invalid, "The refresh token is invalid") }

func errRevoked() error { return fault.New(fault.Unauthenticated, "The pairing has ended") }

// newPIN returns six characters that a person can read aloud.
func newPIN() string {
	random := make([]byte, contract.PINLength)
	_, _ = rand.Read(random) // documented never to fail
	for i, r := range random {
		random[i] = contract.PINLetters[int(r)%len(contract.PINLetters)]
	}
	return string(random)
}

// hash returns the form in which a secret of the owner is stored.
func (o Owner) hash(secret string) string {
	sum := sha256.Sum256([]byte(o.Environment + "\x00" + o.Extension + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

// hashPIN accepts a PIN as it was typed.
func (o Owner) hashPIN(pin string) string { return o.hash(strings.ToUpper(strings.TrimSpace(pin))) }

// channelFamily returns the family of a channel's tokens after so many revocations.
func channelFamily(epoch uint64) string { return "c" + strconv.FormatUint(epoch, 10) }

func gameFamily(id string) string { return "g" + id }

// Exists reports whether a refresh token or a token of a confirmed game is in force.
func (s *Service) Exists(ctx context.Context, c Channel, now time.Time) (bool, error) {
	record, err := document.ReadRecord[channelRecord](ctx, s.documents, c.document())
	record.expire(now.UnixMilli())
	return len(record.Games) > 0 || record.Confirmed > now.UnixMilli(), err
}

// Revoke ends the PINs, the refresh tokens and the tokens of a channel.
func (s *Service) Revoke(ctx context.Context, c Channel) error {
	return s.editPINs(ctx, c, func(r *channelRecord) error {
		*r = channelRecord{Epoch: r.Epoch + 1}
		return nil
	})
}

// Token names what a token hangs on: the claims Family and Game, the latter empty in tokens of
// earlier versions and of games that show their PIN.
type Token struct{ Family, Game string }

// Resolve returns the channel of a token, which is that in the token unless a broadcaster has
// confirmed the game's PIN. keys are the ids of the active keys. A token of a family or a game
// that has ended, or that has not begun, is fault.Unauthenticated.
func (s *Service) Resolve(ctx context.Context, c Channel, t Token, keys []string) (string, error) {
	if id, ok := strings.CutPrefix(t.Family, "g"); ok {
		confirmed, err := document.ReadRecord[confirmedGame](ctx, s.documents, c.name(key.GamePairing, "", id))
		if err != nil {
			return "", err
		}
		if confirmed.Channel == "" || confirmed.Key != "" && !slices.Contains(keys, confirmed.Key) {
			return "", errRevoked()
		}
		c.ID, t = confirmed.Channel, Token{channelFamily(confirmed.Epoch), id}
	}
	record, err := document.ReadRecord[channelRecord](ctx, s.documents, c.document())
	if err == nil && (t.Family != channelFamily(record.Epoch) || record.hasEnded(t.Game)) {
		err = errRevoked()
	}
	return c.ID, err
}

func (r *channelRecord) hasEnded(game string) bool {
	return slices.ContainsFunc(r.Ended, func(e endedRecord) bool { return e.ID == game })
}

// expire drops what is over, but for PINs: what drops them forgets their index.
func (r *channelRecord) expire(now int64) {
	r.Shown = slices.DeleteFunc(r.Shown, func(s shownRecord) bool { return s.Expires <= now })
	r.Ended = slices.DeleteFunc(r.Ended, func(e endedRecord) bool { return e.Expires <= now })
	var games []gameRecord
	for _, game := range r.Games {
		if game.expire(now); len(game.Tokens) > 0 {
			games = append(games, game)
		}
	}
	r.Games = games
}

// expire drops the tokens that are over, and remembers those that were replaced.
func (g *gameRecord) expire(now int64) {
	var tokens []tokenRecord
	for _, t := range g.Tokens {
		switch {
		case t.Expires > now:
			tokens = append(tokens, t)
		case t.Replaced:
			g.Spent = append(g.Spent[max(len(g.Spent)-maxSpent+1, 0):], t.Hash)
		}
	}
	g.Tokens = tokens
}

func unexpired(pins []pinRecord, now int64) (kept []pinRecord) {
	for _, p := range pins {
		if p.Expires > now {
			kept = append(kept, p)
		}
	}
	return kept
}
