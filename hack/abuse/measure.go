package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/hack/processor"
)

const (
	warmup = 500 * time.Millisecond // before anything is measured
	// The median of three windows leaves out one that another program of this machine delays.
	// What an attack leaves behind lasts, and shows in all three.
	calmWindows  = 3
	attackWindow = 6
	afterWindows = 3
	// attackLength covers the windows and the time in which the attack builds up.
	attackLength = attackWindow*windowLength + 800*time.Millisecond
	recovery     = 10 * time.Second
	samplePause  = 50 * time.Millisecond
	// rowsAtOnce is the number of programs at a time: one is measured, the others
	// recover from their attacks without a load.
	rowsAtOnce = 3
)

// attackBench has what all rows share.
type attackBench struct {
	runOptions
	binary  builtProgram
	measure *semaphore.Weighted // of one: what is measured has the machine to itself
}

func (o runOptions) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.progress, "abuse: "+format+"\n", args...) // a failure to report progress cannot be reported
}

// measureAll runs the attacks one after the other, each against a program of its own.
func measureAll(ctx context.Context, o runOptions) ([]reportRow, error) {
	if err := o.checkAbilities(ctx); err != nil {
		return nil, err
	}
	o.logf("building the program")
	binary, err := buildProgram(ctx, o.dir)
	if err != nil {
		return nil, err
	}
	b := &attackBench{runOptions: o, binary: binary, measure: semaphore.NewWeighted(1)}
	rows := make([]reportRow, len(o.attacks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rowsAtOnce)
	for i, a := range o.attacks {
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			rows[i], err = b.measureReliably(ctx, a, i+1)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			o.logf("%-22s%s", a.name, rows[i].verdict())
			return nil
		})
	}
	return rows, group.Wait()
}

// measureReliably measures a row, several times if delays are its only problem: they may be
// the work of another program of this machine. A defence that is missing shows each time.
func (b *attackBench) measureReliably(ctx context.Context, a attackCase, number int) (r reportRow, err error) {
	const tries = 5
	for try := range tries {
		figures, err := b.measureRow(ctx, a, fmt.Sprintf("127.66.%d.1", number+50*try))
		if err != nil {
			return r, err
		}
		r = reportRow{attack: a, rowFigures: figures, problems: figures.judge(a)}
		if !r.isOnlySlow(a) && !r.isUnclear(a) {
			break
		}
		b.logf("%-22sis slow, with %.0f %% of the processors stolen: %s", a.name, 100*r.mostStolen(), strings.Join(r.problems, "; "))
	}
	return r, nil
}

// checkAbilities leaves out the attacks that this machine cannot run, and says so. In
// CI they are an error.
func (o *runOptions) checkAbilities(ctx context.Context) error {
	if err := checkMachine(); err != nil {
		return err
	}
	needsMount := func(a attackCase) bool { return a.smallDisk }
	if !slices.ContainsFunc(o.attacks, needsMount) {
		return nil
	}
	err := checkMounts(ctx, o.dir)
	if err == nil || os.Getenv("CI") != "" {
		return err
	}
	o.logf("NOT RUN: the attacks on the disk, because this machine cannot: %v", err)
	o.attacks = slices.DeleteFunc(slices.Clone(o.attacks), needsMount)
	return nil
}

// world is a program, its victims, the systems that its sinks lead to, the issuer at which people
// sign in, and the processes that share its database.
type world struct {
	program  *program
	settings programSettings
	victims  *victims
	sinks    *sinkReceiver
	issuer   *issuer
	cluster  *cluster
}

