package peer

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// writtenEngine is the name under which a member says what it has written:
//
//	request = { after }
//	answer  = { last lost count { name place } }
//
// Writes are numbered from 1. The answer has those after one, up to the last, without the
// earlier ones of each name. lost reports that some of them are forgotten. It comes as soon as
// there is a write, and after writtenWait without one.
const writtenEngine = "written"

const (
	writtenKept = 1 << 14
	writtenWait = time.Second
)

// writtenLog holds the newest writes that a process knows of, which are more than its own: an
// engine learns of a commit also from its owner's answer.
type writtenLog struct {
	mu     sync.Mutex
	recent []namedPlace // number n is at (n-1) % writtenKept
	last   uint64
	grown  chan struct{} // closed at the next write; nil while no one waits
}

// namedPlace is the sequence number of a chunk or the version of a document.
type namedPlace struct {
	name  string
	place uint64
}

// record adds a write that is durable. Commits wait for it.
func (l *writtenLog) record(name string, place uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recent) < writtenKept {
		l.recent = append(l.recent, namedPlace{name, place})
	} else {
		l.recent[l.last%writtenKept] = namedPlace{name, place}
	}
	l.last++
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// serve is the [ServeFunc] of writtenEngine.
func (l *writtenLog) serve(ctx context.Context, request []byte, answer func(part []byte)) error {
	r := wire.NewReader(request)
	after := r.Uvarint()
	if err := r.End(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writtenWait)
	defer cancel()
	for grown := l.waitAfter(after); grown != nil; grown = l.waitAfter(after) {
		select {
		case <-grown:
			continue
		case <-ctx.Done():
		}
		break
	}
	answer(l.encodeAfter(after))
	return nil
}

// waitAfter returns nil if there are writes after one, else what is closed when there are.
func (l *writtenLog) waitAfter(after uint64) (grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != after {
		return nil
	}
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
}

func (l *writtenLog) encodeAfter(after uint64) []byte {
	last, lost, newest := l.takeAfter(after)
	buf := wire.AppendBool(binary.AppendUvarint(nil, last), lost)
	buf = binary.AppendUvarint(buf, uint64(len(newest)))
	for name, place := range newest {
		buf = binary.AppendUvarint(wire.AppendBytes(buf, name), place)
	}
	return buf
}

// takeAfter returns the writes after one.
func (l *writtenLog) takeAfter(after uint64) (last uint64, lost bool, newest map[string]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.last - uint64(len(l.recent)) // the one before the oldest
	if lost = after < first || after > l.last; lost {
		after = first
	}
	newest = map[string]uint64{}
	for n := after; n < l.last; n++ {
		w := l.recent[n%writtenKept]
		newest[w.name] = max(newest[w.name], w.place)
	}
	return l.last, lost, newest
}

// decodeWritten is the inverse of encodeAfter. It passes each write to notify.
func decodeWritten(answer []byte, notify func(name string, place uint64)) (last uint64, lost bool, err error) {
	r := wire.NewReader(answer)
	last, lost = r.Uvarint(), r.Bool()
	for range r.Count(2) {
		name, place := r.Text(), r.Uvarint()
		if r.Err() == nil {
			notify(name, place)
		}
	}
	return last, lost, r.End()
}
