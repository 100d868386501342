package httpapi

import (
	"bufio"
	"encoding/json"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// defaultID is the id of a poll, buffer or question that the caller does not
// name.
const defaultID = "default"

// maxID is the longest id in a query, in bytes.
const maxID = 256

// id returns the query parameter that names a poll, buffer or question.
func (r *request) id() (string, error) {
	id, _ := r.parameter("id")
	if len(id) > maxID {
		return "", fault.New(fault.Invalid, "Invalid id")
	}
	if id == "" {
		return defaultID, nil
	}
	return id, nil
}

// done answers a write that returns nothing.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		writeJSON(w, http.StatusOK, []byte("{}"))
	}
	return err
}

// encode answers with a value.
func encode(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "encoding the answer failed")
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}

// writePatience is how long a client may take for one buffer of a long answer.
const writePatience = 30 * time.Second

// list writes an object with one long array without holding it in memory. What
// fails before the first buffer is full can still be answered as an error.
type list struct {
	out    *bufio.Writer
	length int
}

func newList(w http.ResponseWriter, r *request, name string) *list {
	l := &list{out: bufio.NewWriterSize(patientWriter{w, http.NewResponseController(r.x)}, 32<<10)}
	_, _ = l.out.WriteString(`{"` + name + `":[`) // into the buffer
	w.Header()["Content-Type"] = jsonContent()
	return l
}

func (l *list) add(item any) error {
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

// end closes the array, adds further members and sends what is left.
func (l *list) end(members string) error {
	_, _ = l.out.WriteString("]" + members + "}")
	if err := l.out.Flush(); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the client went away")
	}
	return nil
}

// patientWriter gives the client new time for each write, so that the server's
// time-out ends answers that stand still and not those that are long.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w patientWriter) Write(b []byte) (int, error) {
	// A writer without deadlines, as in tests, needs none.
	_ = w.control.SetWriteDeadline(time.Now().Add(writePatience))
	return w.ResponseWriter.Write(b)
}
