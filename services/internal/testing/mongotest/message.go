package mongotest

import (
	"encoding/binary"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
)

// wireMessage is one message of the wire protocol, its header included.
type wireMessage []byte

func readMessage(r io.Reader) (wireMessage, error) {
	m, err := faultproxy.ReadMessage(r)
	return wireMessage(m), err
}

// body returns the document of a message and the documents of its sequence, if it
// has one.
func (m wireMessage) body() (first bson.Raw, others []bson.Raw) {
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

// newReply returns the answer to a message.
func (m wireMessage) newReply(d bson.D) wireMessage {
	_, id, _, _, _, _ := wiremessage.ReadHeader(m)
	return encodeReply(id, d)
}

// withMembers returns an answer with more members.
func (m wireMessage) withMembers(more ...bson.E) wireMessage {
	var said bson.D
	body, _ := m.body()
	if err := bson.Unmarshal(body, &said); err != nil {
		return m
	}
	said = append(said, more...)
	_, _, to, code, rest, _ := wiremessage.ReadHeader(m)
	if code == wiremessage.OpMsg {
		return encodeReply(to, said)
	}
	encoded, err := bson.Marshal(said)
	if err != nil {
		panic(err) // it was decoded just now
	}
	at, out := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, code)
	return setLength(at, append(append(out, rest[:20]...), encoded...))
}

func encodeReply(to int32, d bson.D) wireMessage {
	encoded, err := bson.Marshal(d)
	if err != nil {
		panic(err) // of values that always encode
	}
	at, out := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), to, wiremessage.OpMsg)
	out = wiremessage.AppendMsgSectionType(wiremessage.AppendMsgFlags(out, 0), wiremessage.SingleDocument)
	return setLength(at, append(out, encoded...))
}

func setLength(at int32, m wireMessage) wireMessage {
	binary.LittleEndian.PutUint32(m[at:], uint32(len(m)))
	return m
}
