package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
)

// Verification is the result of [Verify].
type Verification struct {
	Kinds    map[string]*VerifiedKind `json:"kinds"` // poll, buffer, rank, message, roster, document
	Problems []Problem                `json:"problems"`
}

// VerifiedKind counts the streams or documents of one kind.
type VerifiedKind struct {
	Streams   int    `json:"streams"` // or documents
	Chunks    uint64 `json:"chunks"`
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	Redacted  uint64 `json:"redacted"` // chunks that an erasure or a truncation has changed
	Trimmed   uint64 `json:"trimmed"`  // truncated chunks, which are not replayed
	Snapshots int    `json:"snapshots"`
	Problems  int    `json:"problems"`
	// OverLimits counts entries and documents whose JSON is nested too deeply, or has
	// numbers too large, for some readers.
	OverLimits uint64 `json:"overLimits"`
}

// Verify replays the streams and reads the documents whose names begin with one of the
// prefixes. It calls progress after each with the number of all. An error means that
// the store could not be read.
func Verify(ctx context.Context, store Store, domains Domains, progress func(steps int), prefixes ...string) (*Verification, error) {
	var streams, documents []string
	for _, prefix := range prefixes {
		some, err := collectNames(store.Streams(ctx, prefix))
		if err != nil {
			return nil, err
		}
		streams = append(streams, some...)
		if some, err = collectNames(store.Keys(ctx, prefix)); err != nil {
			return nil, err
		}
		documents = append(documents, some...)
	}
	v := &storeVerifier{Verification{Kinds: map[string]*VerifiedKind{}, Problems: []Problem{}}, store, domains}
	steps := &stepCounter{report: progress}
	steps.expect(len(streams) + len(documents))
	for _, name := range streams {
		if err := v.verifyStream(ctx, name); err != nil {
			return nil, err
		}
		steps.step()
	}
	for _, name := range documents {
		if err := v.verifyDocument(ctx, name); err != nil {
			return nil, err
		}
		steps.step()
	}
	return &v.result, nil
}

// storeVerifier is a verification that is under way. Its methods return an error only where
// the store cannot be read.
type storeVerifier struct {
	result  Verification
	store   Store
	domains Domains
}

// kind returns the figures of the kind of a stream or document.
func (v *storeVerifier) kind(name string) *VerifiedKind {
	kind := key.KindOf(name)
	if v.result.Kinds[kind] == nil {
		v.result.Kinds[kind] = &VerifiedKind{}
	}
	return v.result.Kinds[kind]
}

func (v *storeVerifier) addProblem(name string, err error) {
	v.kind(name).Problems++
	v.result.Problems = append(v.result.Problems, Problem{readableName(name), err.Error()})
}

// classifyError records damage and unfinished work as problems and returns other errors.
func (v *storeVerifier) classifyError(name string, err error) error {
	if errors.Is(err, stream.ErrDamaged) || errors.Is(err, rewrite.ErrUnfinished) {
		v.addProblem(name, err)
		return nil
	}
	return err
}

func (v *storeVerifier) verifyStream(ctx context.Context, name string) error {
	figures := v.kind(name)
	figures.Streams++
	domain, ok := v.domains[key.KindOf(name)]
	if !ok {
		v.addProblem(name, errors.New("no service has streams of this kind"))
		return nil
	}
	report, err := domain.Verify(ctx, name)
	figures.Chunks, figures.Entries, figures.Bytes = figures.Chunks+report.Chunks, figures.Entries+report.Entries, figures.Bytes+report.Bytes
	figures.Redacted, figures.Trimmed = figures.Redacted+report.Redacted, figures.Trimmed+report.Truncated
	figures.OverLimits += report.OverLimits
	if report.Snapshot {
		figures.Snapshots++
	}
	return v.classifyError(name, err)
}

func (v *storeVerifier) verifyDocument(ctx context.Context, name string) error {
	figures := v.kind(name)
	figures.Streams++
	read, err := v.store.Get(ctx, name)
	if err != nil {
		return v.classifyError(name, err)
	}
	figures.Entries, figures.Bytes = figures.Entries+read[0].Version, figures.Bytes+uint64(len(read[0].Body))
	var object map[string]json.RawMessage
	if err := json.Unmarshal(read[0].Body, &object); err != nil || object == nil {
		v.addProblem(name, errors.New("the document is not a JSON object"))
		return nil //nolint:nilerr // a problem of the store's content
	}
	if exactjson.CheckLimits(read[0].Body) != nil {
		figures.OverLimits++
	}
	switch key.KindOf(name) {
	case key.Erasure:
		v.addProblem(name, errors.New("the erasure of a viewer is not finished; erasing again finishes it"))
	case key.Sink:
		return v.verifyPosition(ctx, name, read[0].Body)
	}
	return nil
}

// verifyPosition checks that the position of a sink is not past the end of its stream
// or document: the sink would not deliver what comes next.
func (v *storeVerifier) verifyPosition(ctx context.Context, name string, body []byte) error {
	subject, head, err := sink.ReadPosition(name, body)
	if err != nil {
		v.addProblem(name, err)
		return nil
	}
	reached, err := v.reaches(ctx, subject, head)
	if err == nil && !reached {
		v.addProblem(name, fmt.Errorf("its position is %d, but %s ends before that", head, readableName(subject)))
	}
	return err
}

// reaches reports whether a document has had a version, or a stream a chunk, of that
// number.
func (v *storeVerifier) reaches(ctx context.Context, name string, number uint64) (bool, error) {
	if name == "" || number == 0 {
		return true, nil
	}
	if key.KindOf(name) == key.Document {
		read, err := v.store.Get(ctx, name)
		return err != nil || read[0].Version >= number, err
	}
	for _, err := range v.store.Chunks(ctx, name, number-1) {
		return err == nil, err
	}
	return false, nil
}
