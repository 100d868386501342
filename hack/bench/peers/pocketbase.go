package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

// pocketBase extends PocketBase in Go, the fastest way that its documents give: its router and
// middleware, and a statement on its database in place of its records, rules and hooks.
type pocketBase struct{ app core.App }

func openPocketBase(dir string) (*peer, error) {
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: dir, HideStartBanner: true, DBConnect: connectDurably})
	if err := app.Bootstrap(); err != nil {
		return nil, err
	}
	if err := app.RunAllMigrations(); err != nil {
		return nil, err
	}
	// By default PocketBase stores a line for each request.
	app.Settings().Logs.MinLevel = int(slog.LevelError)
	app.Settings().Logs.MaxDays = 0
	const table = `create table ballots (poll text, voter text, value integer not null, primary key (poll, voter)) without rowid`
	if _, err := app.NonconcurrentDB().NewQuery(table).Execute(); err != nil {
		return nil, err
	}
	router, err := apis.NewRouter(app)
	if err != nil {
		return nil, err
	}
	router.Any("/v1/{path...}", apis.WrapStdHandler(newHandler(&pocketBase{app})))
	handler, err := router.BuildMux()
	if err != nil {
		return nil, err
	}
	return &peer{handler, app.ResetBootstrapState}, nil
}

// connectDurably opens a database as PocketBase does, with an fsync of the log for each
// commit. Without, a power failure takes back acknowledged votes.
func connectDurably(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

// castStatement takes all ballots as one argument: SQLite reads JSON faster than the driver binds
// thousands of arguments. Without "where true" SQLite reads "on conflict" as a part of a join.
const castStatement = `insert into ballots
	select {:poll}, value ->> 'opaque_user_id', value ->> 'value' from json_each({:ballots}) where true
	on conflict (poll, voter) do update set value = excluded.value`

func (p *pocketBase) cast(ctx context.Context, poll string, ballots []ballot) error {
	encoded, err := json.Marshal(ballots)
	if err != nil {
		return err
	}
	query := p.app.NonconcurrentDB().NewQuery(castStatement).WithContext(ctx)
	_, err = query.Bind(dbx.Params{"poll": poll, "ballots": string(encoded)}).Execute()
	return err
}

func (p *pocketBase) count(ctx context.Context, poll string) (s statistics, err error) {
	query := p.app.DB().NewQuery("select count(*) as count, coalesce(sum(value), 0) as sum from ballots where poll = {:poll}")
	return s, query.WithContext(ctx).Bind(dbx.Params{"poll": poll}).One(&s)
}
