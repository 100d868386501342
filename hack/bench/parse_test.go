package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

func TestParseAnswer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 2\r\n\r\n{}"
	tests := map[string]struct {
		in     string
		status int
		body   string
		whole  bool
		fails  bool
	}{
		"whole":           {in: ok, status: 200, body: "{}", whole: true},
		"no body":         {in: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", status: 204, whole: true},
		"refusal":         {in: strings.Replace(ok, "200", "503", 1), status: 503, body: "{}", whole: true},
		"half a header":   {in: ok[:30]},
		"half a body":     {in: ok[:len(ok)-1]},
		"nothing":         {},
		"two answers":     {in: ok + ok, fails: true},
		"no length":       {in: "HTTP/1.1 200 OK\r\nDate: today\r\n\r\n", fails: true},
		"negative length": {in: strings.Replace(ok, ": 2", ": -2", 1), fails: true},
		"other protocol":  {in: "SSH-2.0-OpenSSH\r\n\r\n", fails: true},
		"no status":       {in: "HTTP/1.1 abc\r\nContent-Length: 2\r\n\r\n{}", fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, whole, err := parseAnswer([]byte(test.in))
			if whole != test.whole || (err != nil) != test.fails {
				t.Fatalf("whole is %v, error %v", whole, err)
			}
			if whole && (a.status != test.status || string(a.body) != test.body) {
				t.Errorf("got %d %q, want %d %q", a.status, a.body, test.status, test.body)
			}
		})
	}
}

// What is sent is read back by a parser that is not ours.
func TestAppendRequest(t *testing.T) {
	for _, body := range []string{"", `{"value":1}`} {
		sent := appendRequest(nil, "POST", "vote?id=a", "bench token", []byte(body))
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(request.Body)
		if err != nil {
			t.Fatal(err)
		}
		if request.Method != "POST" || request.URL.String() != "/v1/vote?id=a" ||
			request.Header.Get("Authorization") != "bench token" || string(got) != body {
			t.Errorf("%q was read as %v with body %q", sent, request, got)
		}
	}
}

func TestCredentialVerifies(t *testing.T) {
	all, err := signAll(3, viewerCredential)
	if err != nil {
		t.Fatal(err)
	}
	var voters []any
	for _, credential := range all {
		_, token, _ := strings.Cut(credential, " ")
		claims := jwt.MapClaims{}
		if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte(signingKey), nil }); err != nil {
			t.Fatal(err)
		}
		voters = append(voters, claims["opaque_user_id"])
	}
	if diff := cmp.Diff([]any{"U000000000", "U000000001", "U000000002"}, voters); diff != "" {
		t.Errorf("voters (-want +got):\n%s", diff)
	}
}

func TestMetrics(t *testing.T) {
	_, server := startStub(t, &stub{})
	metrics, err := harness.ReadMetrics(t.Context(), server.admin)
	if err != nil {
		t.Fatal(err)
	}
	got := []float64{metrics.Sum("a_total", ""), metrics.Sum("b_bytes", ""), metrics.Sum("b_bytes", `kind="y"`), metrics.Sum("b", "")}
	if diff := cmp.Diff([]float64{3, 1_500_002, 2, 0}, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestParseOptions(t *testing.T) {
	o, err := parseOptions([]string{"-rounds=2", "-cases=read,state", "-json"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"read", "state"}, o.cases); diff != "" || o.rounds != 2 || !o.json {
		t.Errorf("options are %+v", o)
	}
	for _, args := range [][]string{{"-cases=nope"}, {"extra"}, {"-rounds=0"}, {"-duration=0s"}, {"-poll-size=-1"}, {"-voters=9"}, {"-nope"}} {
		if _, err := parseOptions(args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
