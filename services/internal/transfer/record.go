package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

// What a line's member "record" says.
const (
	recordHeader   = "header"
	recordChunk    = "chunk"
	recordEnd      = "end"
	recordDocument = "document"
	recordFooter   = "footer"
)

// The format that is written, and the only one that is read.
const (
	format  = "acclaim-export"
	version = 1
)

// maxLine is the longest line in bytes, several times what a full chunk comes to.
const maxLine = 64 << 20

type headerRecord struct {
	Record  string `json:"record"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	Scope
}

// streamRecord begins every record of a stream.
type streamRecord struct {
	Record string `json:"record"`
	Kind   string `json:"kind"`
	place
	// Stream is its name, where the place is not text and JSON would change it.
	Stream string `json:"stream,omitempty"`
}

// chunkRecord is a chunk. Its entries are values to encode or JSON to decode.
type chunkRecord[E any] struct {
	streamRecord
	Seq     uint64         `json:"seq"`
	At      int64          `json:"at"`
	ID      hexadecimal    `json:"chunk"`
	Groups  []stream.Group `json:"groups,omitempty"`
	Entries []E            `json:"entries"`
	// Payload is that of the chunk, where groups and entries do not tell it exactly.
	Payload []byte      `json:"payload,omitempty"`
	Sum     hexadecimal `json:"sum"`
}

// endRecord follows the last chunk of a stream.
type endRecord struct {
	streamRecord
	Chunks  uint64      `json:"chunks"`
	Entries uint64      `json:"entries"`
	Head    hexadecimal `json:"head"` // sum of the last chunk
}

type documentRecord struct {
	Record      string   `json:"record"`
	Environment string   `json:"environment"`
	Extension   string   `json:"extension"`
	Key         []string `json:"key"`
	// Name is that in the store, where the key is not text and JSON would change it.
	Name    string          `json:"name,omitempty"`
	Version uint64          `json:"version"`
	Write   hexadecimal     `json:"write,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	// Raw is the body, where the member body would not tell it exactly.
	Raw []byte      `json:"raw,omitempty"`
	Sum hexadecimal `json:"sum"`
}

type footerRecord struct {
	Record string `json:"record"`
	Totals
	Digest hexadecimal `json:"digest"` // of all sums, in order
}

// Totals count what was exported or read.
type Totals struct {
	Streams   uint64 `json:"streams"`
	Chunks    uint64 `json:"chunks"`
	Entries   uint64 `json:"entries"`
	Documents uint64 `json:"documents"`
}

// ledger is what a footer is made of.
type ledger struct {
	totals Totals
	digest hash.Hash
}

func newLedger() ledger { return ledger{digest: sha256.New()} }

func (l *ledger) chunk(sum stream.Digest, entries int) {
	l.digest.Write(sum[:])
	l.totals.Chunks++
	l.totals.Entries += uint64(entries)
}

func (l *ledger) document(sum stream.Digest) {
	l.digest.Write(sum[:])
	l.totals.Documents++
}

func (l *ledger) footer() footerRecord {
	return footerRecord{Record: recordFooter, Totals: l.totals, Digest: l.digest.Sum(nil)}
}

// hexadecimal is bytes that are written in hexadecimal.
type hexadecimal []byte

// MarshalText implements [encoding.TextMarshaler].
func (h hexadecimal) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hexadecimal) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}

// encodeLine returns a record as a line, its line feed included.
func encodeLine(record any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(record)
	return line.Bytes(), err
}

// recordOf returns what sort of record a line is.
func recordOf(line []byte) (string, error) {
	for _, record := range []string{recordChunk, recordDocument, recordEnd} {
		if bytes.HasPrefix(line, []byte(`{"record":"`+record+`",`)) { // as Export writes it
			return record, nil
		}
	}
	var any struct {
		Record string `json:"record"`
	}
	err := json.Unmarshal(line, &any)
	return any.Record, err
}
