package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// writes are the routes that take a body, with one that each accepts.
func writes() map[string]string {
	return map[string]string{
		"POST /v1/vote":                     `{"value":1}`,
		"POST /v1/vote_modifier":            `{"user":"U5","add":1}`,
		"POST /v1/vote_config":              `{"config":{}}`,
		"POST /v1/accumulate":               `{"a":1}`,
		"POST /v1/rank":                     `{"key":"a"}`,
		"POST /v1/channel_state":            `{"a":1}`,
		"PATCH /v1/channel_state":           `{"a":1}`,
		"POST /v1/extension_state":          `{"a":1}`,
		"PATCH /v1/extension_state":         `[{"op":"add","path":"/a","value":1}]`,
		"POST /v1/extension_hidden_state":   `{"a":1}`,
		"PATCH /v1/extension_hidden_state":  `{"a":1}`,
		"POST /v1/viewer_state":             `{"a":1}`,
		"PATCH /v1/viewer_state":            `{"a":1}`,
		"POST /v1/extension_viewer_state":   `{"a":1}`,
		"PATCH /v1/extension_viewer_state":  `{"5":{"a":1}}`,
		"POST /v1/config/channel":           `{"a":1}`,
		"PATCH /v1/config/channel":          `{"a":1}`,
		"POST /v1/config/extension":         `{"a":1}`,
		"PATCH /v1/config/extension":        `{"a":1}`,
		"POST /sandbox/v1/authtoken":        `{"app_id":"ext","channel_id":"77","role":"viewer"}`,
		"POST /sandbox/v1/e/authtoken?x=%z": `{"app_id":"ext","channel_id":"77","role":"viewer"}`,
	}
}

// "Request bodies are JSON whatever Content-Type says."
func TestBodiesAreJSONWhateverTheirType(t *testing.T) {
	a := newAPI(t)
	for _, contentType := range []string{
		"", "application/json", "application/x-www-form-urlencoded; charset=UTF-8", "application/x-www-form-urlencoded",
		"text/plain;charset=UTF-8", "multipart/form-data", "application/xml", "nonsense;;",
	} {
		for route, body := range writes() {
			method, target, _ := strings.Cut(route, " ")
			a.send(method, target, body, "Content-Type", contentType, "Authorization", owner().header(t)).is(200)
			a.send(method, target, "value=1&key=a", "Content-Type", contentType, "Authorization", owner().header(t)).is(400)
		}
	}
}

// A body of unknown length is under the same limit as an announced one.
func TestChunkedBodies(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	for route, body := range writes() {
		method, target, _ := strings.Cut(route, " ")
		for padding, status := range map[int]int{0: 200, 1000: 200, 5 << 20: 413} {
			// The reader hides the length of what it reads.
			reader := io.MultiReader(strings.NewReader(body), strings.NewReader(strings.Repeat(" ", padding)))
			r, err := http.NewRequestWithContext(t.Context(), method, address+target, reader)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", owner().header(t))
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != status {
				t.Errorf("%s with %d bytes more: %s, want %d", route, padding, response.Status, status)
			}
			response.Body.Close()
		}
	}
}

// raw sends one request as it is written and returns the answer and its body.
func raw(t *testing.T, address, method, target string, headers ...string) answer {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: host"}, headers...)
	if _, err := fmt.Fprintf(connection, "%s\r\n\r\n", strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{t, method + " " + target, response.StatusCode, response.Header, string(body)}
}

// Every answer is JSON with a body, but those to HEAD and to preflights.
func TestAnswersOnTheWire(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	credential := "Authorization: " + viewer().header(t)
	for _, test := range []struct {
		method, target string
		status         int
		body           bool
	}{
		{"GET", "/v1/vote", 200, true},
		{"HEAD", "/v1/vote", 200, false},
		{"HEAD", "/v1/rank", 403, false},
		{"HEAD", "/v1/vote_config", 404, false},
		{"HEAD", "/v1/nope", 404, false},
		{"GET", "/v1/vote_config", 404, true},
		{"GET", "/v1/nope", 404, true},
		{"GET", "http://elsewhere.example/v1/vote", 200, true},
		{"GET", "/v1/vo%74e", 200, true},
		{"GET", "/v1%2Fvote", 200, true},
		{"CONNECT", "/v1/vote", 405, true},
		{"TRACE", "/v1/vote", 405, true},
		{"PUT", "/v1/vote", 405, true},
		{"OPTIONS", "/v1/vote", 204, false},
		{"OPTIONS", "/v1/nope", 404, true},
		{"OPTIONS", "*", 404, true},
	} {
		got := raw(t, address, test.method, test.target, credential, "Connection: close")
		got.is(test.status).check(test.method)
		if (got.body != "") != test.body {
			t.Errorf("%s: body is %q", got.name, got.body)
		}
	}
}

// A body shorter than its announced length is refused.
func TestBodyCutOff(t *testing.T) {
	_, address := serve(t, newAPI(t).handler)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err = fmt.Fprintf(connection, "POST /v1/vote HTTP/1.1\r\nHost: host\r\nAuthorization: %s\r\nContent-Length: 100\r\n\r\n{}", viewer().header(t)); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer{t, "cut off", response.StatusCode, response.Header, string(body)}.refused(400, "The body did not arrive whole")
}
