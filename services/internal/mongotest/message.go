package mongotest

import (
	"encoding/binary"
	"errors"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// message is one message of the wire protocol, its header included.
type message []byte

const headerBytes = 16

func readMessage(r io.Reader) (message, error) {
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(header)
	if length < headerBytes || length > 64<<20 {
		return nil, errors.New("mongotest: not the MongoDB wire protocol")
	}
	m := make(message, length)
	copy(m, header)
	_, err := io.ReadFull(r, m[headerBytes:])
	return m, err
}

// body returns the document of a message and, of a command that brings a sequence of
// them, the others.
func (m message) body() (first bson.Raw, others []bson.Raw) {
	_, _, _, code, rest, _ := wiremessage.ReadHeader(m)
	switch code {
	case wiremessage.OpReply: // flags, a cursor, where it begins, how many
		return bson.Raw(rest[20:]), nil
	case wiremessage.OpMsg:
	default:
		return nil, nil
	}
	rest = rest[4:]
	for len(rest) > 0 {
		kind, after, _ := wiremessage.ReadMsgSectionType(rest)
		if kind == wiremessage.SingleDocument {
			document, after, ok := wiremessage.ReadMsgSectionSingleDocument(after)
			if !ok {
				return nil, nil
			}
			first, rest = bson.Raw(document), after
			continue
		}
		_, documents, after, ok := wiremessage.ReadMsgSectionDocumentSequence(after)
		if !ok {
			return nil, nil
		}
		for _, d := range documents {
			others = append(others, bson.Raw(d))
		}
		rest = after
	}
	return first, others
}

// reply returns the answer to a message.
func (m message) reply(d bson.D) message {
	_, id, _, _, _, _ := wiremessage.ReadHeader(m)
	return pack(id, d)
}

// with returns an answer that says something more.
func (m message) with(more ...bson.E) message {
	var said bson.D
	body, _ := m.body()
	if err := bson.Unmarshal(body, &said); err != nil {
		return m
	}
	said = append(said, more...)
	_, _, to, code, rest, _ := wiremessage.ReadHeader(m)
	if code == wiremessage.OpMsg {
		return pack(to, said)
	}
	encoded, err := bson.Marshal(said)
	if err != nil {
		panic(err) // it was decoded just now
	}
	at, out := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, code)
	return finish(at, append(append(out, rest[:20]...), encoded...))
}

func pack(to int32, d bson.D) message {
	encoded, err := bson.Marshal(d)
	if err != nil {
		panic(err) // of values that always encode
	}
	at, out := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, wiremessage.OpMsg)
	out = wiremessage.AppendMsgSectionType(wiremessage.AppendMsgFlags(out, 0), wiremessage.SingleDocument)
	return finish(at, append(out, encoded...))
}

func finish(at int32, m message) message {
	binary.LittleEndian.PutUint32(m[at:], uint32(len(m)))
	return m
}
