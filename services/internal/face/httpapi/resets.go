package httpapi

import (
	"context"
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

// A connection of HTTP/2 may reset some requests: viewers leave pages. A client that
// resets more makes work that never ends in an answer, without a place among the requests
// under way, and loses its connection.
const (
	resetsASecond = 5
	resetBurst    = 200
)

type resetLimitKey struct{}

// resetLimit counts the requests of a connection that their client resets, and admits
// them one after the other: a hundred requests that are ready to run would go before
// those of a hundred other clients.
type resetLimit struct {
	conn    net.Conn
	limiter *rate.Limiter
	turn    chan struct{} // has a place for the request that is being admitted
}

// addResetLimit is the ConnContext of a server.
func addResetLimit(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, resetLimitKey{}, &resetLimit{
		conn: conn, limiter: rate.NewLimiter(resetsASecond, resetBurst), turn: make(chan struct{}, 1),
	})
}

// limitResets closes a connection whose client resets too many requests.
func limitResets(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, ok := r.Context().Value(resetLimitKey{}).(*resetLimit)
		if r.ProtoMajor != 2 || !ok {
			handler.ServeHTTP(w, r)
			return
		}
		l.serveInTurn(handler, w, r)
		if r.Context().Err() != nil && !l.limiter.Allow() {
			_ = l.conn.Close() // its requests end
		}
	})
}

type endTurnKey struct{}

// serveInTurn serves a request, unless its client resets it before its turn.
func (l *resetLimit) serveInTurn(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	select {
	case l.turn <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	end := sync.OnceFunc(func() { <-l.turn })
	defer end()
	if r.Context().Err() == nil {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), endTurnKey{}, end)))
	}
}

// turnOf returns what lets the next request of the connection be admitted, before something that
// may wait; nil where requests take no turns.
func turnOf(ctx context.Context) (end func()) {
	end, _ = ctx.Value(endTurnKey{}).(func())
	return end
}
