package publish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// File is one of the static files of the log and of the polls' lists.
type File struct {
	Data []byte
	// Immutable reports that the file never changes.
	Immutable bool
}

// Withheld is the error for a file that exists and is not shown.
type Withheld struct{ Reason string }

// Error implements error.
func (w *Withheld) Error() string { return "the entries are withheld: " + w.Reason }

// What Withheld.Reason may be.
const (
	withheldHidden = "hidden" // until the results are shown
	withheldOpen   = "open"   // until the poll is closed
	withheldSmall  = "small"  // there are too few voters to hide among
	withheldNever  = "never"  // as the poll's configuration says
)

const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// fileKey names a file that was read: a tile of the log with an origin, where Tree is zero, or of a poll's
// list. A restored list may grow to other entries than it had before; a new log begins then.
type fileKey struct {
	origin string
	tree   verifiable.TreeID
	tile   tlog.Tile
}

func errNoFile() error { return fault.New(fault.NotFound, "No such file") }

// ReadFile returns the file at a path below /log/. The error is fault.NotFound, [Withheld], or one of
// the store's.
func (p *Publisher) ReadFile(ctx context.Context, path string) (File, error) {
	if rest, ok := strings.CutPrefix(path, "t/"); ok {
		id, rest, _ := strings.Cut(rest, "/")
		return p.readTreeFile(ctx, id, rest)
	}
	switch path {
	case "checkpoint", "vkeys":
		s, err := p.signLog(ctx, 0)
		switch {
		case err != nil:
			return File{}, err
		case path == "vkeys":
			return File{Data: s.keysText()}, nil
		}
		return File{Data: p.newestCheckpoint(s)}, nil
	case "witnessed":
		return p.readWitnessed()
	}
	tile, ok := parseTile(path)
	if !ok {
		return File{}, errNoFile()
	}
	s, err := p.signLog(ctx, 0)
	if err != nil || !hasTile(s.tree.N, tile) {
		return File{}, orNoFile(err)
	}
	data, err := p.readLogTile(ctx, s.origin, tile)
	return File{Data: data, Immutable: true}, err
}

func orNoFile(err error) error {
	if err == nil {
		err = errNoFile()
	}
	return err
}

// parseTile reads the path of a tile: tile/<L>/<N>[.p/<W>], or tile/entries/ for a bundle.
func parseTile(path string) (tlog.Tile, bool) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok {
		return tlog.Tile{}, false
	}
	if entries, ok := strings.CutPrefix(rest, "entries/"); ok {
		rest = "data/" + entries
	}
	tile, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s", tileHeight, rest))
	if err != nil || verifiable.TilePath(tile) != path {
		return tlog.Tile{}, false
	}
	return tile, true
}

// hasTile reports whether a tree of a size has a tile.
func hasTile(size int64, t tlog.Tile) bool {
	if t.L > 7 {
		return false
	}
	hashes := size >> (tileHeight * max(t.L, 0))
	return t.N <= hashes/tileWidth && t.N*tileWidth+int64(t.W) <= hashes
}

// readTreeFile returns a file of the list with an id. Only lists that the log has are looked for.
func (p *Publisher) readTreeFile(ctx context.Context, id, path string) (File, error) {
	tree, ok := parseTreeID(id)
	if !ok {
		return File{}, errNoFile()
	}
	record, log, err := p.Log.Find(ctx, tree)
	if err != nil {
		return File{}, err
	}
	if path == "checkpoint" {
		s, err := p.signLog(ctx, record.Index+1)
		if err != nil {
			return File{}, err
		}
		data, err := s.checkpointOf(record.Leaf())
		return File{Data: data}, err
	}
	if ballot, ok := strings.CutPrefix(path, "ballots/"); ok {
		return p.readBallot(ctx, record, ballot)
	}
	return p.readTileFile(ctx, log.Origin, record, path)
}

func parseTreeID(id string) (tree verifiable.TreeID, ok bool) {
	if len(id) != hex.EncodedLen(len(tree)) || strings.ToLower(id) != id {
		return tree, false
	}
	_, err := hex.Decode(tree[:], []byte(id))
	return tree, err == nil
}

// readTileFile returns a tile or a bundle of a list.
func (p *Publisher) readTileFile(ctx context.Context, origin string, record *resultlog.Record, path string) (File, error) {
	tile, ok := parseTile(path)
	if !ok || !hasTile(record.Leaf().Entries.N, tile) {
		return File{}, errNoFile()
	}
	list, err := p.readListOf(ctx, record)
	if err != nil {
		return File{}, err
	}
	if tile.L < 0 {
		if err := withholds(list, tile); err != nil {
			return File{}, err
		}
	}
	data, err := p.readTreeTile(ctx, origin, list, tile)
	return File{Data: data, Immutable: true}, err
}

// readListOf returns the list of a record, as long as it is the poll's newest one or the one before.
func (p *Publisher) readListOf(ctx context.Context, record *resultlog.Record) (*voting.List, error) {
	poll, err := voting.ParseStream(record.Stream)
	if err != nil {
		return nil, fault.Wrap(fault.Storage, err, "the log is damaged")
	}
	list, err := p.Polls.ReadListOf(ctx, poll, record.Leaf().Tree)
	if err == nil && list == nil {
		err = errNoFile()
	}
	return list, err
}

