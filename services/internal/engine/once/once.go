// Package once recognises repeated requests by the key that their client gives them
// (section 1.4 of the contract). It makes digests of keys and compares them; packages
// stream and document keep them, in the chunk or version that holds the write.
//
// A digest is keyed with a secret that no store has, so that the data of a store does not
// confirm a guess at the identity behind a key, even after that identity was erased.
//
// The package keeps nothing, has no clock, and imports nothing of the project but fault.
package once

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"hash"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Lifetime is the time for which a key is kept, and KeptAtLeast where the room for keys is short:
// commands are refused before a younger one goes.
const (
	Lifetime    = contract.KeyLifetime
	KeptAtLeast = contract.MinKeyLifetime
)

// Owner stands for the scope of keys: an identity, a route and an id.
type Owner [8]byte

// Mark stands for a key and the request that was sent with it.
type Mark struct {
	Owner Owner
	// Key is the digest of the key within the scope of its owner.
	Key [8]byte
	// Request is the digest of the request.
	Request [8]byte
}

// MarkSize is the size of an encoded mark, in bytes.
const MarkSize = 24

// AppendTo appends the encoding of a mark.
func (m Mark) AppendTo(buf []byte) []byte {
	return append(append(append(buf, m.Owner[:]...), m.Key[:]...), m.Request[:]...)
}

// ReadMark reads an encoded mark, which has MarkSize bytes.
func ReadMark(encoded []byte) (m Mark) {
	copy(m.Owner[:], encoded)
	copy(m.Key[:], encoded[8:])
	copy(m.Request[:], encoded[16:])
	return m
}

// ErrReused refuses a request whose key another request had.
var ErrReused error = fault.New(fault.Reused, "The Idempotency-Key was used for another request")

const fullReason = "Too many keys in a short time; nothing was stored"

// ErrFull refuses a request for whose key there is no room; nothing was stored.
var ErrFull error = fault.New(fault.Unavailable, fullReason)

// IsFull reports whether an error is ErrFull, of this process or another one.
func IsFull(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Unavailable && f.Reason == fullReason
}

// Key is the key of one request.
type Key struct {
	// Marks stand for the key under each secret, the newest first. A key is kept by the
	// first and found by any.
	Marks []Mark
	// At is the time of the request in Unix milliseconds.
	At int64
	// Replayed is set if the request repeats one that was stored before. It is valid once
	// the request has succeeded.
	Replayed bool
	// Before is the mark of the request that is repeated and when it was stored, where a
	// document keeps the key.
	Before Kept
}

// Name returns a name for what the request creates: one of its own for each key, and that
// of the first request for its repetitions.
func (k *Key) Name() string {
	if k.Replayed {
		return k.Before.name()
	}
	return Kept{k.Marks[0], k.At}.name()
}

// Find looks a key up. It returns [ErrReused] where another request had the key.
func (k *Key) Find(kept func(Mark) (request [8]byte, ok bool)) (found Mark, ok bool, err error) {
	for _, mark := range k.Marks {
		request, ok := kept(mark)
		if ok && request != mark.Request {
			return mark, true, ErrReused
		}
		if ok {
			return mark, true, nil
		}
	}
	return Mark{}, false, nil
}

// First returns the first key, nil where there is none.
func First(keys []*Key) *Key {
	if len(keys) == 0 {
		return nil
	}
	return keys[0]
}

// Scope makes the keys of one caller, route and id.
type Scope struct {
	at   int64
	macs []hash.Hash // keyed with the secrets
	own  []Owner
}

// NewScope returns the scope that parts name, under each secret, the newest first.
func NewScope(secrets [][]byte, at time.Time, parts ...string) *Scope {
	s := &Scope{at: at.UnixMilli()}
	var name []byte
	for _, part := range parts {
		name = binary.AppendUvarint(name, uint64(len(part)))
		name = append(name, part...)
	}
	for _, secret := range secrets {
		derived := hmac.New(sha256.New, secret)
		derived.Write([]byte("acclaim idempotency key")) // the secret itself signs tokens
		s.macs = append(s.macs, hmac.New(sha256.New, derived.Sum(nil)))
		s.own = append(s.own, Owner(sumOf(s.macs[len(s.macs)-1], "scope", name, nil)))
	}
	return s
}

// sumOf returns the first bytes of a keyed digest.
func sumOf(mac hash.Hash, kind string, scope, text []byte) (sum [8]byte) {
	mac.Reset()
	mac.Write([]byte(kind))
	mac.Write(binary.AppendUvarint(nil, uint64(len(scope))))
	mac.Write(scope)
	mac.Write(text)
	copy(sum[:], mac.Sum(nil))
	return sum
}

// NewKey returns the key of a request.
func (s *Scope) NewKey(key string, request []byte) *Key {
	k := &Key{At: s.at}
	for i, mac := range s.macs {
		k.Marks = append(k.Marks, Mark{
			Owner:   s.own[i],
			Key:     sumOf(mac, "key", s.own[i][:], []byte(key)),
			Request: sumOf(mac, "request", s.own[i][:], request),
		})
	}
	return k
}

// Kept is a mark and when it was stored, in Unix milliseconds.
type Kept struct {
	Mark
	At int64
}

// name returns a name that follows from a mark and its time, so that a key that is used
// again after its lifetime has another one.
func (k Kept) name() string {
	sum := sha256.Sum256(AppendKept(nil, []Kept{k}))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}

// IsExpired reports whether the lifetime of a mark has passed.
func IsExpired(stored, now int64) bool { return stored <= now-Lifetime.Milliseconds() }

// IsOld reports whether a key may go where room is short.
func IsOld(stored, now int64) bool { return stored <= now-KeptAtLeast.Milliseconds() }

const keptSize = MarkSize + 8

var errKept = errors.New("kept keys are cut off")

// AppendKept appends the encoding of kept marks.
func AppendKept(buf []byte, all []Kept) []byte {
	for _, k := range all {
		buf = binary.LittleEndian.AppendUint64(k.AppendTo(buf), uint64(k.At))
	}
	return buf
}

// ReadKept reads what AppendKept wrote.
func ReadKept(encoded []byte) (all []Kept, err error) {
	if len(encoded)%keptSize != 0 {
		return nil, errKept
	}
	for ; len(encoded) > 0; encoded = encoded[keptSize:] {
		all = append(all, Kept{ReadMark(encoded), int64(binary.LittleEndian.Uint64(encoded[MarkSize:]))})
	}
	return all, nil
}
