// Package pairing is the domain of the credentials that a streamer gives away and revokes.
// Games have PINs, which a streamer takes from one screen to another, and the refresh tokens
// that a game gets for one. Broadcast software has overlay keys.
//
// All that belongs to a channel is one document, so that every use of a credential is one
// edit: a PIN works once, and a refresh token is replaced with each use. Secrets are stored
// as hashes. Tokens (JWTs) are not stored: each names the family that it hangs on, and a
// family that has ended refuses them.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other
// domain. It signs nothing.
package pairing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
)

// Terms of credentials.
const (
	PINLifetime     = 5 * time.Minute
	TokenLifetime   = 7 * 24 * time.Hour
	refreshLifetime = 365 * 24 * time.Hour
	// replacedFor is the time for which a refresh token works after its successor was used.
	replacedFor = time.Minute
)

// Bounds of what a channel and an extension hold.
const (
	maxPINs       = 5   // open ones of a channel; a further one replaces the oldest
	maxGames      = 64  // with a refresh token in a channel; likewise
	maxSuccessors = 8   // tokens of one game that may work
	maxOpen       = 512 // PINs that games of an extension show; likewise
	maxBytes      = 1 << 20
)

// Owner is an extension in one environment.
type Owner struct{ Environment, Extension string }

// Channel is a channel of an owner.
type Channel struct {
	Owner
	ID string
}

// Grant holds the rights that a credential gives.
type Grant struct {
	Channel string
	// Role names the role of the token that asked for the PIN.
	Role string
	// Family is the claim of tokens that are issued for the grant.
	Family string
	// Refresh is the next refresh token.
	Refresh string
}

// Service answers for the pairings of a store.
type Service struct{ documents *document.Service }

// NewService returns a service over documents, which its owner closes.
func NewService(documents *document.Service) *Service { return &Service{documents} }

// channelRecord is the document of a channel. Times are Unix milliseconds.
type channelRecord struct {
	// Epoch counts revocations. It is the family of the channel's tokens.
	Epoch uint64       `json:"epoch"`
	PINs  []pinRecord  `json:"pins,omitempty"`
	Games []gameRecord `json:"games,omitempty"`
	// Confirmed holds the end of the last token of a game whose PIN was confirmed.
	Confirmed int64 `json:"confirmed,omitempty"`
}

type pinRecord struct {
	Hash    string `json:"hash"`
	Role    string `json:"role,omitempty"`
	ID      string `json:"id,omitempty"` // of a game that shows it
	Expires int64  `json:"expires"`
}

type gameRecord struct {
	ID     string        `json:"id"`
	Role   string        `json:"role"`
	Tokens []tokenRecord `json:"tokens"` // each the successor of one before it
}

type tokenRecord struct {
	Hash    string `json:"hash"`
	Expires int64  `json:"expires"`
}

func (o Owner) name(scope key.Scope, channel, id string) string {
	return key.Name{Kind: key.Document, Environment: o.Environment, Extension: o.Extension, Scope: scope, Channel: channel, ID: id}.String()
}

func (c Channel) document() string { return c.name(key.ChannelPairing, c.ID, "") }

// edit changes a document of the type T. change may run several times.
func edit[T any](ctx context.Context, s *Service, name string, change func(*T) error) error {
	_, err := s.documents.Edit(ctx, document.Edit{Key: name, MaxBytes: maxBytes, Change: document.ComputeRecord(change)})
	return err
}

func errPIN() error { return fault.New(fault.Invalid, "The PIN is invalid or has expired") }

func errRefresh() error { return fault.New(fault.Invalid, "The refresh token is invalid") }

func errRevoked() error { return fault.New(fault.Unauthenticated, "The pairing has ended") }

// newPIN returns six characters that a person can read aloud.
func newPIN() string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	random := make([]byte, 6)
	_, _ = rand.Read(random) // documented never to fail
	for i, r := range random {
		random[i] = letters[r%32]
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

// ChannelFamily returns the family of a channel's tokens after so many revocations.
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
	return edit(ctx, s, c.document(), func(r *channelRecord) error {
		*r = channelRecord{Epoch: r.Epoch + 1}
		return nil
	})
}

// Resolve returns the channel of a token that names a family, and the channel that is in the
// token. A token of a family that has ended, or that has not begun, is
// fault.Unauthenticated.
func (s *Service) Resolve(ctx context.Context, c Channel, family string) (string, error) {
	if id, ok := strings.CutPrefix(family, "g"); ok {
		confirmed, err := document.ReadRecord[confirmedGame](ctx, s.documents, c.name(key.GamePairing, "", id))
		if err != nil {
			return "", err
		}
		if confirmed.Channel == "" {
			return "", errRevoked()
		}
		c.ID, family = confirmed.Channel, channelFamily(confirmed.Epoch)
	}
	record, err := document.ReadRecord[channelRecord](ctx, s.documents, c.document())
	if err == nil && family != channelFamily(record.Epoch) {
		err = errRevoked()
	}
	return c.ID, err
}

// expire drops what is over.
func (r *channelRecord) expire(now int64) {
	r.PINs = unexpired(r.PINs, now)
	var games []gameRecord
	for _, game := range r.Games {
		var tokens []tokenRecord
		for _, t := range game.Tokens {
			if t.Expires > now {
				tokens = append(tokens, t)
			}
		}
		if game.Tokens = tokens; len(tokens) > 0 {
			games = append(games, game)
		}
	}
	r.Games = games
}

func unexpired(pins []pinRecord, now int64) (kept []pinRecord) {
	for _, p := range pins {
		if p.Expires > now {
			kept = append(kept, p)
		}
	}
	return kept
}
