package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/state"
)

// newStreamRecord returns the beginning of the records of a stream.
func newStreamRecord(kind, name string) (r streamRecord, err error) {
	r.Kind = kind
	if r.place, err = streamKinds()[kind].parse(name); err == nil && !isText(r.Channel, r.ID) {
		r.Stream = name
	}
	return r, err
}

// name returns that of the stream, whose place is then its own in every case.
func (r *streamRecord) name() (name string, err error) {
	kind, ok := streamKinds()[r.Kind]
	if !ok {
		return "", fmt.Errorf("%q is not a kind of streams", r.Kind)
	}
	if r.Stream != "" {
		r.place, err = kind.parse(r.Stream)
		return r.Stream, err
	}
	name = kind.name(r.place)
	if p, err := kind.parse(name); err != nil || p != r.place {
		return "", fmt.Errorf("there are no %s of channel %q with the id %q", r.Kind, r.Channel, r.ID)
	}
	return name, nil
}

// chunkOf returns the chunk of a record, which follows one with the sum prev.
func chunkOf(r *chunkRecord[json.RawMessage], name string, prev stream.Digest) (c stream.Chunk, err error) {
	c = stream.Chunk{Stream: name, Seq: r.Seq, At: r.At, Prev: prev, Count: len(r.Entries), Payload: r.Payload}
	if len(r.ID) != len(c.ID) {
		return c, errors.New("the id of the chunk is not 32 digits long")
	}
	copy(c.ID[:], r.ID)
	codec := streamKinds()[r.Kind].codec
	if len(r.Payload) == 0 {
		if c.Payload, err = stream.NewPayload(codec, r.Groups, r.Entries); err != nil {
			return c, err
		}
	}
	_, _, err = c.Content(codec)
	return c, err
}

// newDocumentRecord returns the record of a document, its body as it was stored.
func newDocumentRecord(name string, d document.Document) (r documentRecord, err error) {
	parts, err := key.Split(name)
	if err != nil || len(parts) < 4 || parts[0] != state.Kind || key.Join(parts...) != name {
		return r, fmt.Errorf("%s is not the name of a document", name)
	}
	sum := sumOf(name, d)
	r = documentRecord{
		Record: recordDocument, Environment: parts[1], Extension: parts[2], Key: parts[3:],
		Version: d.Version, Body: d.Body, Sum: sum[:],
	}
	if !isText(r.Key...) {
		r.Name = name
	}
	if d.ID != (document.WriteID{}) {
		r.Write = d.ID[:]
	}
	return r, nil
}

// document returns the document of a record and its name.
func (r *documentRecord) document() (name string, d document.Document, err error) {
	if name = r.Name; name == "" {
		name = key.Join(append([]string{state.Kind, r.Environment, r.Extension}, r.Key...)...)
	}
	prefix := key.Join(state.Kind, r.Environment, r.Extension) + "/"
	parts, err := key.Split(name)
	if err != nil || key.Join(parts...) != name || len(r.Key) == 0 || !strings.HasPrefix(name, prefix) {
		return name, d, fmt.Errorf("%q is not the name of a document", name)
	}
	d = document.Document{Version: r.Version, Body: r.Body}
	if len(r.Raw) > 0 {
		d.Body = r.Raw
	}
	if d.Version == 0 || d.Version > 1<<63-1 {
		return name, d, fmt.Errorf("a document cannot have version %d", d.Version)
	}
	if copy(d.ID[:], r.Write) != len(r.Write) || len(r.Write)%len(d.ID) != 0 {
		return name, d, errors.New("the id of the write is not 32 digits long")
	}
	return name, d, nil
}

// sumOf returns the digest of all that a document is.
func sumOf(name string, d document.Document) (sum stream.Digest) {
	header := binary.AppendUvarint(nil, uint64(len(name)))
	header = append(header, name...)
	header = binary.BigEndian.AppendUint64(header, d.Version)
	header = append(header, d.ID[:]...)
	h := sha256.New()
	h.Write(header)
	h.Write(d.Body)
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
