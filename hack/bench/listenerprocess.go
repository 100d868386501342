package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// listenCommand is the argument with which this program listens for the one that has started it.
const listenCommand = "listen"

// listenerProcess is listeners in a process of their own: one process may not open as many files
// as there are listeners.
type listenerProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// startListeners connects listeners to an address, with the credentials of the viewers from first
// on, and returns when they all listen. They may share connections.
func startListeners(ctx context.Context, address string, first, count int, shared bool) (*listenerProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &listenerProcess{command: exec.CommandContext(ctx, self, listenCommand, address, strconv.Itoa(first), strconv.Itoa(count), strconv.FormatBool(shared))}
	l.command.Stderr = os.Stderr
	if l.in, err = l.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewReader(out)
	if err := l.command.Start(); err != nil {
		return nil, err
	}
	if _, err := l.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("no listeners: %w", err), l.stop())
	}
	return l, nil
}

// expectNext returns when all listeners await the next message.
func (l *listenerProcess) expectNext() error {
	if _, err := io.WriteString(l.in, "next\n"); err != nil {
		return err
	}
	_, err := l.out.ReadString('\n')
	return err
}

// readArrivals returns the times at which the message arrived at each listener, in microseconds of
// Unix time.
func (l *listenerProcess) readArrivals() (micros []int64, err error) {
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return micros, json.Unmarshal(line, &micros)
}

func (l *listenerProcess) stop() error {
	return errors.Join(l.in.Close(), l.command.Wait())
}

// listenForParent connects listeners and reports what arrives at them, as the program of a
// listenerProcess, until its input ends.
func listenForParent(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 4 {
		return errors.New("usage: bench listen ADDRESS FIRST COUNT SHARED")
	}
	first, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	credentials, err := signAll(count, func(n int) (string, error) { return viewerCredential(first + n) })
	if err != nil {
		return err
	}
	shared, err := strconv.ParseBool(args[3])
	if err != nil {
		return err
	}
	connect := connectSubscribers
	if shared {
		connect = connectStreams
	}
	all, err := connect(ctx, args[0], credentials)
	if err != nil {
		return err
	}
	defer all.close()
	if _, err := fmt.Fprintln(stdout, "listening"); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		arrived, err := all.awaitNext(ctx, func(int64) error {
			_, err := fmt.Fprintln(stdout, "expecting")
			return err
		})
		if err != nil {
			return err
		}
		if err := json.NewEncoder(stdout).Encode(microsOf(arrived)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func microsOf(times []time.Time) []int64 {
	micros := make([]int64, len(times))
	for i, t := range times {
		micros[i] = t.UnixMicro()
	}
	return micros
}
