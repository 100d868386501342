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
	"strconv"
	"strings"
	"sync"
	"time"
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
	// markTries bounds the writes of one change: another process may change the mark between.
	markTries = 4
)

// configMapMark is a [publish.Mark] in a ConfigMap, which exists before the process starts. It is
// written before each new checkpoint is published, as a file is: at most once a second while results
// change, and never twice with the same content.
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

// errChanged is the error for an object that has changed since it was read.
var errChanged = errors.New("the ConfigMap has changed meanwhile")

// Load implements [publish.Mark]. A ConfigMap without a checkpoint holds no mark. One that does not
// exist is an error: a mark could not be stored there.
func (m *configMapMark) Load(ctx context.Context) (checkpoint []byte, err error) {
	err = m.try(ctx, func(ctx context.Context) error {
		o, err := m.do(ctx, http.MethodGet, nil)
		if text := o.Data[markKey]; text != "" {
			checkpoint = []byte(text)
		}
		return err
	})
	return checkpoint, err
}

// Store implements [publish.Mark]. It leaves a mark of the same log with more leaves: that is of another
// process, which has signed more.
func (m *configMapMark) Store(ctx context.Context, checkpoint []byte) error {
	return m.try(ctx, func(ctx context.Context) error {
		var err error
		for range markTries {
			if err = m.replace(ctx, checkpoint); !errors.Is(err, errChanged) {
				return err
			}
		}
		return err
	})
}

func (m *configMapMark) replace(ctx context.Context, checkpoint []byte) error {
	o, err := m.do(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	if covered, err := isCovered(checkpoint, []byte(o.Data[markKey])); covered || err != nil {
		return err
	}
	patch := markObject{Metadata: o.Metadata, Data: map[string]string{markKey: string(checkpoint)}}
	_, err = m.do(ctx, http.MethodPatch, &patch)
	return err
}

// isCovered reports whether a mark says at least as much as a checkpoint. It fails where the two
// contradict each other.
func isCovered(checkpoint, marked []byte) (bool, error) {
	if bytes.Equal(checkpoint, marked) {
		return true, nil
	}
	origin, size, root, ok := readMark(checkpoint)
	if !ok {
		return false, errors.New("the checkpoint has no origin, size and root")
	}
	markedOrigin, markedSize, markedRoot, ok := readMark(marked)
	if !ok || markedOrigin != origin || markedSize < size {
		return false, nil
	}
	if markedSize == size && markedRoot != root {
		return false, fmt.Errorf("the mark has another root of %d leaves", size)
	}
	return markedSize > size, nil // signatures differ while a key is replaced
}

// readMark reads the lines of a checkpoint. The publisher checks its signatures before it goes on from it.
func readMark(text []byte) (origin string, size int64, root string, ok bool) {
	lines := strings.SplitN(string(text), "\n", 4)
	if len(lines) < 4 {
		return "", 0, "", false
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	return lines[0], size, lines[2], err == nil
}

// try does something with the mark in markTimeout, unless that failed a moment ago.
func (m *configMapMark) try(ctx context.Context, do func(context.Context) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := time.Since(m.failedAt); m.failure != nil && since >= 0 && since < markPause {
		return m.failure
	}
	bounded, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	err := do(bounded)
	if m.failure = err; ctx.Err() != nil {
		m.failure = nil // the caller has gone
	}
	m.failedAt = time.Now()
	return err
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
		return o, errChanged
	}
	return o, fmt.Errorf("%s %s: the API server answers %s", method, m.url, response.Status)
}
