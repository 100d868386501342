package app

import (
	"github.com/acclaim-dev/acclaim/services/internal/feed/cosign"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/feed/sink"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// resultLogMemory bounds the memory of the log of results, which is one stream, in bytes. It is beside
// that of the domains.
const resultLogMemory = 16 << 20

// startResults starts to sign the results of polls, where there is a key.
func startResults(s *serviceSet, log *resultlog.Service) func(*operation.Config) {
	polls, ok := s.running[voting.Kind].(*voting.Service)
	if s.signing.Key == nil || !ok {
		return func(*operation.Config) {}
	}
	options := publish.Options{
		Polls: polls, Log: log, Key: s.signing.Key, EarlierKey: s.signing.EarlierKey, Origin: s.signing.Origin, Mark: s.signing.Mark,
		Clock: s.clock, Logger: s.logger,
	}
	if policy := s.signing.Policy; policy != nil {
		transport := s.sinkRequests
		if transport == nil {
			transport = sink.NewTransport(s.allowPrivate)
		}
		options.Witnesses = &publish.Witnessing{Policy: policy, Client: cosign.NewClient(transport)}
	}
	publisher := publish.New(options)
	s.onClose(publisher.Close)
	registerResults(s.metrics, publisher.Stats)
	return func(c *operation.Config) {
		if c.Environment == tenant.Production {
			c.Results = publisher
		}
	}
}
