package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver that FerretDB has, too
)

// indexEvery is the interval between searches for new collections.
const indexEvery = time.Second

// unindexed are the collections in which looking up an _id reads every record. The
// index that FerretDB makes is on `->"_id"`, its queries ask for `->'$._id'`, and so
// SQLite evaluates them record by record: with some thousand records that is all a
// processor does.
const unindexed = `SELECT name FROM sqlite_schema t WHERE type = 'table' AND sql LIKE '%\_ferretdb\_sjson%' ESCAPE '\'
	AND NOT EXISTS (SELECT 1 FROM sqlite_schema i WHERE i.type = 'index' AND i.tbl_name = t.name AND i.sql LIKE '%(_ferretdb_sjson->''$._id'')')`

// keepIndexed gives the collections in a folder an index on what FerretDB asks for,
// until the context ends.
func keepIndexed(ctx context.Context, folder string) {
	ticker := time.NewTicker(indexEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// Without an index it works, too; what failed is tried again.
			if err := index(ctx, folder); err != nil && ctx.Err() == nil {
				slog.Warn("collections cannot be indexed", "error", err)
			}
		}
	}
}

// index indexes the collections that exist.
func index(ctx context.Context, folder string) error {
	databases, err := filepath.Glob(filepath.Join(folder, "*.sqlite"))
	for _, path := range databases {
		err = errors.Join(err, indexFile(ctx, path))
	}
	return err
}

func indexFile(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_pragma=busy_timeout(1000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, unindexed)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var collections []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return errors.Join(err, rows.Close())
		}
		collections = append(collections, name)
	}
	err = rows.Err()
	for _, name := range collections {
		_, failed := db.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')`, name+"_looked_up", name))
		err = errors.Join(err, failed)
	}
	return err
}
