package sinktest

import (
	"net"
	"net/http"
	"time"
)

// Mood is what becomes of a request.
type Mood int

// The moods of another system.
const (
	Well         Mood = iota
	Errs              // 500
	Busy              // 503
	Limits            // 429, come again in a second
	LimitsByDate      // 429, come again at a date that is not far
	Hangs             // reads and never answers
	ResetsUnread      // resets the connection before it has read the body
	ResetsRead        // resets it after that
	DripsHeader       // begins to answer and never comes to an end of the header
	DripsBody         // takes the event and never comes to an end of the answer
	Babbles           // answers what is not HTTP
	Refuses           // 410: it does not want the event
)

// takes reports whether the event counts as delivered.
func (m Mood) takes() bool { return m == Well || m == DripsBody }

// status is that of an answer with nothing else, 0 of any other.
func (m Mood) status() int {
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

func (s *Server) answer(w http.ResponseWriter, r *http.Request, m Mood) {
	switch m {
	case Limits:
		w.Header().Set("Retry-After", "1")
	case LimitsByDate:
		w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
	}
	if status := m.status(); status != 0 {
		w.WriteHeader(status)
		return
	}
	switch m {
	case Hangs:
		select {
		case <-r.Context().Done(): // the client has gone
		case <-s.ended:
		}
	case DripsHeader:
		s.drip(w, "HTTP/1.1 200 OK\r\nX-Slow: ")
	case DripsBody:
		s.drip(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
	case Babbles:
		if conn := takeOver(w); conn != nil {
			_, _ = conn.Write([]byte("220 mail.example.com ready\r\n")) // whether it is heard or not
			_ = conn.Close()
		}
	default:
		reset(w)
	}
}

// takeOver returns the connection of a request, nil when it has gone.
func takeOver(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	return conn
}

// reset closes a connection so that the client hears of a reset, not of an end.
func reset(w http.ResponseWriter) {
	conn := takeOver(w)
	if conn == nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // what follows closes it in any case
	}
	_ = conn.Close()
}

// dripEvery is the time from one byte to the next.
const dripEvery = 2 * time.Millisecond

// drip says something and then a byte now and then, until the client has gone.
func (s *Server) drip(w http.ResponseWriter, begin string) {
	conn := takeOver(w)
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }() // the client has gone
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
