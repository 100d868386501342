package pebblestore

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markerDisk shows what a power failure leaves after each marker that is created.
type markerDisk struct {
	vfs.FS
	created func()
}

// Create implements [vfs.FS].
func (d markerDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, c)
	if err == nil && strings.HasPrefix(d.PathBase(name), "marker.") {
		d.created()
	}
	return file, err
}

// A marker that a power failure leaves names a file that is there: the names of files are kept
// in no order, and a store whose marker names no manifest would not start.
func TestMarkerIsCreatedAfterItsFileIsDurable(t *testing.T) {
	const losses = 32
	memory := vfs.NewCrashableMem()
	random := rand.New(rand.NewPCG(1, 18))
	markers := 0
	c := memoryConfig(memory)
	c.fs = markerDisk{memory, func() {
		for range losses {
			left := memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: random})
			markers += checkMarkers(t, left)
		}
	}}
	for range 2 {
		s, err := open("/data", c, true)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, s)
	}
	if markers == 0 {
		t.Error("no failure has left a marker of a manifest")
	}
}

// checkMarkers makes sure that the files of manifests' markers are there, and returns the
// number of markers.
func checkMarkers(t *testing.T, disk vfs.FS) (markers int) {
	t.Helper()
	names, err := disk.List("/data")
	if err != nil {
		return 0 // the directory is not durable yet
	}
	for _, name := range names {
		parts := strings.SplitN(name, ".", 4) // marker, kind, number, file
		if len(parts) < 4 || parts[0] != "marker" || parts[1] != "manifest" {
			continue
		}
		markers++
		if _, err := disk.Stat(disk.PathJoin("/data", parts[3])); err != nil {
			t.Errorf("marker %s: %v", name, err)
		}
	}
	return markers
}
