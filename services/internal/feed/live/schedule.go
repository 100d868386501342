package live

// noteHead is a hint that the source has reached a head.
// broker.mu is held and the broker is open.
func (s *trackedSource) noteHead(head uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head > s.head {
		s.hinted = max(s.hinted, head)
		s.startWorking()
	}
}

// scheduleRefresh has the source refreshed, with a read of its own or with one that reaches
// its head. broker.mu is held and the broker is open.
func (s *trackedSource) scheduleRefresh(readAgain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = true
	s.dirty = s.dirty || readAgain
	s.startWorking()
}

// startWorking makes sure that there is a worker. s.mu and broker.mu are held.
func (s *trackedSource) startWorking() {
	if !s.working && !s.closed {
		s.working = true
		s.broker.work.Go(s.runRefreshes)
	}
}

// resendMissed has a subscriber sent what it missed, as it is now.
func (s *trackedSource) resendMissed(r resumption) {
	s.mu.Lock()
	s.resuming = append(s.resuming, r)
	s.mu.Unlock()
	s.broker.scheduleSource(s, true)
}

// scheduleRetry has a failed refresh repeated.
func (s *trackedSource) scheduleRetry(err error, resuming []resumption) {
	if s.broker.ctx.Err() == nil {
		s.broker.stats.failures.Add(1)
		s.broker.options.Logger.Warn("reading an event source failed; retrying", "name", s.name, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty, s.resuming = true, append(resuming, s.resuming...)
}
