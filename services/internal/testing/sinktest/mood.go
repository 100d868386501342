package sinktest

import (
	"net"
	"net/http"
	"time"
)

// ServerMood is the server's reaction to a request.
type ServerMood int

// The moods of a server.
const (
	Well         ServerMood = iota
	Errs                    // 500
	Busy                    // 503
	Limits                  // 429 with a pause of a second
	LimitsByDate            // 429 with a date in a second
	Hangs                   // reads and never answers
	ResetsUnread            // resets the connection before it reads the body
	ResetsRead              // resets it after that
	DripsHeader             // begins to answer and never ends the header
	DripsBody               // takes the event and never ends the answer
	Babbles                 // answers something other than HTTP
	Refuses                 // 410: it does not want the event
)

// takesEvents reports whether the event counts as delivered.
func (m ServerMood) takesEvents() bool { return m == Well || m == DripsBody }

// statusCode returns the status of an answer without a body, 0 for other moods.
func (m ServerMood) statusCode() int {
	switch m {
	case Well:
		return http.StatusNoContent
	case Errs:
		return http.StatusInternalServerError
	case Busy:
		return http.StatusServiceUnavailable
	case Refuses:
		return http.StatusGone
	case Limits, LimitsByDate:
		return http.StatusTooManyRequests
	}
	return 0
}

func (s *Server) writeAnswer(w http.ResponseWriter, r *http.Request, m ServerMood) {
	switch m {
	case Limits:
		w.Header().Set("Retry-After", "1")
	case LimitsByDate:
		w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
	}
	if status := m.statusCode(); status != 0 {
		w.WriteHeader(status)
		return
	}
	switch m {
	case Hangs:
		select {
		case <-r.Context().Done(): // the client has disconnected
		case <-s.ended:
		}
	case DripsHeader:
		s.dripAnswer(w, "HTTP/1.1 200 OK\r\nX-Slow: ")
	case DripsBody:
		s.dripAnswer(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
	case Babbles:
		if conn := takeOver(w); conn != nil {
			_, _ = conn.Write([]byte("220 mail.example.com ready\r\n")) // the client may have disconnected
			_ = conn.Close()
		}
	default:
		resetConnection(w)
	}
}

// takeOver returns the connection of a request, nil when it is closed.
func takeOver(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	return conn
}

// resetConnection closes a connection so that the client sees a reset, not an end.
func resetConnection(w http.ResponseWriter) {
	conn := takeOver(w)
	if conn == nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Close closes it in any case
	}
	_ = conn.Close()
}

// dripEvery is the time from one byte to the next.
const dripEvery = 2 * time.Millisecond

// dripAnswer writes a text and then a byte now and then, until the client disconnects.
func (s *Server) dripAnswer(w http.ResponseWriter, begin string) {
	conn := takeOver(w)
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }() // the client has disconnected
	ticker := time.NewTicker(dripEvery)
	defer ticker.Stop()
	for _, err := conn.Write([]byte(begin)); err == nil; _, err = conn.Write([]byte("x")) {
		select {
		case <-ticker.C:
		case <-s.ended:
			return
		}
	}
}
