package verifiable

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Proof is a c2sp.org/tlog-proof@v1: it shows that the tree of a checkpoint holds a leaf.
type Proof struct {
	Extra      []byte // the leaf's data
	Index      int64
	Path       tlog.RecordProof // from the leaf up
	Checkpoint []byte
}

const proofHeader = "c2sp.org/tlog-proof@v1\n"

// Text returns the only text of the proof.
func (p *Proof) Text() []byte {
	var b bytes.Buffer
	b.WriteString(proofHeader)
	if len(p.Extra) > 0 {
		fmt.Fprintf(&b, "extra %s\n", base64.StdEncoding.EncodeToString(p.Extra))
	}
	fmt.Fprintf(&b, "index %d\n", p.Index)
	for _, h := range p.Path {
		fmt.Fprintln(&b, h)
	}
	b.WriteByte('\n')
	b.Write(p.Checkpoint)
	return b.Bytes()
}

// ParseProof decodes what [Proof.Text] writes, and nothing else.
func ParseProof(text []byte) (Proof, error) {
	var p Proof
	head, checkpoint, found := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(strings.TrimPrefix(string(head), proofHeader), "\n")
	var err error
	if extra, has := strings.CutPrefix(lines[0], "extra "); has {
		p.Extra, err = base64.StdEncoding.Strict().DecodeString(extra)
		lines = lines[1:]
	}
	if err != nil || len(lines) == 0 || !found {
		return Proof{}, errors.New("the text is no c2sp.org/tlog-proof@v1")
	}
	if p.Index, err = strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64); err != nil {
		return Proof{}, fmt.Errorf("index of the proof: %w", err)
	}
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return Proof{}, fmt.Errorf("hash of the proof: %w", err)
		}
		p.Path = append(p.Path, h)
	}
	p.Checkpoint = slices.Clone(checkpoint)
	if p.Index < 0 || len(p.Checkpoint) == 0 || !bytes.Equal(p.Text(), text) {
		return Proof{}, errors.New("the proof is not in its only form")
	}
	return p, nil
}

// Check returns the tree in which the proof shows its leaf, or what is wrong.
func (p *Proof) Check(keys Keys, origin string) (tlog.Tree, *Finding) {
	tree, err := keys.Open(p.Checkpoint, origin)
	if err != nil {
		return tree, &Finding{FoundSignature, fmt.Sprintf("checkpoint of %s: %v", origin, err), 1}
	}
	if p.Index >= tree.N || tlog.CheckRecord(p.Path, tree.N, tree.Hash, p.Index, tlog.RecordHash(p.Extra)) != nil {
		return tree, &Finding{FoundNotIncluded, fmt.Sprintf("leaf %d of %s", p.Index, origin), 1}
	}
	return tree, nil
}
