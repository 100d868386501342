package verifiable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Source reads the static files of a site, by their paths below it.
type Source interface {
	// ReadFile returns a file. The error is an [fs.ErrNotExist] where there is none.
	ReadFile(ctx context.Context, path string) ([]byte, error)
}

// Directory is a [Source] of files in the layout of the site.
type Directory struct{ FS fs.FS }

// ReadFile implements [Source].
func (d Directory) ReadFile(_ context.Context, path string) ([]byte, error) {
	return fs.ReadFile(d.FS, path)
}

// MaxFile bounds the files that a [Source] has to read, in bytes: a full bundle of the longest leaves.
const MaxFile = tileWidth * (2 + 1<<16)

// readError is an error of the source, which says nothing about the files' content.
type readError struct {
	path string
	err  error
}

// Error implements error.
func (e *readError) Error() string { return fmt.Sprintf("read %s: %v", e.path, e.err) }

func (e *readError) Unwrap() error { return e.err }

func isReadError(err error) bool {
	_, ok := errors.AsType[*readError](err)
	return ok
}

func read(ctx context.Context, src Source, path string) ([]byte, error) {
	data, err := src.ReadFile(ctx, path)
	if err != nil {
		return nil, &readError{path, err}
	}
	return data, nil
}

// treeFiles reads the files of one tree. It implements [tlog.TileReader].
type treeFiles struct {
	ctx    context.Context // of one check, as the interface has none
	src    Source
	folder string
	kept   map[tlog.Tile][]byte // tiles that matched a root
}

func newTreeFiles(ctx context.Context, src Source, folder string) *treeFiles {
	return &treeFiles{ctx: ctx, src: src, folder: folder, kept: map[tlog.Tile][]byte{}}
}

// Height implements [tlog.TileReader].
func (f *treeFiles) Height() int { return tileHeight }

// SaveTiles implements [tlog.TileReader].
func (f *treeFiles) SaveTiles(tiles []tlog.Tile, data [][]byte) {
	for i, t := range tiles {
		f.kept[t] = data[i]
	}
}

// ReadTiles implements [tlog.TileReader].
func (f *treeFiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	list := make([][]byte, len(tiles))
	for i, t := range tiles {
		if data, ok := f.kept[t]; ok {
			list[i] = data
			continue
		}
		data, err := f.readTile(t)
		if err != nil {
			return nil, err
		}
		if size := t.W * tlog.HashSize; t.L >= 0 && len(data) > size {
			data = data[:size] // of a full tile
		}
		list[i] = data
	}
	return list, nil
}

// readTile reads a tile, the full one where the partial one is gone.
func (f *treeFiles) readTile(t tlog.Tile) ([]byte, error) {
	data, err := read(f.ctx, f.src, f.folder+TilePath(t))
	if t.W < tileWidth && errors.Is(err, fs.ErrNotExist) {
		t.W = tileWidth
		if full, fullErr := read(f.ctx, f.src, f.folder+TilePath(t)); fullErr == nil {
			return full, nil
		}
	}
	return data, err
}

// rootAt returns the root that a signed tree had at a smaller size.
func (f *treeFiles) rootAt(tree tlog.Tree, size int64) (tlog.Hash, error) {
	if size == 0 {
		return emptyTree().Hash, nil
	}
	if size == tree.N {
		return tree.Hash, nil
	}
	return tlog.TreeHash(size, tlog.TileHashReader(tree, f))
}

// contains reports whether a signed tree continues an older one. It fails only when files are missing.
func (f *treeFiles) contains(tree, older tlog.Tree) (bool, error) {
	if older.N > tree.N {
		return false, nil
	}
	root, err := f.rootAt(tree, older.N)
	if err != nil {
		if isReadError(err) {
			return false, err
		}
		return false, nil // the tiles are not those of the root
	}
	return root == older.Hash, nil
}

// provenEntries calls visit as [treeFiles.entries] does, with leaves that the signed tree has.
func (f *treeFiles) provenEntries(tree tlog.Tree, from, to int64, visit func(data []byte)) error {
	hashes := tlog.TileHashReader(tree, f)
	return f.entries(tree.N, from, to, func(index int64, data []byte) error {
		signed, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
		if err == nil && signed[0] != tlog.RecordHash(data) {
			err = errBundle
		}
		if err == nil {
			visit(data)
		}
		return err
	})
}

// errBundle marks entries that do not match their place.
var errBundle = errors.New("a bundle of entries is malformed")

// entries calls visit with the data of each leaf from one index to another, of a tree of a size that
// the log has signed.
func (f *treeFiles) entries(size, from, to int64, visit func(index int64, leaf []byte) error) error {
	for index := from; index < to; {
		n := index / tileWidth
		t := tlog.Tile{H: tileHeight, L: -1, N: n, W: int(min(tileWidth, size-n*tileWidth))}
		data, err := f.readTile(t)
		if err != nil {
			return err
		}
		leaves, err := ParseBundle(data)
		if err != nil || len(leaves) < t.W {
			return fmt.Errorf("%w: %s", errBundle, strings.TrimPrefix(TilePath(t), "tile/"))
		}
		for end := min(to, n*tileWidth+int64(t.W)); index < end; index++ {
			if err := visit(index, leaves[index%tileWidth]); err != nil {
				return err
			}
		}
	}
	return nil
}
