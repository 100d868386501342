package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// testTimeout limits a test. A defect may make it wait for something that never comes, and
// Go then reports the test that ran.
const testTimeout = 2 * time.Minute

// attempts limits the runs of a test, one of them has to fail: histories are random, and
// miss a defect now and then.
const attempts = 3

// bringBack builds and runs the test of each defect, and writes a line about each. The
// error names those that no test finds.
func bringBack(ctx context.Context, cases []defectCase, root, dir string, out io.Writer) (err error) {
	for i, d := range cases {
		began := time.Now()
		failure := d.check(ctx, root, filepath.Join(dir, strconv.Itoa(i)))
		verdict := "found"
		if failure != nil {
			verdict = "NOT FOUND"
			err = errors.Join(err, fmt.Errorf("%s: %w", d.name, failure))
		}
		_, _ = fmt.Fprintf(out, "%5.1f s  %-9s  %s (%s)\n", time.Since(began).Seconds(), verdict, d.name, d.test)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// check returns nil if the test of the defect fails once the defect is there.
func (d defectCase) check(ctx context.Context, root, dir string) error {
	file, err := writeOverlay(root, dir, d.edits)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", file, "-o", binary, "./"+d.folder)
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, said)
	}
	// The name of a subtest has a pattern of its own after each slash.
	pattern := "^" + strings.ReplaceAll(d.test, "/", "$/^") + "$"
	for range attempts {
		test := exec.CommandContext(ctx, binary, "-test.run", pattern, "-test.v", "-test.timeout", testTimeout.String())
		test.Dir = filepath.Join(root, d.folder)
		// A simulated world finds some defects once in five.
		test.Env = append(test.Environ(), "ACCLAIM_SIM_WORLDS=60")
		said, runErr := test.CombinedOutput()
		if err = judgeRun(d.test, string(said), runErr); runErr != nil {
			return err
		}
	}
	return err
}

// judgeRun returns nil if a run of one test failed because that test did, or ended the
// process.
func judgeRun(test, said string, err error) error {
	top, _, _ := strings.Cut(test, "/")
	began := strings.Contains(said, "=== RUN   "+top+"\n")
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil && !began:
		return fmt.Errorf("there is no test %s", test)
	case err == nil:
		return fmt.Errorf("%s passes", test)
	case !exited || !exit.Exited() || !began || top != test && !strings.Contains(said, "--- FAIL: "+test+" "):
		return fmt.Errorf("%s did not run: %w\n%s", test, err, said)
	}
	return nil
}
