package verifiable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// AuditReport is the recount of a poll.
type AuditReport struct {
	Name     PollName `json:"name"`
	Prompt   string   `json:"prompt"`
	Options  []string `json:"options"`
	Closed   bool     `json:"closed"`
	Final    bool     `json:"final"` // closed, and no vote is hidden
	Entries  int64    `json:"entries"`
	Votes    int64    `json:"votes"`
	ByStaff  int64    `json:"byStaff"` // submitted by the extension's own server or staff
	NoNonce  int64    `json:"noNonce"` // without a secret by which their voters recognize them
	Voters   int      `json:"voters"`
	Erasures int64    `json:"erasures"`
	Sums     *Sums    `json:"sums"`
	// Shown names the time from which on the entries are public, KeepUntil the time in Unix seconds until which they stay, 0
	// before the final result. Only the site says so.
	Shown     string   `json:"shown"`
	KeepUntil int64    `json:"keepUntil"`
	Findings  findings `json:"findings"`
}

// Audit recounts the poll whose result.json is at a path, and compares it with what is signed. The
// error is about files that it needs and does not get.
func Audit(ctx context.Context, src Source, keys Keys, path string) (*AuditReport, error) {
	report := &AuditReport{Findings: findings{}}
	p, err := readPoll(ctx, src, keys, path, &report.Findings)
	if p == nil || err != nil {
		return report, err
	}
	report.Shown, report.KeepUntil = p.result.Entries, p.result.KeepUntil
	report.Name, report.Final, report.Sums, report.Entries = p.result.Name, p.leaf.Final, p.leaf.Sums, p.leaf.Entries.N
	if !p.result.Name.isAt(path) {
		report.Findings.add(FoundOtherPoll, "%s shows %s", path, p.result.Name.ResultPath())
	}
	p.checkShown(&report.Findings)
	fold, err := p.recount(&report.Findings, func(int64, *Entry) {})
	if why := p.whyNoEntries(); errors.Is(err, fs.ErrNotExist) && why != "" {
		err = fmt.Errorf("%s %w", why, err)
	}
	if fold == nil || err != nil {
		return report, err
	}
	report.Closed, report.Votes, report.ByStaff, report.NoNonce = fold.Closed, fold.Votes, fold.ByStaff, fold.NoNonce
	report.Erasures, report.Voters = fold.Erasures, fold.countVoters()
	if fold.Settings != nil {
		report.Prompt, report.Options = fold.Settings.Prompt, fold.Settings.Options
	}
	return report, nil
}
