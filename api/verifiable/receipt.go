package verifiable

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Receipt shows that a vote is recorded. Its three proofs are those of the vote and of its
// configuration in the poll's tree, and of that tree in the log.
type Receipt struct {
	Name  PollName
	Nonce *Nonce // nil until the client adds it
	Vote, Config,
	Poll Proof
}

const receiptHeader = "acclaim-receipt/v1\n"

// MaxReceipt bounds the text of a receipt, in bytes.
const MaxReceipt = 256 << 10

// Text returns the only text of the receipt.
func (r *Receipt) Text() []byte {
	var name []byte
	for _, part := range []string{r.Name.Client, r.Name.Channel, r.Name.Poll} {
		name = appendBlock(name, []byte(part))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sname %s\n", receiptHeader, base64.StdEncoding.EncodeToString(name))
	if r.Nonce != nil {
		fmt.Fprintf(&b, "nonce %s\n", base64.StdEncoding.EncodeToString(r.Nonce[:]))
	}
	for _, part := range r.parts() {
		fmt.Fprintf(&b, "--- %s\n%s", part.name, part.proof.Text())
	}
	return b.Bytes()
}

type receiptPart struct {
	name  string
	proof *Proof
}

func (r *Receipt) parts() []receiptPart {
	return []receiptPart{{"vote", &r.Vote}, {"config", &r.Config}, {"poll", &r.Poll}}
}

// ParseReceipt decodes what [Receipt.Text] writes, and nothing else.
func ParseReceipt(text []byte) (*Receipt, error) {
	if len(text) > MaxReceipt {
		return nil, errTooLarge
	}
	var r Receipt
	rest, ok := strings.CutPrefix(string(text), receiptHeader)
	if !ok {
		return nil, errors.New("the text is no acclaim-receipt/v1")
	}
	for i, part := range r.parts() {
		before, after, found := strings.Cut(rest, "--- "+part.name+"\n")
		if !found {
			return nil, fmt.Errorf("the receipt has no part %q", part.name)
		}
		if err := r.parsePart(i, before); err != nil {
			return nil, err
		}
		rest = after
	}
	if err := r.parsePart(len(r.parts()), rest); err != nil {
		return nil, err
	}
	if !bytes.Equal(r.Text(), text) {
		return nil, errors.New("the receipt is not in its only form")
	}
	return &r, nil
}

// parsePart decodes the lines before the first proof, which are part 0, or the proof before part i.
func (r *Receipt) parsePart(i int, text string) (err error) {
	if i > 0 {
		*r.parts()[i-1].proof, err = ParseProof([]byte(text))
		return err
	}
	lines := strings.Split(text, "\n")
	name, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(lines[0], "name "))
	if err != nil {
		return fmt.Errorf("name of the receipt: %w", err)
	}
	d := decoder{rest: name}
	r.Name = PollName{string(d.block()), string(d.block()), string(d.block())}
	if len(lines) > 1 && lines[1] != "" {
		n, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(lines[1], "nonce "))
		if err != nil || len(n) != len(Nonce{}) {
			return errors.New("the nonce of the receipt is not 16 bytes in base64")
		}
		nonce := Nonce(n)
		r.Nonce = &nonce
	}
	return d.end()
}
