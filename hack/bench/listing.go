package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// listingReport holds the costs of GET /polls in a channel of many configured polls: of all
// pages one after the other, after a restart and again. Times are in seconds.
type listingReport struct {
	Polls int         `json:"polls"`
	Pages int         `json:"pages"`
	Cold  pageFigures `json:"cold"`
	Warm  pageFigures `json:"warm"`
}

// pageFigures describe the pages of one walk. Last is the median of the last tenth: if each page
// began at the first name, it would be the longest.
type pageFigures struct {
	First     float64 `json:"firstSeconds"`
	Median    float64 `json:"medianSeconds"`
	Last      float64 `json:"lastTenthSeconds"`
	Longest   float64 `json:"longestSeconds"`
	CPUMicros float64 `json:"cpuMicrosPerPoll,omitempty"`
}

const (
	listedPoll = "listed"
	pageLimit  = 100 // the route's own
)

// configurations configures one poll after another.
type configurations struct{ credential string }

func (c *configurations) request(buf []byte, _ int, n int64) []byte {
	body := fmt.Appendf(nil, `{"id":%q,"config":{"prompt":"Question %d?","options":["Yes","No"]}}`, pollID(listedPoll, int(n)), n)
	return appendRequest(buf, "POST", "vote_config", c.credential, body)
}

func (c *configurations) verify(context.Context, *client, int64) error { return nil }

// measureListing fills a program with configured polls, restarts it and lists them twice.
func (b *bench) measureListing(ctx context.Context) (r *listingReport, err error) {
	b.logf("listing: configuring %d polls", b.listed)
	p, err := b.startServer(ctx, "listing", b.binary, "serve")
	if err != nil {
		return nil, err
	}
	err = fillPolls(ctx, p, &configurations{p.client.credential}, b.listed)
	if err := errors.Join(err, p.stop()); err != nil {
		return nil, err
	}
	if p, err = b.startServer(ctx, "listing", b.binary, "serve"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	r = &listingReport{Polls: b.listed}
	for _, walk := range []*pageFigures{&r.Cold, &r.Warm} {
		b.logf("listing: all pages")
		if *walk, r.Pages, err = b.listAll(ctx, p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// listAll goes through all pages, and checks that each poll is listed once.
func (b *bench) listAll(ctx context.Context, p *program) (f pageFigures, pages int, err error) {
	listed, took, before := map[string]bool{}, []time.Duration{}, p.cpuTime()
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		var page struct {
			Polls []struct{ ID string }
			Next  string
		}
		start := time.Now()
		if err := p.client.get(ctx, fmt.Sprintf("polls?limit=%d&cursor=%s", pageLimit, cursor), func(d *json.Decoder) error { return d.Decode(&page) }); err != nil {
			return f, 0, err
		}
		took = append(took, time.Since(start))
		for _, poll := range page.Polls {
			if listed[poll.ID] {
				return f, 0, fmt.Errorf("not exact: %s is listed twice", poll.ID)
			}
			listed[poll.ID] = true
		}
		cursor = page.Next
	}
	if len(listed) != b.listed {
		return f, 0, fmt.Errorf("not exact: %d polls are listed, want %d", len(listed), b.listed)
	}
	seconds := time.Duration.Seconds
	f = pageFigures{
		First: took[0].Seconds(), Median: median(took, seconds), Last: median(took[len(took)*9/10:], seconds), Longest: slices.Max(took).Seconds(),
		CPUMicros: float64((p.cpuTime() - before).Microseconds()) / float64(b.listed),
	}
	return f, pages, nil
}

func (r *listingReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "%d configured polls of a channel, listed in %d pages of %d; a page in ms:\n", r.Polls, r.Pages, pageLimit)
	for _, walk := range []struct {
		name string
		pageFigures
	}{{"restarted", r.Cold}, {"again", r.Warm}} {
		fmt.Fprintf(b, "  %-10s  first %.1f, median %.1f, of the last tenth %.1f, longest %.1f; CPU %s µs a poll\n",
			walk.name, walk.First*1e3, walk.Median*1e3, walk.Last*1e3, walk.Longest*1e3, formatFigure(walk.CPUMicros, "%.0f"))
	}
}
