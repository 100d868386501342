package boltstore

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

const (
	metaBucket      = "meta"
	journalBucket   = "journal"
	recordsBucket   = "records"
	headsBucket     = "heads"
	snapshotsBucket = "snapshots"
	partsBucket     = "parts"
)

func bucketNames() []string {
	return []string{metaBucket, journalBucket, recordsBucket, headsBucket, snapshotsBucket, partsBucket}
}

func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket { return tx.Bucket([]byte(name)) }

const (
	// sumSize is the length of the checksum that begins every value.
	sumSize = 8

	chunkHeader    = sumSize + 8 + len(stream.ChunkID{}) + len(stream.Digest{}) + 8
	documentHeader = sumSize + 8 + len(document.WriteID{})

	// redactedBit, in the count of a chunk, says that the digest of the original
	// chunk stands between header and payload.
	redactedBit = 1 << 63

	longestName = 16 << 10
)

// checkName refuses what cannot be the name of a stream or the key of a
// document: it is at most 16 KiB long, not empty and holds no zero byte.
func checkName(name string) error {
	if name == "" || len(name) > longestName || strings.IndexByte(name, 0) >= 0 {
		return fault.Newf(fault.Invalid, "the name %.64q is empty, too long or holds a zero byte", name)
	}
	return nil
}

// streamPrefix begins the key of every chunk of a stream, and of nothing else.
func streamPrefix(name string) string { return "c" + name + "\x00" }

func chunkKey(name string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(streamPrefix(name)), seq))
}

func documentKey(key string) string { return "d" + key }

// headOf returns the key in heads that goes with a key in records, and what the
// record would have it say: a seq or a version.
func headOf(key string, record []byte) (owner string, head uint64) {
	if key[0] == 'd' {
		return key, binary.BigEndian.Uint64(record[sumSize:])
	}
	end := len(key) - 8
	return key[:end-1], binary.BigEndian.Uint64([]byte(key[end:]))
}

// seal puts the checksum of a value and its place at the value's beginning,
// where room was left for it.
func seal(bucket, key string, value []byte) []byte {
	binary.BigEndian.PutUint64(value, checksum(bucket, key, value[sumSize:]))
	return value
}

// unseal returns what follows the checksum of a value, which it checks.
func unseal(bucket, key string, value []byte) ([]byte, error) {
	if len(value) < sumSize || binary.BigEndian.Uint64(value) != checksum(bucket, key, value[sumSize:]) {
		return nil, damaged(bucket, key, "wrong checksum")
	}
	return value[sumSize:], nil
}

func checksum(bucket, key string, body []byte) uint64 {
	var sum xxhash.Digest
	sum.Reset()
	_, _ = sum.WriteString(bucket)
	_, _ = sum.WriteString(key)
	_, _ = sum.Write(body)
	return sum.Sum64()
}

func damaged(bucket, key, what string) error {
	return fmt.Errorf("%w: %s %q: %s", stream.ErrDamaged, bucket, key, what)
}

func encodeChunk(chunk *stream.Chunk) (key string, record []byte) {
	record = make([]byte, sumSize, chunkHeader+len(chunk.Payload))
	record = binary.BigEndian.AppendUint64(record, uint64(chunk.At))
	record = append(record, chunk.ID[:]...)
	record = append(record, chunk.Prev[:]...)
	count := uint64(chunk.Count)
	if chunk.Original != (stream.Digest{}) {
		count |= redactedBit
	}
	record = binary.BigEndian.AppendUint64(record, count)
	if count&redactedBit != 0 {
		record = append(record, chunk.Original[:]...)
	}
	record = append(record, chunk.Payload...)
	key = chunkKey(chunk.Stream, chunk.Seq)
	return key, seal(recordsBucket, key, record)
}

// decodeChunk returns the chunk of a stream that is stored at key. It shares no
// memory with the record.
func decodeChunk(name, key string, record []byte) (stream.Chunk, error) {
	body, err := unseal(recordsBucket, key, record)
	if err != nil {
		return stream.Chunk{}, err
	}
	if len(key) != len(streamPrefix(name))+8 || len(record) < chunkHeader {
		return stream.Chunk{}, damaged(recordsBucket, key, "wrong length")
	}
	_, seq := headOf(key, record)
	chunk := stream.Chunk{Stream: name, Seq: seq, At: int64(binary.BigEndian.Uint64(body))}
	body = body[8:]
	body = body[copy(chunk.ID[:], body):]
	body = body[copy(chunk.Prev[:], body):]
	count := binary.BigEndian.Uint64(body)
	body = body[8:]
	if count&redactedBit != 0 {
		if len(body) < len(chunk.Original) {
			return stream.Chunk{}, damaged(recordsBucket, key, "wrong length")
		}
		body = body[copy(chunk.Original[:], body):]
	}
	chunk.Count = int(count &^ redactedBit)
	chunk.Payload = append([]byte{}, body...)
	return chunk, nil
}

func encodeDocument(write *document.Write) (key string, record []byte) {
	record = make([]byte, sumSize, documentHeader+len(write.Body))
	record = binary.BigEndian.AppendUint64(record, write.Expect+1)
	record = append(record, write.ID[:]...)
	record = append(record, write.Body...)
	key = documentKey(write.Key)
	return key, seal(recordsBucket, key, record)
}

// encodeDeletion returns what stands for a deleted document until that has left the
// records: version 0.
func encodeDeletion(name string) (key string, record []byte) {
	key = documentKey(name)
	return key, seal(recordsBucket, key, make([]byte, documentHeader))
}

// isDeletion reports whether a record says that there is no document at its key.
func isDeletion(key string, record []byte) bool {
	_, version := headOf(key, record)
	return key[0] == 'd' && version == 0
}

// decodeDocument returns the document that is stored at key. It shares no
// memory with the record.
func decodeDocument(key string, record []byte) (document.Document, error) {
	body, err := unseal(recordsBucket, key, record)
	if err != nil {
		return document.Document{}, err
	}
	if len(record) < documentHeader {
		return document.Document{}, damaged(recordsBucket, key, "wrong length")
	}
	found := document.Document{Version: binary.BigEndian.Uint64(body)}
	if found.Version == 0 {
		return document.Document{}, nil // deleted
	}
	body = body[8:]
	found.Body = append([]byte{}, body[copy(found.ID[:], body):]...)
	return found, nil
}
