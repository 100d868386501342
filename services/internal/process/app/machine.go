package app

import (
	"context"
	"net"
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
)

// Machine holds what surrounds a process: a network, a clock and a disk. The zero
// Machine is the machine that the program runs on; a simulation has another one.
type Machine struct {
	// Listen opens a listener at a TCP address.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	// Dial connects to the database and to the other processes.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport carries the requests of sinks; nil stands for the network, within the limits of
	// Config.SinkAllowPrivate.
	Transport http.RoundTripper
	// Clock gives the times that are stored, and those at which credentials hold.
	Clock stream.Clock
	// Disk holds the folder of the embedded store.
	Disk pebblestore.Disk
}

func (m Machine) withDefaults() Machine {
	if m.Listen == nil {
		m.Listen = (&net.ListenConfig{}).Listen
	}
	if m.Dial == nil {
		m.Dial = (&net.Dialer{}).DialContext
	}
	if m.Clock == nil {
		m.Clock = stream.SystemClock()
	}
	if m.Disk == nil {
		m.Disk = pebblestore.MachineDisk()
	}
	return m
}
