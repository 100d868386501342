package operation

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

type lastStatus struct{ status int }

func (l *lastStatus) Observe(_, _ string, status int, _ time.Duration, _ string) { l.status = status }

// A panic fails the call that it happens in and not the process, as pushes to games run in goroutines
// of their own.
func TestRunRecoversFromPanics(t *testing.T) {
	registry := newTestVerifier(t).registry
	var log strings.Builder
	var observed lastStatus
	s := NewService(Config{
		Environment: tenant.Production, Registry: registry, Now: time.Now,
		Logger: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: &observed,
	})
	request := Request{Operation: "poll.read", Face: "test", Credential: signedHeader(t, func(*jwt.Token) {})}
	err := s.Run(t.Context(), request, func(context.Context, *Call) error { panic("a defect") })
	if fault.KindOf(err) != fault.Internal || observed.status != 500 {
		t.Errorf("%v, status %d", err, observed.status)
	}
	if !strings.Contains(log.String(), `"panic":"a defect"`) {
		t.Errorf("the log has no panic: %s", &log)
	}
	if held := s.Config.Budgets.Requests.Stats().Used; held != 0 {
		t.Errorf("%d requests are under way", held)
	}
}

// What a game sends has the limits that a body has over HTTP.
func TestRunLimitsBodies(t *testing.T) {
	registry := newTestVerifier(t).registry
	s := NewService(Config{
		Environment: tenant.Production, Registry: registry, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Metrics: &lastStatus{},
	})
	staff := signedHeader(t, func(token *jwt.Token) { token.Claims.(jwt.MapClaims)["role"] = "broadcaster" })
	for size, kind := range map[int]fault.Kind{contract.MaxMessageBody: 0, contract.MaxMessageBody + 1: fault.TooLarge} {
		request := Request{Operation: "message.broadcast", Face: "test", Credential: staff, Body: make([]byte, size)}
		if err := s.Run(t.Context(), request, func(context.Context, *Call) error { return nil }); fault.KindOf(err) != kind || (kind == 0) != (err == nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
