package tenant

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/acclaim-dev/acclaim/services/internal/filewatch"
)

// sample is the registry of a program without a registry file.
//
//go:embed sample.yaml
var sample []byte

// Directory holds the registry that is in force and replaces it when the file
// it comes from changes.
type Directory struct {
	path    string // "": the registry is the built-in sample
	check   func(*Registry) error
	seen    []byte // the content last read, nil if that failed; Watch's own once Open has returned
	current atomic.Pointer[Registry]
}

// Open reads the registry file at path. Where check is not nil, a registry for which it
// returns an error is not used.
func Open(path string, check func(*Registry) error) (*Directory, error) {
	d := &Directory{path: path, check: check}
	if _, err := d.reloadFile(); err != nil {
		return nil, err
	}
	return d, nil
}

// OpenSample returns a directory with the built-in sample extension, whose keys are public.
func OpenSample() (*Directory, error) {
	registry, err := Parse(sample)
	if err != nil {
		return nil, fmt.Errorf("built-in sample: %w", err)
	}
	d := &Directory{}
	d.current.Store(registry)
	return d, nil
}

// IsSample reports whether the registry is the built-in sample.
func (d *Directory) IsSample() bool { return d.path == "" }

// Registry returns the registry in force. A caller that needs several answers
// that belong together asks one Registry for all of them.
func (d *Directory) Registry() *Registry { return d.current.Load() }

// Watch replaces the registry whenever the content of the file changes, until
// ctx is done, and then returns nil. It calls reloaded after each change: with
// nil when the new registry is in force, with the reason when the file cannot be
// used and the registry in force stays.
//
// One Directory is watched once at a time.
func (d *Directory) Watch(ctx context.Context, reloaded func(error)) error {
	if d.IsSample() {
		<-ctx.Done()
		return nil
	}
	return filewatch.Watch(ctx, func() {
		if changed, err := d.reloadFile(); changed {
			reloaded(err)
		}
	}, reloaded, d.path)
}

// reloadFile reads the file and puts the registry it holds in force. It reports
// whether the content, or that there is none, differs from the time before.
func (d *Directory) reloadFile() (changed bool, err error) {
	data, err := os.ReadFile(d.path)
	if err != nil {
		changed, d.seen = d.seen != nil, nil
		return changed, fmt.Errorf("read extension registry: %w", err)
	}
	if d.seen != nil && bytes.Equal(data, d.seen) {
		return false, nil
	}
	d.seen = data
	registry, err := Parse(data)
	if err == nil && d.check != nil {
		err = d.check(registry)
	}
	if err != nil {
		return true, fmt.Errorf("extension registry %s:\n%w", d.path, err)
	}
	d.current.Store(registry)
	return true, nil
}
