package httpapi

import (
	"net/http"
	"sync"
	"time"
)

// sharedWriter sends events on a stream of a connection that requests share, and flushes after every
// write. It limits a write by a timer: a deadline of the server would also end a stream to which
// nothing is written, and to set and lift it for each event takes two messages to the goroutine of
// the connection.
type sharedWriter struct {
	response http.ResponseWriter
	control  *http.ResponseController
	timer    *time.Timer

	mu    sync.Mutex
	until time.Time // limits the next write, or the one under way; zero for neither
}

// newSharedWriter lifts the deadlines of the server, which are those of requests. A writer without
// deadlines, as in tests, has none to lift.
func newSharedWriter(w http.ResponseWriter) *sharedWriter {
	s := &sharedWriter{response: w, control: http.NewResponseController(w)}
	_, _ = s.control.SetReadDeadline(time.Time{}), s.control.SetWriteDeadline(time.Time{})
	s.timer = time.AfterFunc(time.Hour, s.expire)
	s.timer.Stop()
	return s
}

// SetWriteDeadline limits the next write.
func (s *sharedWriter) SetWriteDeadline(at time.Time) error {
	s.mu.Lock()
	s.until = at
	s.mu.Unlock()
	s.timer.Reset(time.Until(at))
	return nil
}

// Write implements [io.Writer].
func (s *sharedWriter) Write(b []byte) (int, error) {
	n, err := s.response.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	return n, err
}

// expire ends the stream unless the write is over. Its handler waits in Write for the mutex at
// least, so the answer is still its own.
func (s *sharedWriter) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !s.until.IsZero() && !now.Before(s.until) {
		_ = s.control.SetWriteDeadline(now)
	}
}
