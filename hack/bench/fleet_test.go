package main

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const testConns = 8

// loads are all kinds of requests, with few voters so that they come round.
func loads(t *testing.T) map[string]workload {
	t.Helper()
	viewers, err := signAll(50, viewerCredential)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]workload{
		"one poll":    newVotes("one", 1, viewers),
		"many polls":  newVotes("many", 7, viewers),
		"submissions": &submissions{buffer: "b", credentials: viewers},
		"patches":     newPatches(viewers, testConns),
	}
}

func drive(t *testing.T, address string, load workload, requests int64) error {
	t.Helper()
	f, err := newFleet(t.Context(), testConns, load, address)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	s, err := f.driveLoad(t.Context(), time.Minute, requests)
	if err == nil && (s.requests != requests || f.sent.Load() != requests) {
		t.Errorf("%d answers to %d requests, want %d", s.requests, f.sent.Load(), requests)
	}
	return err
}

func TestLoadsFindAnExactServerExact(t *testing.T) {
	for name, load := range loads(t) {
		t.Run(name, func(t *testing.T) {
			address, server := startStub(t, &stub{})
			if err := drive(t, address, load, 501); err != nil {
				t.Fatal(err)
			}
			if err := load.verify(t.Context(), server, 501); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadsFindALostWrite(t *testing.T) {
	for name, load := range loads(t) {
		t.Run(name, func(t *testing.T) {
			address, server := startStub(t, &stub{loseEvery: 501}) // the last one
			if err := drive(t, address, load, 501); err != nil {
				t.Fatal(err)
			}
			if err := load.verify(t.Context(), server, 501); err == nil {
				t.Error("a lost write was not found")
			}
		})
	}
}

func TestReadsCheckThePollTheyRead(t *testing.T) {
	address, server := startStub(t, &stub{})
	viewers, err := signAll(50, viewerCredential)
	if err != nil {
		t.Fatal(err)
	}
	load := &reads{poll: pollID("read", 0), credentials: viewers}
	if err := load.verify(t.Context(), server, 0); err == nil {
		t.Error("an empty poll passes for a full one")
	}
	for _, load := range []workload{newVotes("read", 1, viewers), load} {
		if err := drive(t, address, load, 50); err != nil {
			t.Fatal(err)
		}
	}
	if err := load.verify(t.Context(), server, 50); err != nil {
		t.Error(err)
	}
}

func TestDriveEndsAtAnAnswerThatIsNot200(t *testing.T) {
	address, _ := startStub(t, &stub{refuse: 503})
	err := drive(t, address, loads(t)["one poll"], math.MaxInt64)
	if err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("error is %v, want one with the status", err)
	}
}

// A server that never answers does not hold a client whose context has ended.
func TestDriveEndsWithItsContext(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := newFleet(ctx, 2, loads(t)["one poll"], listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	go func() {
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = accepted.Read(make([]byte, 1)) // the request is under way
		cancel()
	}()
	if _, err := f.driveLoad(ctx, time.Hour, math.MaxInt64); err == nil {
		t.Error("no error from a drive cut short")
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error("the drive ended before it was cut short")
	}
}

func TestDialRefusesOtherMachines(t *testing.T) {
	for _, address := range []string{"192.0.2.1:80", "example.invalid:80", "0.0.0.0:80"} {
		if _, err := dialConn(t.Context(), address); err == nil {
			t.Errorf("%s was dialled", address)
		}
	}
}

// At a rate the connections take turns, and a request that is late does not put
// off those after it.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{conns: make([]*rawConn, 4), rate: 8}
		begin := time.Now()
		for i := range f.conns {
			due := f.newSchedule(i)
			offset := time.Since(begin) + time.Duration(i)*125*time.Millisecond
			for n := range 3 {
				at := due(t.Context())
				if want := begin.Add(offset + time.Duration(n)*500*time.Millisecond); !at.Equal(want) {
					t.Errorf("request %d of connection %d is due at %v, want %v", n, i, at.Sub(begin), want.Sub(begin))
				}
				if n == 1 {
					<-time.After(2 * time.Second)
				}
			}
			if late := time.Since(begin.Add(offset)); late != 2500*time.Millisecond {
				t.Errorf("the last of connection %d was sent after %v, want at once", i, late)
			}
		}
	})
}

func TestSharesAreOfWhatWasOffered(t *testing.T) {
	f := &fleet{programs: 2}
	var answered []*hdrhistogram.Histogram
	for _, n := range []int64{10, 5, 10} { // connections 0 and 2 go to one program
		h := newHistogram()
		if err := h.RecordValues(1, n); err != nil {
			t.Fatal(err)
		}
		answered = append(answered, h)
	}
	for offered, want := range map[float64][]float64{
		30: {1, 0.5},   // ten for each connection
		25: {1.2, 0.6}, // as many as were answered
	} {
		if diff := cmp.Diff(want, f.answeredShares(answered, offered), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("shares of %v offered (-want +got):\n%s", offered, diff)
		}
	}
}
