package app

import (
	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/feed/live"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/match"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/pairing"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// startState starts documents, events and sinks, which belong to the state service.
func startState(s *serviceSet, messages *message.Service) func(*operation.Config) {
	s.documents = s.openDocuments()
	changes := s.store.changes()
	reader := event.NewReader(event.Stores{
		Documents: s.documents, Messages: messages,
		Polls:     readEngine(s, voting.Kind, voting.NewService),
		Buffers:   readEngine(s, accumulation.Kind, accumulation.NewService),
		Questions: readEngine(s, ranking.Kind, ranking.NewService),
	})
	s.broker = live.New(live.Options{
		Reader: reader, Notifier: &s.notifier,
		Streams: changes.streams, Tail: changes.tail, Watch: changes.watch, Logger: s.logger,
		Quotas: s.limits.quotas(s.environments, s.ledger, s.watch),
	})
	s.onClose(s.broker.Close)
	registerEvents(s.metrics, s.broker.Stats)
	s.sinks = newSinks(s, reader)
	s.onClose(s.sinks.Close)
	registerSinks(s.metrics, s.sinks.Stats)
	states := state.NewService(s.documents)
	s.pairings = pairing.NewService(s.documents, s.allRead(stream.LevelStaffKeys))
	s.purchases, s.matches = purchase.NewService(s.documents, s.allRead(stream.LevelAccounts)), match.NewService(s.documents)
	return func(c *operation.Config) {
		c.State, c.Messages, c.Live = operation.NewState(states), messages, s.broker
		c.Pairing, c.Purchases, c.GameLink = operation.NewPairing(s.pairings), s.purchases, s.gamesAnywhere
		c.Pairing.SignIn = signin.NewClient(sink.NewTransport(s.allowPrivate), s.clock.Now)
	}
}

// readEngine returns the engine of a kind of streams that events read. Where the process
// does not serve them, their owners answer.
func readEngine[E engine](s *serviceSet, kind string, newEngine func(stream.Store, stream.Clock, stream.Options) E) E {
	if served, ok := s.running[kind].(E); ok {
		return served
	}
	engine := newEngine(s.store, s.clock, s.engineOptions(kind, true))
	s.onClose(engine.Close)
	return engine
}

func newSinks(s *serviceSet, reader *event.Reader) *sink.Manager {
	changes := s.store.changes()
	options := sink.Options{
		Store: s.store, Reader: reader, Notifier: &s.notifier, Streams: changes.streams, Keys: s.store.Keys,
		Tail: changes.tail, Watch: changes.watch, Alone: changes.tail == nil, Environments: s.environments, AllowPrivate: s.allowPrivate, Transport: s.sinkRequests,
		Tracing: s.tracing, Logger: s.logger,
	}
	if options.Alone {
		options.Tail = event.LocalTail{Streams: s.store, Documents: s.store}
	}
	return sink.New(options)
}
