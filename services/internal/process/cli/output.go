package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// output is the destination of an export. A file gets its name only when it is
// complete: what a failure leaves does not look like an export.
type output struct {
	io.Writer
	file *os.File // nil: the caller closes the writer
	name string   // the final name of the file, "" if it has it
	// begun reports that bytes were written.
	begun bool
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.begun = true
	return o.Writer.Write(p)
}

// openOutput opens a file for writing, or the standard output for "-".
func openOutput(name string, standard io.Writer) (*output, error) {
	if name == "-" {
		return &output{Writer: standard}, nil
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a pipe or a device
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &output{Writer: file, file: file}, err
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	return &output{Writer: file, file: file, name: name}, err
}

// keepIf makes a complete file durable and gives it its name.
func (o *output) keepIf(complete bool) error {
	if !complete || o.file == nil {
		return nil
	}
	if o.name == "" {
		return o.file.Close()
	}
	err := keepAs(o.file, o.name)
	if err == nil {
		o.file = nil
	}
	return err
}

// keepAs closes a complete file and gives it its name, durably: a crash leaves the file that had the
// name before, or this one.
func keepAs(file *os.File, name string) error {
	err := errors.Join(file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // it does not synchronize folders
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// discard removes a file that was not kept.
func (o *output) discard() error {
	if o.file == nil || o.name == "" {
		return nil
	}
	_ = o.file.Close() // closed already where only the renaming failed
	return os.Remove(o.file.Name())
}
