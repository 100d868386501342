package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The extension that all specs use, and a channel of it.
const (
	clientID = "e2e-quiz"
	channel  = "1"
	owner    = "1000"
)

// The paths of the two environments.
const (
	production = "/v1"
	sandbox    = "/sandbox/v1"
)

// keyring has the key that extension clients sign with.
type keyring struct{ current atomic.Pointer[[]byte] }

func (k *keyring) use(key string) {
	content := []byte(key)
	k.current.Store(&content)
}

// sign returns the value of an Authorization header. Its token, of an hour, outlives the
// difference of clocks.
func sign(key []byte, role, user, opaque string) string {
	return signClaims(key, jwt.MapClaims{
		"role":           role,
		"channel_id":     channel,
		"user_id":        user,
		"opaque_user_id": opaque,
	})
}

func signClaims(key []byte, claims jwt.MapClaims) string {
	credential, err := harness.Sign(clientID, key, claims)
	Expect(err).NotTo(HaveOccurred())
	return credential
}

// api is the HTTP API of an environment as one caller has it, through the ingress.
type api struct {
	client        *http.Client
	base, host    string
	authorization string
}

// newClient returns a client for many at once. It keeps no idle connection for as
// long as any ingress controller does: a vote that meets one as it is closed
// would fail through no fault of the service.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 100, 5*time.Second
	return &http.Client{Transport: transport}
}

// as returns the API for a caller with a token.
func (w *world) as(environment, authorization string) api {
	return api{client: w.client, base: w.ingress + environment, host: w.host, authorization: authorization}
}

func (w *world) viewer(opaque string) api { return w.front().viewer(opaque) }

func (w *world) backend() api { return w.front().backend() }

func (w *world) broadcaster() api { return w.front().broadcaster() }

// entrance has the address at which extension clients reach an environment, and the keys
// that they sign with.
type entrance struct {
	api
	keys *keyring
}

// front is the entrance of production, through the ingress.
func (w *world) front() entrance { return entrance{w.as(production, ""), &w.keys} }

func (e entrance) viewer(opaque string) api { return e.as("viewer", "", opaque) }

func (e entrance) backend() api { return e.as("backend", "", "") }

func (e entrance) broadcaster() api { return e.as("broadcaster", channel, "U"+channel) }

func (e entrance) as(role, user, opaque string) api {
	a := e.api
	a.authorization = sign(*e.keys.current.Load(), role, user, opaque)
	return a
}

// answer is one of the API.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send asks once, without trying again.
func (a api) send(ctx context.Context, method, path string, body any, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, content)
	if err != nil {
		return answer{}, err
	}
	request.Host = a.host
	if a.authorization != "" {
		request.Header.Set("Authorization", a.authorization)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := a.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, read}, err
}

// ask asks, and returns an error if the answer is no success or cannot be decoded.
func (a api) ask(ctx context.Context, method, path string, body, into any) error {
	got, err := a.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	if got.status/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, got.status, got.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got.body, into)
}

func (a api) get(ctx context.Context, path string, into any) error {
	return a.ask(ctx, http.MethodGet, path, nil, into)
}

func (a api) post(ctx context.Context, path string, body, into any) error {
	return a.ask(ctx, http.MethodPost, path, body, into)
}

// object is a JSON object that is written down in a spec.
type object = map[string]any

// statistics are those that a poll answers with.
type statistics struct {
	Count    int64
	Sum      int64
	Mean     float64
	Specific []int64
	Vote     *int64
}

// record is one of a poll's log.
type record struct {
	Opaque string
	Value  int64
}

func (a api) log(ctx context.Context, poll string) ([]record, error) {
	var log struct{ Result []record }
	err := a.get(ctx, "/vote_logs?id="+poll, &log)
	return log.Result, err
}