// withholds returns why the entries of a bundle are not shown, or nil.
func withholds(l *voting.List, tile tlog.Tile) error {
	from, rules := tile.N*tileWidth, l.Rules()
	switch {
	case l.IsHidden(from, from+int64(tile.W)):
		return &Withheld{withheldHidden}
	case rules.Entries == contract.EntriesNever:
		return &Withheld{withheldNever}
	case l.IsSmall():
		return &Withheld{withheldSmall}
	case !l.Final && rules.Entries != contract.EntriesLive:
		return &Withheld{withheldOpen}
	}
	return nil
}

// readBallot returns the proof of a ballot, whose path is <size>/<voter>.
func (p *Publisher) readBallot(ctx context.Context, record *resultlog.Record, path string) (File, error) {
	size, voter, _ := strings.Cut(path, "/")
	number, err := strconv.ParseInt(voter, 10, 64)
	leaf := record.Leaf()
	if err != nil || leaf.Ballots == nil || size != strconv.FormatInt(leaf.Entries.N, 10) || strconv.FormatInt(number, 10) != voter {
		return File{}, errNoFile()
	}
	list, err := p.readListOf(ctx, record)
	if err != nil {
		return File{}, err
	}
	if list.Entries != leaf.Entries {
		return File{}, errNoFile()
	}
	poll, err := voting.ParseStream(record.Stream)
	if err != nil {
		return File{}, fault.Wrap(fault.Storage, err, "the log is damaged")
	}
	data, err := p.Polls.ListBallot(ctx, poll, number)
	return File{Data: data, Immutable: true}, err
}

// readLogTile returns a tile of the log.
func (p *Publisher) readLogTile(ctx context.Context, origin string, tile tlog.Tile) ([]byte, error) {
	return p.keep(ctx, fileKey{origin: origin, tile: tile}, func() ([]byte, error) {
		return readTile(tile, func(from, until int64, visit func(int64, []byte)) error {
			return p.Log.Leaves(ctx, from, until, visit)
		}, func() ([]tlog.Hash, error) { return p.Log.Tile(ctx, tile.L, tile.N, tile.W) })
	})
}

// readTreeTile returns a tile of a poll's list.
func (p *Publisher) readTreeTile(ctx context.Context, origin string, l *voting.List, tile tlog.Tile) ([]byte, error) {
	return p.keep(ctx, fileKey{origin, l.Tree, tile}, func() ([]byte, error) {
		return readTile(tile, func(from, until int64, visit func(int64, []byte)) error {
			return p.Polls.Leaves(ctx, l, from, until, visit)
		}, func() ([]tlog.Hash, error) { return p.Polls.ListTile(ctx, l, tile.L, tile.N, tile.W) })
	})
}

// keep returns a file from memory, or reads it, few at a time.
func (p *Publisher) keep(ctx context.Context, key fileKey, read func() ([]byte, error)) ([]byte, error) {
	if data, ok := p.files.Get(key); ok {
		return data, nil
	}
	if err := p.reads.Acquire(ctx, 1); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "too many files are read")
	}
	defer p.reads.Release(1)
	data, err := read()
	if err == nil {
		p.files.Add(key, data)
	}
	return data, err
}

// readTile makes a tile of leaves or, above the lowest level, of hashes.
func readTile(tile tlog.Tile, leaves func(from, until int64, visit func(index int64, data []byte)) error, hashes func() ([]tlog.Hash, error)) (data []byte, err error) {
	if tile.L > 0 {
		found, err := hashes()
		for _, h := range found {
			data = append(data, h[:]...)
		}
		return data, err
	}
	from := tile.N * tileWidth
	err = leaves(from, from+int64(tile.W), func(_ int64, leaf []byte) {
		if tile.L < 0 {
			data = verifiable.AppendBundle(data, leaf)
			return
		}
		h := tlog.RecordHash(leaf)
		data = append(data, h[:]...)
	})
	return data, err
}

// tileSource reads tiles for proofs. It implements [tlog.TileReader].
type tileSource func(tlog.Tile) ([]byte, error)

// Height implements [tlog.TileReader].
func (tileSource) Height() int { return tileHeight }

// SaveTiles implements [tlog.TileReader].
func (tileSource) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements [tlog.TileReader].
func (s tileSource) ReadTiles(tiles []tlog.Tile) (all [][]byte, err error) {
	for _, tile := range tiles {
		data, readErr := s(tile)
		all, err = append(all, data), errors.Join(err, readErr)
	}
	return all, err
}

func (p *Publisher) treeTiles(ctx context.Context, origin string, l *voting.List) tileSource {
	return func(tile tlog.Tile) ([]byte, error) { return p.readTreeTile(ctx, origin, l, tile) }
}

func (p *Publisher) logTiles(ctx context.Context) tileSource {
	return func(tile tlog.Tile) ([]byte, error) {
		return readTile(tile, func(from, until int64, visit func(int64, []byte)) error {
			return p.Log.Leaves(ctx, from, until, visit)
		}, func() ([]tlog.Hash, error) { return p.Log.Tile(ctx, tile.L, tile.N, tile.W) })
	}
}
