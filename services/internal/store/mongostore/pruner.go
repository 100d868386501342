package mongostore

import (
	"context"
	"sync"
)

// pruner runs one job at a time in the background. It skips a job while another
// runs; a later write starts one again.
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
