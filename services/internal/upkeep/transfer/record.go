package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
)

// The values of a line's member "record".
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

// maxLine is the longest line in bytes, several times the line of a full chunk.
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
	streamIdentity
	// Stream holds the name of the stream, if its identity is not text: JSON would
	// change it.
	Stream string `json:"stream,omitempty"`
}

// chunkRecord is a chunk. Its entries are values to encode or JSON to decode.
type chunkRecord[E any] struct {
	streamRecord
	Seq uint64   `json:"seq"`
	At  int64    `json:"at"`
	ID  hexBytes `json:"chunk"`
	// Original is the digest that a redacted chunk had.
	Original hexBytes       `json:"original,omitempty"`
	Groups   []stream.Group `json:"groups,omitempty"`
	Entries  []E            `json:"entries"`
	// Payload holds the chunk's bytes, if they do not follow from groups and entries.
	Payload []byte   `json:"payload,omitempty"`
	Sum     hexBytes `json:"sum"`
}

// endRecord follows the last chunk of a stream.
type endRecord struct {
	streamRecord
	Chunks  uint64   `json:"chunks"`
	Entries uint64   `json:"entries"`
	Head    hexBytes `json:"head"` // sum of the last chunk
}

type documentRecord struct {
	Record      string   `json:"record"`
	Environment string   `json:"environment"`
	Extension   string   `json:"extension"`
	Key         []string `json:"key"`
	// Name holds the name in the store, if the key is not text: JSON would change it.
	Name    string          `json:"name,omitempty"`
	Version uint64          `json:"version"`
	Write   hexBytes        `json:"write,omitempty"`
	Keys    hexBytes        `json:"keys,omitempty"` // of requests
	Body    json.RawMessage `json:"body,omitempty"`
	// Raw is the body, where the member body would not tell it exactly.
	Raw []byte   `json:"raw,omitempty"`
	Sum hexBytes `json:"sum"`
}

type footerRecord struct {
	Record string `json:"record"`
	Totals
	Digest hexBytes `json:"digest"` // of all sums, in order
}

// Totals count what was exported or read.
type Totals struct {
	Streams   uint64 `json:"streams"`
	Chunks    uint64 `json:"chunks"`
	Entries   uint64 `json:"entries"`
	Documents uint64 `json:"documents"`
}

// contentLedger accumulates the content of the footer.
type contentLedger struct {
	totals Totals
	digest hash.Hash
}

func newContentLedger() contentLedger { return contentLedger{digest: sha256.New()} }

func (l *contentLedger) addChunk(sum stream.Digest, entries int) {
	l.digest.Write(sum[:])
	l.totals.Chunks++
	l.totals.Entries += uint64(entries)
}

func (l *contentLedger) addDocument(sum stream.Digest) {
	l.digest.Write(sum[:])
	l.totals.Documents++
}

func (l *contentLedger) newFooter() footerRecord {
	return footerRecord{Record: recordFooter, Totals: l.totals, Digest: l.digest.Sum(nil)}
}

// hexBytes marshals to hexadecimal text.
type hexBytes []byte

// MarshalText implements [encoding.TextMarshaler].
func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}

// encodeLine returns a record as a line, its line feed included.
func encodeLine(record any) ([]byte, error) {
	line, err := exactjson.Marshal(record)
	return append(line, '\n'), err
}

// recordTypeOf returns the type of a line's record.
func recordTypeOf(line []byte) (string, error) {
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
