package verifiable

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Witness is one of a policy that takes checkpoints at an address (c2sp.org/tlog-witness).
type Witness struct {
	Name    string // in the policy
	Address string // without /add-checkpoint
	key     *witness
}

// Witnesses returns the witnesses of the policy that have an address, in the order of their names.
func (p *Policy) Witnesses() (found []Witness) {
	for _, name := range slices.Sorted(maps.Keys(p.witnesses)) {
		if w := p.witnesses[name]; w.address != "" {
			found = append(found, Witness{name, w.address, w})
		}
	}
	return found
}

// Cosignatures returns the lines of an answer with which the witness signs a checkpoint, without those
// of others. The error says that there are none.
func (w *Witness) Cosignatures(checkpoint, answer []byte) (lines []byte, err error) {
	n, err := note.Open(slices.Concat(checkpoint, answer), note.VerifierList(w.key))
	if err != nil {
		return nil, fmt.Errorf("the witness has not signed the checkpoint: %w", err)
	}
	for _, s := range n.Sigs {
		lines = fmt.Appendf(lines, "— %s %s\n", s.Name, s.Base64)
	}
	return lines, nil
}

// EncodeAddCheckpoint returns the body of a request for the cosignature of a checkpoint. The proof is
// that of the checkpoint's tree from an old size on, empty for 0.
func EncodeAddCheckpoint(old int64, proof tlog.TreeProof, checkpoint []byte) []byte {
	var body bytes.Buffer
	fmt.Fprintf(&body, "old %d\n", old)
	for _, h := range proof {
		fmt.Fprintf(&body, "%s\n", h)
	}
	body.WriteByte('\n')
	body.Write(checkpoint)
	return body.Bytes()
}
