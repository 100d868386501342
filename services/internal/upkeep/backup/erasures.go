package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

const (
	// erasuresFile has a line for each record of an erasure. A backup without records has no
	// such file, so that earlier versions can restore it.
	erasuresFile = "erasures.jsonl"
	// maxErasures limits the file, in bytes: it is held in memory.
	maxErasures = 256 << 20
)

// ErrUnknownErasures marks a backup whose list of erasures cannot be read.
var ErrUnknownErasures = errors.New("its list of erasures cannot be read")

// erasureLine is a line of the file.
type erasureLine struct {
	Key    string          `json:"key"`
	Record json.RawMessage `json:"record"`
	// Applied is set where the erasure had ended before the exports began: they have nothing
	// of the viewer but what the viewer did afterwards.
	Applied bool `json:"applied"`
}

// Erasures are records of erasures by their keys.
type Erasures struct {
	// Known are all records.
	Known map[string]json.RawMessage
	// applied has the keys of those that the exports of the backup had behind them.
	applied map[string]bool
}

// Pending returns the records of erasures that the exports of the backup do not know.
func (e *Erasures) Pending() map[string]json.RawMessage {
	pending := map[string]json.RawMessage{}
	for name, record := range e.Known {
		if !e.applied[name] {
			pending[name] = record
		}
	}
	return pending
}

// Add adds the records that a store has.
func (e *Erasures) Add(ctx context.Context, store transfer.Source, environments []string) error {
	lines, err := listErasures(ctx, store, environments)
	for _, line := range lines {
		e.Known[line.Key] = line.Record
	}
	return err
}

// Erasures returns the erasures that a backup and all newer ones of its storage list. The
// error is [ErrUnknownErasures] where one of them cannot tell: without its list, viewers that
// were erased would be there again.
func (b *Backup) Erasures(ctx context.Context) (*Erasures, error) {
	names, err := b.storage.List(ctx)
	if err != nil {
		return nil, err
	}
	e := &Erasures{Known: map[string]json.RawMessage{}, applied: map[string]bool{}}
	for _, name := range names {
		if name < b.Name { // names sort by age
			continue
		}
		lines, err := (&Backup{Name: name, storage: b.storage}).readErasures(ctx)
		if err != nil {
			return nil, fmt.Errorf("the backup %s: %w: %w.\nNothing was restored: without this list, viewers that were erased since %s could be there again. "+
				"Restore a newer backup, repair this one, or move it elsewhere to restore without its list", name, ErrUnknownErasures, b.badFile(err), b.Name)
		}
		for _, line := range lines {
			e.Known[line.Key] = line.Record
			if name == b.Name && line.Applied {
				e.applied[line.Key] = true
			}
		}
	}
	return e, nil
}

// listErasures returns the records that a store has.
func listErasures(ctx context.Context, store transfer.Source, environments []string) (lines []erasureLine, err error) {
	for _, environment := range environments {
		for name, err := range store.Keys(ctx, key.Prefix(key.Erased, environment)) {
			if err != nil {
				return nil, err
			}
			found, err := store.Get(ctx, name)
			if err != nil {
				return nil, err
			}
			if found[0].Version > 0 {
				lines = append(lines, erasureLine{Key: name, Record: found[0].Body})
			}
		}
	}
	return lines, nil
}

// writeErasures writes the records that the store has now, after the exports. Those of before
// the exports count as applied.
func (w *writer) writeErasures(ctx context.Context, before []erasureLine) error {
	lines, err := listErasures(ctx, w.store, w.environments)
	if err != nil || len(lines) == 0 {
		return err
	}
	applied := map[string]bool{}
	for _, line := range before {
		applied[line.Key] = true
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	for _, line := range lines {
		line.Applied = applied[line.Key]
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("the record %s of an erasure: %w", line.Key, err)
		}
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sha256.Sum256(content.Bytes()), erasuresFile)
	return w.draft.WriteFile(ctx, erasuresFile, func(file io.Writer) error {
		_, err := file.Write(content.Bytes())
		return err
	})
}

// readErasures returns the lines of the file, none where the backup has no such file.
func (b *Backup) readErasures(ctx context.Context) (lines []erasureLine, err error) {
	sums, err := b.readSums(ctx)
	if err != nil {
		return nil, err
	}
	want := ""
	for line := range strings.Lines(sums) {
		if sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); name == erasuresFile {
			want = sum
		}
	}
	if want == "" {
		if sums == "" {
			return nil, fmt.Errorf("%w: %s is empty", transfer.ErrBadFile, sumsFile)
		}
		return nil, nil
	}
	content, err := b.readFile(ctx, erasuresFile, maxErasures)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("%w: %s was changed", transfer.ErrBadFile, erasuresFile)
	}
	for decoder := json.NewDecoder(bytes.NewReader(content)); decoder.More(); {
		var line erasureLine
		if err := decoder.Decode(&line); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", transfer.ErrBadFile, erasuresFile, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}
