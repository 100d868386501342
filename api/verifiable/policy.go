package verifiable

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// algorithmCosignature is the type of an Ed25519 cosignature of a checkpoint.
const algorithmCosignature = 4

// Policy names witnesses and how many of them have to confirm a checkpoint (c2sp.org/tlog-policy).
type Policy struct {
	witnesses map[string]*witness
	groups    map[string]policyGroup
	quorum    string
}

type policyGroup struct {
	least   int
	members []string
}

const noQuorum = "none"

// ParsePolicy decodes a policy. It ignores the logs that it names: a checker has the log's key.
func ParsePolicy(text string) (*Policy, error) {
	p := &Policy{witnesses: map[string]*witness{}, groups: map[string]policyGroup{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := p.parseLine(words); err != nil {
			return nil, fmt.Errorf("policy, %q: %w", strings.TrimSpace(line), err)
		}
	}
	if p.quorum == "" {
		return nil, errors.New("policy: it has no quorum")
	}
	return p, nil
}

func (p *Policy) parseLine(words []string) error {
	switch {
	case words[0] == "log" && len(words) >= 2:
		return nil
	case words[0] == "witness" && (len(words) == 3 || len(words) == 4):
		return p.parseWitness(words[1], words[2], words[3:])
	case words[0] == "group" && len(words) >= 4:
		return p.parseGroup(words[1], words[2], words[3:])
	case words[0] == "quorum" && len(words) == 2 && p.quorum == "" && p.knows(words[1]):
		p.quorum = words[1]
		return nil
	}
	return errors.New("the line has no meaning, or a name in it is unknown")
}

func (p *Policy) parseWitness(name, vkey string, address []string) error {
	w, err := parseWitness(vkey)
	if err != nil {
		return err
	}
	for _, known := range p.witnesses {
		if known.public.Equal(w.public) {
			return errors.New("two witnesses have one key")
		}
	}
	if p.knows(name) {
		return errors.New("the name is used before")
	}
	w.address = strings.Join(address, "")
	p.witnesses[name] = w
	return nil
}

func (p *Policy) knows(name string) bool {
	_, isGroup := p.groups[name]
	return p.witnesses[name] != nil || isGroup || name == noQuorum
}

func (p *Policy) parseGroup(name, least string, members []string) error {
	g := policyGroup{members: members}
	switch least {
	case "any":
		g.least = 1
	case "all":
		g.least = len(members)
	default:
		n, err := strconv.Atoi(least)
		if err != nil || n < 1 || n > len(members) {
			return errors.New("the number of members is out of range")
		}
		g.least = n
	}
	for i, m := range members {
		if !p.knows(m) || m == noQuorum || slices.Contains(members[:i], m) {
			return fmt.Errorf("the member %q is unknown or doubled", m)
		}
	}
	if p.knows(name) {
		return errors.New("the name is used before")
	}
	p.groups[name] = g
	return nil
}

// asksWitnesses reports whether the policy needs a cosignature.
func (p *Policy) asksWitnesses() bool { return p.quorum != noQuorum }

// Accepts reports whether the quorum has cosigned a checkpoint.
func (p *Policy) Accepts(checkpoint []byte) bool {
	var verifiers []note.Verifier
	for _, v := range p.witnesses {
		verifiers = append(verifiers, v)
	}
	n, err := note.Open(checkpoint, note.VerifierList(verifiers...))
	if err != nil {
		return false
	}
	signed := map[string]bool{}
	for name, v := range p.witnesses {
		signed[name] = slices.ContainsFunc(n.Sigs, func(s note.Signature) bool { return s.Name == v.Name() && s.Hash == v.KeyHash() })
	}
	return p.holds(p.quorum, signed)
}

func (p *Policy) holds(name string, signed map[string]bool) bool {
	g, isGroup := p.groups[name]
	if !isGroup {
		return signed[name]
	}
	n := 0
	for _, m := range g.members {
		if p.holds(m, signed) {
			n++
		}
	}
	return n >= g.least
}

// witness verifies cosignatures. It implements [note.Verifier].
type witness struct {
	name    string
	hash    uint32
	public  ed25519.PublicKey
	address string // in the policy, "" for none
}

func parseWitness(vkey string) (*witness, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 || parts[0] == "" {
		return nil, errors.New("the verifier key is malformed")
	}
	data, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(data) != 1+ed25519.PublicKeySize || data[0] != algorithmCosignature {
		return nil, errors.New("the verifier key is not one of Ed25519 cosignatures")
	}
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), data...))
	w := &witness{name: parts[0], hash: binary.BigEndian.Uint32(sum[:]), public: data[1:]}
	if parts[1] != fmt.Sprintf("%08x", w.hash) {
		return nil, errors.New("the verifier key does not match its digest")
	}
	return w, nil
}

// Name implements [note.Verifier].
func (w *witness) Name() string { return w.name }

// KeyHash implements [note.Verifier].
func (w *witness) KeyHash() uint32 { return w.hash }

// Verify implements [note.Verifier].
func (w *witness) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(w.public, []byte(signed), sig[8:])
}
