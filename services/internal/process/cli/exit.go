package cli

import (
	"errors"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/backup"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// The exit codes of all commands.
const (
	exitDone     = 0
	exitProblems = 1
	exitFailed   = 2
	exitNotEmpty = 3
)

// exitCodesHelp documents them.
const exitCodesHelp = `Every command exits with 0 when it is done, with 1 when something is wrong with what
it checks, moves or serves (which it names), and with 2 when it could not do its
work: wrong flags, a store or a file that cannot be opened, an address in use.
Restore with --claim exits with 3 when the store is not empty.`

// problem is an error about what a command checks, moves or serves, not about the
// command.
type problem struct{ error }

func (p problem) Unwrap() error { return p.error }

// foundProblems returns an error that counts problems, nil if there are none.
func foundProblems(n int) error {
	if n == 0 {
		return nil
	}
	return problem{fmt.Errorf("problems found: %d", n)}
}

func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[problem](err); ok {
		return exitProblems
	}
	if errors.Is(err, backup.ErrNotEmpty) {
		return exitNotEmpty
	}
	for _, unsound := range []error{stream.ErrDamaged, transfer.ErrBadFile, transfer.ErrDiffers, backup.ErrEmptyStore} {
		if errors.Is(err, unsound) {
			return exitProblems
		}
	}
	return exitFailed
}
