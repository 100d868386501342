package httpapi

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// defaultID is the id of a poll, buffer or question in a request without one.
const defaultID = "default"

// id returns the query parameter that names a poll, buffer or question.
func (r *apiRequest) id() (string, error) {
	id, err := r.anyID()
	if err != nil {
		return "", err
	}
	return id, r.Caller.CheckReads(id)
}

// anyID returns the query's id of anything but a poll.
func (r *apiRequest) anyID() (string, error) {
	id, _ := r.queryParameter("id")
	if len(id) > contract.MaxID {
		return "", fault.New(fault.Invalid, "Invalid id")
	}
	return cmp.Or(id, defaultID), nil
}

// ownedID is anyID for an operation of the owner of a poll or a question. The role is refused before
// the body is read.
func (r *apiRequest) ownedID() (string, error) {
	id, err := r.anyID()
	if err != nil {
		return "", err
	}
	return id, r.Caller.CheckOwner(id)
}

// checkQueryID refuses a query that names another id than the body, which decides: most routes
// read the id from the query, and a client that writes it there means it.
func (r *apiRequest) checkQueryID(inBody string) error {
	for _, id := range r.queryParameters("id") {
		if cmp.Or(id, defaultID) != inBody {
			return fault.New(fault.Invalid, "id belongs in the body")
		}
	}
	return nil
}

// writeDone answers a write that returns nothing.
func writeDone(w http.ResponseWriter, err error) error {
	if err == nil {
		writeJSON(w, http.StatusOK, []byte("{}"))
	}
	return err
}

// writeValue answers with a value as JSON.
func writeValue(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "encoding the answer failed")
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}

// listWriteTimeout is the time that a client has to read one buffer of a long
// answer.
const listWriteTimeout = 30 * time.Second

// listWriter streams an object with one long array. A failure before the first
// buffer is full can still be answered as an error.
type listWriter struct {
	out    *bufio.Writer
	length int
}

func newListWriter(w http.ResponseWriter, r *apiRequest, name string) *listWriter {
	l := &listWriter{out: bufio.NewWriterSize(deadlineWriter{w, http.NewResponseController(r.x)}, 32<<10)}
	_, _ = l.out.WriteString(`{"` + name + `":[`) // into the buffer
	w.Header()["Content-Type"] = jsonContent()
	return l
}

func (l *listWriter) add(item any) error {
	encoded, err := json.Marshal(item)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "encoding the answer failed")
	}
	if l.length > 0 {
		_ = l.out.WriteByte(',') // a failed write fails all that follow
	}
	l.length++
	if _, err = l.out.Write(encoded); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the client went away")
	}
	return nil
}

// end closes the array, adds further members and flushes.
func (l *listWriter) end(members string) error {
	_, _ = l.out.WriteString("]" + members + "}")
	if err := l.out.Flush(); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the client went away")
	}
	return nil
}

// deadlineWriter extends the deadline before each write, so that the server's
// time-out ends answers that make no progress and not those that are long.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w deadlineWriter) Write(b []byte) (int, error) {
	// A writer without deadlines, as in tests, needs none.
	_ = w.control.SetWriteDeadline(time.Now().Add(listWriteTimeout))
	return w.ResponseWriter.Write(b)
}
