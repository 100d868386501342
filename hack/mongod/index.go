package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver that FerretDB has, too
)

// indexEvery is how often new collections are looked for.
const indexEvery = time.Second

// indexer gives every collection an index that looking up an _id can use. The one
// that FerretDB makes is on `->"_id"`, its queries ask for `->'$._id'`, and so SQLite
// evaluates them record by record: with some thousand records that is all a
// processor does.
type indexer struct {
	folder string
	files  map[string]*file
}

// file is one database.
type file struct {
	info   os.FileInfo // a file of the same name may be another one later
	db     *sql.DB
	schema int // its version when all collections were indexed
}

// run indexes until the context ends.
func (x *indexer) run(ctx context.Context) {
	x.files = map[string]*file{}
	ticker := time.NewTicker(indexEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			for path := range x.files {
				x.forget(path)
			}
			return
		case <-ticker.C:
			// Without an index it works, too; what failed is tried again.
			if err := x.look(ctx); err != nil && ctx.Err() == nil {
				slog.Warn("collections cannot be indexed", "error", err)
			}
		}
	}
}

// look indexes the collections of all files.
func (x *indexer) look(ctx context.Context) error {
	paths, err := filepath.Glob(filepath.Join(x.folder, "*.sqlite"))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	var failures []error
	for _, path := range paths {
		there[path] = true
		if err := x.index(ctx, path); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", filepath.Base(path), err))
		}
	}
	for path := range x.files {
		if !there[path] {
			x.forget(path)
		}
	}
	return errors.Join(failures...)
}

func (x *indexer) forget(path string) {
	_ = x.files[path].db.Close()
	delete(x.files, path)
}

// index indexes the collections of a file, unless nothing is new.
func (x *indexer) index(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	f := x.files[path]
	if f != nil && !os.SameFile(f.info, info) {
		x.forget(path)
		f = nil
	}
	if f == nil {
		db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_pragma=busy_timeout(1000)")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		f = &file{info: info, db: db}
		x.files[path] = f
	}
	return f.index(ctx)
}

func (f *file) index(ctx context.Context) error {
	schema, err := f.version(ctx)
	if err != nil || schema == f.schema {
		return err
	}
	rows, err := f.db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\_ferretdb%' ESCAPE '\' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var tables []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return err
		}
		tables = append(tables, table)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := f.db.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')`, table+"_looked_up", table)); err != nil {
			return err
		}
	}
	f.schema, err = f.version(ctx)
	return err
}

// version returns a number that changes with the schema.
func (f *file) version(ctx context.Context) (version int, err error) {
	return version, f.db.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version)
}
