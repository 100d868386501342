package verifiable

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// algorithmEd25519 is the type of a plain Ed25519 signature of a note.
const algorithmEd25519 = 1

// Key is a log's verifier key. The same key signs the log and the trees of its polls, each under
// its own origin.
type Key struct {
	Origin string
	public ed25519.PublicKey
}

// ParseKey decodes a verifier key in the form of signed notes: origin, digest and key, with + between.
func ParseKey(vkey string) (Key, error) {
	if _, err := note.NewVerifier(vkey); err != nil {
		return Key{}, fmt.Errorf("verifier key: %w", err)
	}
	origin, rest, _ := strings.Cut(vkey, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) != 1+ed25519.PublicKeySize || data[0] != algorithmEd25519 {
		return Key{}, errors.New("verifier key: it is not one of Ed25519")
	}
	k := Key{origin, data[1:]}
	if again, err := k.text(origin); err != nil || again != vkey {
		return Key{}, errors.New("verifier key: it is not in its only form")
	}
	return k, CheckOrigin(origin)
}

// text returns the verifier key under an origin.
func (k Key) text(origin string) (string, error) { return note.NewEd25519VerifierKey(origin, k.public) }

// String returns the verifier key.
func (k Key) String() string {
	text, err := k.text(k.Origin)
	if err != nil {
		return err.Error()
	}
	return text
}

func (k Key) verifier(origin string) (note.Verifier, error) {
	text, err := k.text(origin)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(text)
}

// Keys are the keys that a checker trusts for one log: more than one after a rotation.
type Keys []Key

// ParseKeys decodes the verifier keys of one log.
func ParseKeys(vkeys []string) (Keys, error) {
	keys := make(Keys, len(vkeys))
	for i, text := range vkeys {
		k, err := ParseKey(text)
		if err != nil {
			return nil, err
		}
		if keys[i] = k; k.Origin != keys[0].Origin {
			return nil, errors.New("the keys are of different logs")
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no verifier key")
	}
	return keys, nil
}

// Origin returns the name of the log.
func (ks Keys) Origin() string { return ks[0].Origin }

// Open returns the tree of a checkpoint that one of the keys has signed under an origin.
func (ks Keys) Open(checkpoint []byte, origin string) (tlog.Tree, error) {
	verifiers := make([]note.Verifier, len(ks))
	for i, k := range ks {
		v, err := k.verifier(origin)
		if err != nil {
			return tlog.Tree{}, err
		}
		verifiers[i] = v
	}
	n, err := note.Open(checkpoint, note.VerifierList(verifiers...))
	if err != nil {
		return tlog.Tree{}, err
	}
	return parseCheckpoint(n.Text, origin)
}

// checkpointText returns the signed part of a checkpoint: exactly three lines.
func checkpointText(origin string, t tlog.Tree) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, t.N, t.Hash)
}

func parseCheckpoint(text, origin string) (t tlog.Tree, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) == 4 {
		t.N, err = strconv.ParseInt(lines[1], 10, 64)
		if err == nil {
			t.Hash, err = tlog.ParseHash(lines[2])
		}
	}
	if err != nil || t.N < 0 || checkpointText(origin, t) != text {
		return tlog.Tree{}, errors.New("the note is no checkpoint of this log")
	}
	return t, nil
}

// Signer signs the checkpoints of a log and of its polls' trees. Equal trees get equal bytes.
type Signer struct {
	keys    Keys
	private []ed25519.PrivateKey // of keys
}

// NewSigner returns the signer of a log, whose earlier keys go on signing beside the present one.
func NewSigner(origin string, private ed25519.PrivateKey, earlier ...ed25519.PrivateKey) (*Signer, error) {
	s := &Signer{private: append([]ed25519.PrivateKey{private}, earlier...)}
	for _, private := range s.private {
		public, ok := private.Public().(ed25519.PublicKey)
		if !ok {
			return nil, errors.New("the key is not one of Ed25519")
		}
		s.keys = append(s.keys, Key{origin, public})
	}
	return s, CheckOrigin(origin)
}

// Key returns the present verifier key.
func (s *Signer) Key() Key { return s.keys[0] }

// Keys returns the present verifier key and the earlier ones.
func (s *Signer) Keys() Keys { return s.keys }

// Checkpoint signs a tree under an origin: that of the log, or the [TreeOrigin] of a poll's tree.
func (s *Signer) Checkpoint(origin string, t tlog.Tree) ([]byte, error) {
	signers := make([]note.Signer, len(s.keys))
	for i, k := range s.keys {
		v, err := k.verifier(origin)
		if err != nil {
			return nil, err
		}
		signers[i] = noteSigner{v, s.private[i]}
	}
	return note.Sign(&note.Note{Text: checkpointText(origin, t)}, signers...)
}

// noteSigner signs under a name that is not part of the key.
type noteSigner struct {
	note.Verifier
	private ed25519.PrivateKey
}

// Sign implements [note.Signer].
func (s noteSigner) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.private, text), nil }
