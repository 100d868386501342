package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
)

const (
	// accountFolder is the folder of a pod with its namespace, its token and the authority of the API
	// server.
	accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	// markKey is the entry of a ConfigMap with the checkpoint.
	markKey = "checkpoint"
	// maxObject bounds what is read of the API server, in bytes. etcd has a smaller limit.
	maxObject = 4 << 20
	// markTimeout limits a look at the mark and a change of it. Readers of the log wait for it.
	markTimeout = 2 * time.Second
	// markPause is the time for which a failure is repeated without a request: readers that wait in a
	// queue would each wait for another one.
	markPause = time.Second
)

// configMapMark is a [publish.Mark] in a ConfigMap, which exists before the process starts. A change is
// one request: it names the version that it replaces.
type configMapMark struct {
	url    string
	folder string // accountFolder
	client *http.Client

	mu       sync.Mutex // one request at a time
	failure  error
	failedAt time.Time
}

// newConfigMapMark returns the mark in a ConfigMap of the pod's own namespace.
func newConfigMapMark(name, folder string) (*configMapMark, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("a ConfigMap needs a pod of Kubernetes: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
	}
	namespace, err := os.ReadFile(filepath.Join(folder, "namespace"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s/ca.crt has no certificate", folder)
	}
	place := url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	place.Path = "/api/v1/namespaces/" + strings.TrimSpace(string(namespace)) + "/configmaps/" + name
	return &configMapMark{
		url: place.String(), folder: folder,
		client: &http.Client{
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no other server gets the token
		},
	}, nil
}

// markObject has the parts of a ConfigMap that the mark needs.
type markObject struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

func (o *markObject) marked() (m publish.Marked) {
	m.Version = o.Metadata.ResourceVersion
	if text := o.Data[markKey]; text != "" {
		m.Checkpoint = []byte(text)
	}
	return m
}

// Load implements [publish.Mark]. A ConfigMap without a checkpoint holds no mark. One that does not
// exist is an error: a mark could not be stored there.
func (m *configMapMark) Load(ctx context.Context) (publish.Marked, error) {
	return m.try(ctx, http.MethodGet, nil)
}

// Replace implements [publish.Mark]. A mark that was not loaded has no version, and the API server would
// merge a patch without one into whatever is there.
func (m *configMapMark) Replace(ctx context.Context, old publish.Marked, checkpoint []byte) (publish.Marked, error) {
	if old.Version == "" {
		return publish.Marked{}, publish.ErrMarkChanged
	}
	patch := markObject{Data: map[string]string{markKey: string(checkpoint)}}
	patch.Metadata.ResourceVersion = old.Version
	return m.try(ctx, http.MethodPatch, &patch)
}

// try sends a request, and waits for markTimeout at most, unless one failed a moment ago.
func (m *configMapMark) try(ctx context.Context, method string, patch *markObject) (publish.Marked, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := time.Since(m.failedAt); m.failure != nil && since >= 0 && since < markPause {
		return publish.Marked{}, m.failure
	}
	bounded, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	o, err := m.do(bounded, method, patch)
	if m.failure = err; ctx.Err() != nil || errors.Is(err, publish.ErrMarkChanged) {
		m.failure = nil // the caller has gone, or looks at the mark again
	}
	m.failedAt = time.Now()
	if err != nil {
		return publish.Marked{}, err
	}
	return o.marked(), nil
}

// do sends a request with the token as it is now: Kubernetes replaces it.
func (m *configMapMark) do(ctx context.Context, method string, patch *markObject) (o markObject, err error) {
	token, err := os.ReadFile(filepath.Join(m.folder, "token"))
	if err != nil {
		return o, err
	}
	var body io.Reader
	if patch != nil {
		text, err := json.Marshal(patch)
		if err != nil {
			return o, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, m.url, body)
	if err != nil {
		return o, err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Accept", "application/json")
	if patch != nil {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := m.client.Do(r)
	if err != nil {
		return o, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxObject))
	if err != nil {
		return o, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return o, json.Unmarshal(text, &o)
	case http.StatusConflict:
		return o, publish.ErrMarkChanged
	}
	return o, fmt.Errorf("%s %s: the API server answers %s", method, m.url, response.Status)
}