// measureRow measures calm, attack and, after the recovery, calm again.
func (b *attackBench) measureRow(ctx context.Context, a attackCase, source string) (r rowFigures, err error) {
	if err := b.measure.Acquire(ctx, 1); err != nil {
		return r, err
	}
	held := true
	defer func() {
		if held {
			b.measure.Release(1)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.newWorld(ctx, a, source)
	if err != nil {
		return r, err
	}
	defer func() { r.ended = errors.Join(r.ended, w.close()) }()
	if r.calm, err = w.measureCalm(ctx); err != nil {
		return r, err
	}
	if err := w.measureAttack(ctx, a, source, &r); err != nil {
		return r, err
	}
	if err := w.readSigns(ctx, a, &r); err != nil {
		return r, err
	}
	b.measure.Release(1)
	held = false
	attacked, said := time.Now(), w.victims.said.Load()
	wait(ctx, recovery)
	if err := b.measure.Acquire(ctx, 1); err != nil {
		return r, err
	}
	held = true
	w.measurePhase(ctx, afterWindows, &r.after)
	if r.after.liveHeap, err = w.program.readLiveHeap(ctx); err != nil {
		r.ended = fmt.Errorf("the admin listener: %w", err)
	}
	if w.sinks != nil {
		r.undelivered, r.stale = w.sinks.countMissing(said), w.sinks.staleness(attacked)
	}
	if w.program.hasExited() {
		r.ended = fmt.Errorf("it ended by itself: %w", w.program.failure)
	}
	return r, nil
}

// noProxy is a network that is not on this machine, where each address is a client.
const noProxy = "192.0.2.1/32"

// newWorld starts everything in a folder of its own, for an attack from an address.
func (b *attackBench) newWorld(ctx context.Context, a attackCase, source string) (_ *world, err error) {
	dir := filepath.Join(b.dir, a.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	w := &world{settings: programSettings{proxies: noProxy, smallDisk: a.smallDisk}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if a.issuer {
		if w.issuer, err = startIssuer(ctx); err != nil {
			return nil, err
		}
		a.settings += w.issuer.settings()
	}
	w.settings.registry = "extensions:\n" + extensionEntry(extension, a.settings, nil, "") + extensionEntry(otherExtension, "", nil, "") +
		extensionEntry(leakyExtension, "", nil, "") + sampleEntry
	if a.sinks {
		if w.sinks, err = startReceiver(ctx); err != nil {
			return nil, err
		}
		hanging, err := startHanging(ctx)
		if err != nil {
			return nil, err
		}
		w.settings.registry = "extensions:\n" + extensionEntry(extension, a.settings, []string{w.sinks.address + webhookPath}, w.sinks.address+pubsubPath) +
			extensionEntry(otherExtension, "", []string{hanging, hanging, hanging, hanging}, "")
	}
	if a.rig != nil {
		if w.settings.rig, err = a.rig(dir); err != nil {
			return nil, err
		}
	}
	if a.proxy {
		w.settings.proxies = source + "/32"
	}
	return w, w.start(ctx, b.binary, dir, a.members)
}

// start starts the program, another member if it has members, and the victims.
func (w *world) start(ctx context.Context, binary builtProgram, dir string, members bool) (err error) {
	s := w.settings
	if members {
		if w.cluster, err = newCluster(ctx, binary, dir); err != nil {
			return err
		}
		s.flags = []string{"--mongodb-uri", w.cluster.database.URI, "--peer-listen", w.cluster.port}
	}
	if w.program, err = startProgram(ctx, binary, dir, s); err != nil {
		return err
	}
	var others []*program
	if members {
		if err := w.cluster.join(ctx, w.settings, time.Now().Add(startTimeout)); err != nil {
			return fmt.Errorf("a member: %w", err)
		}
		others = w.cluster.members
	}
	w.victims, err = newVictims(ctx, w.program, others)
	return err
}

// close ends everything and returns how the program ended.
func (w *world) close() error {
	if w.victims != nil {
		w.victims.close()
	}
	var errs []error
	if w.program != nil {
		errs = append(errs, w.program.stop())
	}
	if w.cluster != nil {
		errs = append(errs, w.cluster.close())
	}
	if w.sinks != nil {
		errs = append(errs, w.sinks.server.Close())
	}
	if w.issuer != nil {
		errs = append(errs, w.issuer.server.Close())
	}
	return errors.Join(errs...)
}

func (w *world) measureCalm(ctx context.Context) (p phaseFigures, err error) {
	warm, cancel := context.WithTimeout(ctx, warmup)
	defer cancel()
	w.victims.live(warm)
	w.measurePhase(ctx, calmWindows, &p)
	if p.liveHeap, err = w.program.readLiveHeap(ctx); err != nil {
		return p, err
	}
	if p.metrics, err = w.program.readMetrics(ctx); err != nil {
		return p, err
	}
	return p, ctx.Err()
}

// readSigns notes how an operator would notice the attack that has just ended.
func (w *world) readSigns(ctx context.Context, a attackCase, r *rowFigures) (err error) {
	if r.attack.metrics, err = w.program.readMetrics(ctx); err != nil {
		r.ended = fmt.Errorf("the admin listener: %w", err)
	}
	r.warned, err = w.program.hasLogged(a.signs.warning)
	return err
}

// measurePhase lets the victims live for a number of windows.
func (w *world) measurePhase(ctx context.Context, windows int, p *phaseFigures) {
	phase, cancel := context.WithCancel(ctx)
	begin, ended := processor.ReadTime(), make(chan struct{})
	go func() {
		w.victims.live(phase)
		close(ended)
	}()
	w.readWindows(phase, windows, p)
	cancel()
	<-ended
	p.stolen = processor.ReadTime().StolenShare(begin)
	w.victims.endPhase(p)
	p.stored = w.program.countStored()
}

// readWindows takes the medians of the windows and the most that the program holds.
func (w *world) readWindows(ctx context.Context, windows int, p *phaseFigures) {
	figures := map[victimKind][]time.Duration{}
	sample := time.NewTicker(samplePause)
	defer sample.Stop()
	for range windows {
		for end := time.After(windowLength); end != nil; {
			select {
			case <-sample.C:
				p.hold(w.program.readResources())
			case <-end:
				end = nil
			case <-ctx.Done():
				return
			}
		}
		for kind, p99 := range w.victims.endWindow() {
			figures[kind] = append(figures[kind], p99)
		}
	}
	p.requests, p.connections, p.events = median(figures[requests]), median(figures[connections]), median(figures[events])
}

// hold keeps the greatest values.
func (p *phaseFigures) hold(r heldResources) {
	p.resources.resident = max(p.resources.resident, r.resident)
	p.resources.peak = max(p.resources.peak, r.peak)
	p.resources.descriptors = max(p.resources.descriptors, r.descriptors)
}

// measureAttack lets the victims live beside the attack. Where there are members, one more
// starts in the middle of its build-up.
func (w *world) measureAttack(ctx context.Context, a attackCase, source string, r *rowFigures) error {
	from, err := newAttacker(a, w.program, source)
	if err != nil {
		return err
	}
	if w.issuer != nil {
		from.Issuer = w.issuer.address
	}
	var under errgroup.Group
	if w.cluster != nil {
		from.Peers = w.cluster.port
		end := time.Now().Add(from.Duration)
		under.Go(func() error {
			wait(ctx, a.buildUp/2)
			r.apart = w.cluster.join(ctx, w.settings, end)
			return nil
		})
	}
	under.Go(func() (err error) {
		r.launched, err = launch(ctx, from)
		return err
	})
	wait(ctx, from.Duration-attackWindow*windowLength)
	w.measurePhase(ctx, attackWindow, &r.attack)
	err = under.Wait()
	r.attack.hold(w.program.readResources())
	r.attack.resources.resident = r.attack.resources.peak // between the samples, too
	return err
}

// launch runs an attack in a process of the lowest priority and returns what it did.
func launch(ctx context.Context, a *attacker) (map[string]int, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Duration+grace)
	defer cancel()
	command := exec.CommandContext(ctx, "nice", "-n", "19", self, attackCommand)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("the attacker: %w", err)
	}
	var launched map[string]int
	return launched, json.Unmarshal(output, &launched)
}
