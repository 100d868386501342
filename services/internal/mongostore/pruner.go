package mongostore

import (
	"context"
	"sync"
)

// pruner runs one job at a time in the background. A job that comes while
// another runs is left out: there will be more of its kind.
type pruner struct {
	ctx    context.Context
	cancel context.CancelFunc
	slot   chan struct{}
	jobs   *sync.WaitGroup
}

func newPruner() pruner {
	ctx, cancel := context.WithCancel(context.Background())
	return pruner{ctx, cancel, make(chan struct{}, 1), &sync.WaitGroup{}}
}

func (p *pruner) start(job func(context.Context)) {
	select {
	case p.slot <- struct{}{}:
	default:
		return
	}
	p.jobs.Go(func() {
		defer func() { <-p.slot }()
		job(p.ctx)
	})
}

func (p *pruner) close() {
	p.cancel()
	p.jobs.Wait()
}
