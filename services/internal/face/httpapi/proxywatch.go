package httpapi

import (
	"hash/maphash"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// manyClients is the number of clients named within a minute from which on a process warns:
// either a crowd watches, or clients forge the header by which they are named.
const manyClients = 4096

// ProxyWatch observes how trusted proxies name their clients. Limits for an address hold only
// where each proxy does, and replaces what its client says.
type ProxyWatch struct {
	proxies TrustedProxies
	logger  *slog.Logger
	seed    maphash.Seed
	unnamed atomic.Uint64
	window  atomic.Pointer[clientWindow]
	// A crowd is no news within the hour.
	warnUnnamed, warnMany rate.Sometimes
}

// NewProxyWatch returns a watch that has seen nothing yet.
func NewProxyWatch(proxies TrustedProxies, logger *slog.Logger) *ProxyWatch {
	w := &ProxyWatch{
		proxies: proxies, logger: logger, seed: maphash.MakeSeed(),
		warnUnnamed: rate.Sometimes{Interval: time.Minute}, warnMany: rate.Sometimes{Interval: time.Hour},
	}
	w.window.Store(&clientWindow{began: time.Now()})
	return w
}

// Client returns the network that stands for the client of a request, as
// [TrustedProxies.ClientNetworkOf] does, and notes it.
func (w *ProxyWatch) Client(r *http.Request) (client netip.Prefix, ok bool) {
	if client, ok = w.proxies.ClientNetworkOf(r); ok {
		w.noteNamed(r, client)
	} else {
		w.noteUnnamed(r)
	}
	return client, ok
}

// Unnamed returns how many requests of viewers and games came from a trusted proxy that named
// no client, since the start.
func (w *ProxyWatch) Unnamed() uint64 { return w.unnamed.Load() }

// Clients estimates how many clients trusted proxies have named within a minute: this one or
// the one before.
func (w *ProxyWatch) Clients() int {
	window := w.window.Load()
	switch age := time.Since(window.began); {
	case age < time.Minute:
		return max(window.before, window.estimate())
	case age < 2*time.Minute:
		return window.estimate()
	}
	return 0
}

// noteUnnamed notes a request for which no client is known.
func (w *ProxyWatch) noteUnnamed(r *http.Request) {
	if w == nil {
		return
	}
	if _, err := netip.ParseAddrPort(r.RemoteAddr); err != nil {
		return // it came over no network
	}
	w.unnamed.Add(1)
	w.warnUnnamed.Do(func() {
		w.logger.Warn("a trusted proxy names no client, so that none has a limit for its address", "proxy", r.RemoteAddr)
	})
}

// noteNamed notes the client of a request, if a trusted proxy has named it.
func (w *ProxyWatch) noteNamed(r *http.Request, client netip.Prefix) {
	if w == nil || len(r.Header["X-Forwarded-For"]) == 0 {
		return
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !w.proxies.Includes(peer.Addr()) {
		return
	}
	window := w.currentWindow()
	if window.add(maphash.Comparable(w.seed, client)) != manyClientBits {
		return
	}
	w.warnMany.Do(func() {
		w.logger.Warn("trusted proxies name thousands of clients: check that each replaces X-Forwarded-For", "proxy", r.RemoteAddr, "clients", manyClients)
	})
}

// currentWindow returns the window of this minute.
func (w *ProxyWatch) currentWindow() *clientWindow {
	window, now := w.window.Load(), time.Now()
	age := now.Sub(window.began)
	if age < time.Minute {
		return window
	}
	next := &clientWindow{began: now}
	if age < 2*time.Minute {
		next.before = window.estimate()
	}
	w.window.CompareAndSwap(window, next)
	return w.window.Load()
}

// windowBits is the size of the set from which a window estimates its clients: 4 KiB.
const windowBits = 1 << 15

// manyClientBits is the number of bits that manyClients different clients set, plus or minus 1 %:
// windowBits * (1 - exp(-manyClients / windowBits)).
const manyClientBits = 3850

// clientWindow counts the different clients of a minute by the bits that their hashes set
// (linear counting), in constant memory.
type clientWindow struct {
	began  time.Time
	before int // clients of the minute before
	bits   [windowBits / 64]atomic.Uint64
	set    atomic.Int64
}

// add adds a client by its hash. It returns how many bits are set if one is new, else 0.
func (w *clientWindow) add(hash uint64) int64 {
	bit := hash % windowBits
	word, mask := &w.bits[bit/64], uint64(1)<<(bit%64)
	if word.Load()&mask != 0 || word.Or(mask)&mask != 0 {
		return 0
	}
	return w.set.Add(1)
}

func (w *clientWindow) estimate() int {
	free := max(windowBits-float64(w.set.Load()), 1)
	return int(math.Round(-windowBits * math.Log(free/windowBits)))
}
