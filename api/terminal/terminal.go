// Package terminal writes for people at a terminal: texts of others, without the characters
// that move a cursor; pictures that replace each other; and the results of a poll.
//
// The services' command line and kubectl's plugin share it. It calls no service.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Plain replaces control characters, which could make a terminal show what is not there.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Screen shows pictures, each instead of the one before on a terminal, else one after the
// other.
type Screen struct {
	out   io.Writer
	lines int // of the picture that is there
}

// NewScreen returns a screen that shows nothing yet.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Show shows what draw returns for the terminal's width in columns, 0 without a terminal.
// It ends with the end of a line, and no line is wider.
func (s *Screen) Show(draw func(width int) string) error {
	width, erase := 0, ""
	if IsTerminal(s.out) {
		width, _, _ = term.GetSize(int(s.out.(*os.File).Fd()))
		if s.lines > 0 {
			erase = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines) // up, and clear what is below
		}
	}
	picture := draw(width)
	s.lines = strings.Count(picture, "\n")
	_, err := io.WriteString(s.out, erase+picture)
	return err
}
