package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// newStreamRecord returns the beginning of the records of a stream.
func newStreamRecord(kind, name string) (r streamRecord, err error) {
	r.Kind = kind
	if r.streamIdentity, err = streamKinds()[kind].parse(name); err == nil && !isText(r.Channel, r.ID) {
		r.Stream = name
	}
	return r, err
}

// streamName returns the name of the stream and sets the identity from it.
func (r *streamRecord) streamName() (name string, err error) {
	kind, ok := streamKinds()[r.Kind]
	if !ok {
		return "", fmt.Errorf("%q is not a kind of streams", r.Kind)
	}
	if r.Stream != "" {
		r.streamIdentity, err = kind.parse(r.Stream)
		return r.Stream, err
	}
	name = kind.name(r.streamIdentity)
	if p, err := kind.parse(name); err != nil || p != r.streamIdentity {
		return "", fmt.Errorf("there are no %s of channel %q with the id %q", r.Kind, r.Channel, r.ID)
	}
	return name, nil
}

// chunkOf returns the chunk of a record. prev is the sum of the chunk before it.
func chunkOf(r *chunkRecord[json.RawMessage], name string, prev stream.Digest) (c stream.Chunk, err error) {
	c = stream.Chunk{Stream: name, Seq: r.Seq, At: r.At, Prev: prev, Count: len(r.Entries), Payload: r.Payload}
	if len(r.ID) != len(c.ID) {
		return c, errors.New("the id of the chunk is not 32 digits long")
	}
	copy(c.ID[:], r.ID)
	if copy(c.Original[:], r.Original) != len(r.Original) || len(r.Original)%len(c.Original) != 0 {
		return c, errors.New("the original digest of the chunk is not 64 digits long")
	}
	codec := streamKinds()[r.Kind].codec
	if len(r.Payload) == 0 {
		if c.Payload, err = stream.NewPayload(codec, r.Groups, r.Entries); err != nil {
			return c, err
		}
	}
	_, _, err = c.Content(codec)
	return c, err
}

// inExtension is the index of the first element of a name that differs within one
// extension.
const inExtension = 3

// parseDocument parses the stored name of a document, which must be as it would be
// stored.
func parseDocument(stored string) (key.Name, error) {
	n, err := key.ParseExact(stored)
	if err != nil || n.Kind != key.Document {
		return key.Name{}, fmt.Errorf("%q is not the name of a document", stored)
	}
	return n, nil
}

// newDocumentRecord returns the record of a document, its body as it was stored.
func newDocumentRecord(name string, d document.Document) (r documentRecord, err error) {
	n, err := parseDocument(name)
	if err != nil {
		return r, err
	}
	sum := sumOf(name, d)
	r = documentRecord{
		Record: recordDocument, Environment: n.Environment, Extension: n.Extension, Key: n.Elements()[inExtension:],
		Version: d.Version, Body: d.Body, Keys: once.AppendKept(nil, d.Keys), Sum: sum[:],
	}
	if !isText(r.Key...) {
		r.Name = name
	}
	if d.ID != (document.WriteID{}) {
		r.Write = d.ID[:]
	}
	return r, nil
}

// toDocument returns the document of a record and its name.
func (r *documentRecord) toDocument() (name string, d document.Document, err error) {
	if name = r.Name; name == "" {
		name = key.Join(append([]string{key.Document, r.Environment, r.Extension}, r.Key...)...)
	}
	n, err := parseDocument(name)
	if err != nil {
		return name, d, err
	}
	if n.Environment != r.Environment || n.Extension != r.Extension {
		return name, d, fmt.Errorf("%q is the name of a document elsewhere", name)
	}
	d = document.Document{Version: r.Version, Body: r.Body}
	if len(r.Raw) > 0 {
		d.Body = r.Raw
	}
	if d.Keys, err = once.ReadKept(r.Keys); err != nil {
		return name, d, err
	}
	if d.Version == 0 || d.Version > 1<<63-1 {
		return name, d, fmt.Errorf("a document cannot have version %d", d.Version)
	}
	if copy(d.ID[:], r.Write) != len(r.Write) || len(r.Write)%len(d.ID) != 0 {
		return name, d, errors.New("the id of the write is not 32 digits long")
	}
	return name, d, nil
}

// sumOf returns the digest of a document with its name, version and write id.
func sumOf(name string, d document.Document) (sum stream.Digest) {
	header := binary.AppendUvarint(nil, uint64(len(name)))
	header = append(header, name...)
	header = binary.BigEndian.AppendUint64(header, d.Version)
	header = append(header, d.ID[:]...)
	h := sha256.New()
	h.Write(header)
	h.Write(d.Body)
	h.Write(once.AppendKept(nil, d.Keys))
	h.Sum(sum[:0])
	return sum
}

// isText reports whether JSON keeps the strings as they are.
func isText(all ...string) bool {
	for _, s := range all {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}
