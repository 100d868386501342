package voting

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"runtime"
	"testing"
	"time"
)

// opaqueID returns an id of the form and length that the platform issues to
// viewers who have not shared their user id.
func opaqueID(n int) string {
	sum := sha256.Sum256([]byte(identity(n)))
	return "A" + base64.RawURLEncoding.EncodeToString(sum[:15])
}

// ballots is the interface that the alternatives of BenchmarkVoters share.
type ballots interface {
	set(id string, b ballot)
	get(id string) ballot
}

// plain is the same content as a Go map: a ballot of one option, as nearly all are,
// is stored in place.
type plain struct {
	voters  map[string]single
	several map[string][]optionVotes
}

type single struct {
	last, value int16
	times       uint16
}

func (p *plain) set(id string, b ballot) {
	if p.voters == nil {
		p.voters, p.several = map[string]single{}, map[string][]optionVotes{}
	}
	s := single{last: b.last}
	if len(b.options) == 1 {
		s.value, s.times = b.options[0].value, b.options[0].times
		delete(p.several, id)
	} else {
		p.several[id] = b.options
	}
	p.voters[id] = s
}

func (p *plain) get(id string) ballot {
	s, ok := p.voters[id]
	if !ok {
		return ballot{}
	}
	b := ballot{last: s.last, stored: true}
	if s.times > 0 {
		b.options = []optionVotes{{s.value, s.times}}
	} else {
		b.options = p.several[id]
	}
	return b
}

// simple is the same content as the simplest Go map.
type simple map[string]ballot

func (s simple) set(id string, b ballot) { s[id] = b }
func (s simple) get(id string) ballot    { return s[id] }

// BenchmarkVoters compares the table of voters with Go maps of the same content:
// bytes kept for each of a million voters, and the time of a fold and of a read.
func BenchmarkVoters(b *testing.B) {
	for name, fresh := range map[string]func() ballots{
		"table":  func() ballots { return &ballotTable{} },
		"plain":  func() ballots { return &plain{} },
		"simple": func() ballots { return simple{} },
	} {
		b.Run(name, func(b *testing.B) { benchmarkVoters(b, fresh) })
	}
}

func benchmarkVoters(b *testing.B, fresh func() ballots) {
	for b.Loop() {
		b.StopTimer()
		before := heapInUse()
		b.StartTimer()
		voters := fresh()
		for i := range million {
			voters.set(opaqueID(i), ballot{last: int16(i % 32), stored: true, options: []optionVotes{{int16(i % 32), 1}}})
		}
		for i := range million {
			if !voters.get(opaqueID(i)).stored {
				b.Fatal("a voter is missing")
			}
		}
		b.StopTimer()
		b.ReportMetric(float64(heapInUse()-before)/million, "bytes/voter")
		began := time.Now()
		runtime.GC()
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms/collection")
		runtime.KeepAlive(voters)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/voter")
}

// heapInUse returns the bytes that are in use after a garbage collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAlternativesAgree: what BenchmarkVoters compares holds the same.
func TestAlternativesAgree(t *testing.T) {
	own, other := &ballotTable{}, &plain{}
	for i := range 200 {
		options := []optionVotes{{int16(i % 7), uint16(1 + i%3)}, {9, 1}}[:1+i%2]
		for _, b := range []ballots{own, other} {
			b.set(opaqueID(i%90), ballot{last: int16(i), stored: true, options: options})
		}
	}
	for id := range maps.Keys(other.voters) {
		a, b := own.get(id), other.get(id)
		if a.last != b.last || len(a.options) != len(b.options) || a.options[0] != b.options[0] {
			t.Errorf("%s has %+v in the table and %+v in the map", id, a, b)
		}
	}
}
