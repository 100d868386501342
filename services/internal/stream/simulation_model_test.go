package stream_test

import (
	"context"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
)

type ledgerInput struct {
	stream string
	post   post
	read   bool
	erase  bool // the viewer of post
}

// viewers are who posts; the first is nobody.
var viewers = [...]string{"", "viewer-1", "viewer-2", "viewer-3"}

type ledgerOutput struct {
	sum     int64
	refused bool // by the limit
	failed  bool // nothing happened
	unknown bool // nobody knows
}

func (in ledgerInput) viewer() stream.Viewer {
	if in.post.who == "" {
		return stream.Viewer{}
	}
	return stream.Viewer{IDs: []string{in.post.who}}
}

func (in ledgerInput) do(ctx context.Context, engine *ledgerEngine) (out ledgerOutput) {
	var err error
	if in.erase {
		// One that fails may go on, or have been far enough to count.
		_, err = engine.Erase(ctx, in.stream, in.viewer())
		out.unknown = err != nil
		return out
	}
	if in.read {
		out.sum, err = engine.View(ctx, in.stream, sumQuery)
		out.failed = err != nil
		return out
	}
	out.sum, err = engine.Do(ctx, in.stream, in.post)
	switch fault.KindOf(err) {
	case fault.Invalid:
		out.refused = true
	case fault.Storage, fault.Unavailable:
		out.failed = true
	default:
		out.unknown = err != nil
	}
	return out
}

var ledgerModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			name := op.Input.(ledgerInput).stream
			parts[name] = append(parts[name], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return ledgerTotals{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(ledgerTotals).step(input.(ledgerInput), output.(ledgerOutput))
	},
}

// ledgerTotals are a ledger as the model has it.
type ledgerTotals struct {
	sum   int64
	given [len(viewers)]int64
}

func (s ledgerTotals) step(in ledgerInput, out ledgerOutput) (bool, ledgerTotals) {
	who := slices.Index(viewers[:], in.post.who)
	after := s
	after.sum += in.post.amount
	if who > 0 {
		after.given[who] += in.post.amount
	}
	over := after.sum > ledgerLimit || after.given[who] > viewerLimit
	if in.post.amount == 0 {
		after = ledgerTotals{}
	}
	switch {
	case out.failed:
		return true, s
	case in.erase:
		s.given[who] = 0
		return true, s
	case in.read:
		return out.sum == s.sum, s
	case out.refused:
		return over, s
	}
	return !over && (out.unknown || out.sum == after.sum), after
}
