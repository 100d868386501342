package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/acclaim-dev/acclaim/services/internal/sink"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/state"
)

// verification is what verify found.
type verification struct {
	Kinds    map[string]*found `json:"kinds"` // poll, buffer, rank, message, document
	Problems []problem         `json:"problems"`
}

// found is what there is of a kind.
type found struct {
	Streams   int    `json:"streams"` // or documents
	Chunks    uint64 `json:"chunks"`
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	Redacted  uint64 `json:"redacted"` // chunks that an erasure or a trim has changed
	Trimmed   uint64 `json:"trimmed"`  // chunks that are too old to be kept and not replayed
	Snapshots int    `json:"snapshots"`
	Problems  int    `json:"problems"`
}

type problem struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func newVerification() *verification {
	return &verification{Kinds: map[string]*found{}, Problems: []problem{}}
}

func (v *verification) kind(name string) *found {
	kind, _, _ := strings.Cut(name, "/")
	if v.Kinds[kind] == nil {
		v.Kinds[kind] = &found{}
	}
	return v.Kinds[kind]
}

func (v *verification) problem(name string, err error) {
	v.kind(name).Problems++
	v.Problems = append(v.Problems, problem{readable(name), err.Error()})
}

// stream replays a stream. An error means that it could not be read.
func (v *verification) stream(ctx context.Context, replays map[string]replay, name string) error {
	kind, _, _ := strings.Cut(name, "/")
	f := v.kind(name)
	f.Streams++
	replay, ok := replays[kind]
	if !ok {
		v.problem(name, errors.New("nobody knows streams of this kind"))
		return nil
	}
	report, err := replay(ctx, name)
	f.Chunks, f.Entries, f.Bytes = f.Chunks+report.Chunks, f.Entries+report.Entries, f.Bytes+report.Bytes
	f.Redacted, f.Trimmed = f.Redacted+report.Redacted, f.Trimmed+report.Trimmed
	if report.Snapshot {
		f.Snapshots++
	}
	return v.judge(name, err)
}

// document reads a document.
func (v *verification) document(ctx context.Context, a archive, name string) error {
	f := v.kind(name)
	f.Streams++
	read, err := a.Get(ctx, name)
	if err != nil {
		return v.judge(name, err)
	}
	f.Entries, f.Bytes = f.Entries+read[0].Version, f.Bytes+uint64(len(read[0].Body))
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(read[0].Body, &object); {
	case err != nil || object == nil:
		v.problem(name, errors.New("the document is not a JSON object"))
	case strings.HasPrefix(name, kindErasure+"/"):
		v.problem(name, errors.New("the erasure of a viewer is not finished; erasing again finishes it"))
	case strings.HasPrefix(name, sink.Kind+"/"):
		return v.position(ctx, a, name, read[0].Body)
	}
	return nil
}

// position checks that a sink has not been told of more than there is: it would not
// be told of what comes.
func (v *verification) position(ctx context.Context, a archive, name string, body []byte) error {
	subject, head, err := sink.ReadPosition(name, body)
	if err != nil {
		v.problem(name, err)
		return nil
	}
	there, err := reaches(ctx, a, subject, head)
	if err == nil && !there {
		v.problem(name, fmt.Errorf("it is at %d, where %s has not come to", head, readable(subject)))
	}
	return err
}

// reaches reports whether a document has had a version, or a stream a chunk.
func reaches(ctx context.Context, a archive, name string, number uint64) (bool, error) {
	if name == "" || number == 0 {
		return true, nil
	}
	if strings.HasPrefix(name, state.Kind+"/") {
		read, err := a.Get(ctx, name)
		return err != nil || read[0].Version >= number, err
	}
	for _, err := range a.Chunks(ctx, name, number-1) {
		return err == nil, err
	}
	return false, nil
}

// judge tells damage and what was left unfinished, which are findings, from a
// failure to read.
func (v *verification) judge(name string, err error) error {
	if errors.Is(err, stream.ErrDamaged) || errors.Is(err, stream.ErrUnfinished) {
		v.problem(name, err)
		return nil
	}
	return err
}

func (v *verification) write(w io.Writer) error {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "kind\tnumber\tchunks\tentries\tbytes\tredacted\ttrimmed\tsnapshots\tproblems\t")
	for _, kind := range slices.Sorted(maps.Keys(v.Kinds)) {
		f := v.Kinds[kind]
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			kind, f.Streams, f.Chunks, f.Entries, f.Bytes, f.Redacted, f.Trimmed, f.Snapshots, f.Problems)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	writeProblems(&b, v.Problems)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeProblems(b *strings.Builder, problems []problem) {
	for _, p := range problems {
		fmt.Fprintf(b, "\n%s\n  %s\n", p.Name, p.Reason)
	}
}
