package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestIDs(t *testing.T) {
	a := newAPI(t)
	for sent, kept := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true, "~!": true,
		"": false, "two words": false, strings.Repeat("x", 129): false, "é": false, "\x7f": false,
	} {
		got := a.send("GET", "/v1/nope", "", "X-Request-Id", sent).header.Get("X-Request-Id")
		if kept != (got == sent) || got == "" {
			t.Errorf("%q was answered with %q", sent, got)
		}
	}
}

// One line says all of a request and nothing that is secret.
func TestLogLine(t *testing.T) {
	a := newAPI(t)
	header := viewer().header(t)
	a.send("POST", "/v1/e/vote?id=hidden", `{"value":200}`, "Authorization", header, "X-Request-Id", "one")
	if strings.Contains(a.log.String(), header[4:]) || strings.Contains(a.log.String(), "hidden") {
		t.Errorf("the log has what it must not: %s", a.log)
	}
	var line map[string]any
	if err := json.Unmarshal(a.log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, a.log)
	}
	for _, measured := range []string{"time", "duration_ms"} {
		if line[measured] == nil {
			t.Errorf("no %s", measured)
		}
		delete(line, measured)
	}
	want := map[string]any{
		"level": "INFO", "msg": "request", "request_id": "one", "method": "POST", "route": "/vote", "status": 400.0,
		"bytes": 32.0, "environment": "production", "operation": "vote.cast", "extension": "ext", "role": "viewer", "channel": "77", "error": "Value out of bounds",
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}
