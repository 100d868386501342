package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// writeCertificate writes a new certificate for 127.0.0.1 and its key, and returns a pool
// that trusts it.
func writeCertificate(t *testing.T, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"acclaim.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(certificate)
	return pool
}

// openProcess opens and runs a process until the test ends.
func openProcess(t *testing.T, config Config) *Process {
	t.Helper()
	config.Listen, config.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	config.Store.DataDir, config.Extensions = t.TempDir(), "../../../../config/extensions.yaml"
	config.ShutdownTimeout, config.Services = time.Minute, Services()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return p
}

// statusOf returns the status of an answer, or the failure to get one.
func statusOf(t *testing.T, client *http.Client, method, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// notes is a logger's output that sends each line.
type notes chan string

func (n notes) Write(line []byte) (int, error) {
	n <- string(line)
	return len(line), nil
}

// The API speaks TLS with the certificate in the files, and with a new one as soon as
// they change, over HTTP/1.1 and HTTP/2.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first := writeCertificate(t, certFile, keyFile)
	lines := make(notes, 1000)
	p := openProcess(t, Config{TLSCert: certFile, TLSKey: keyFile, Mounts: BothMounts(), Logger: slog.New(slog.NewTextHandler(lines, nil))})
	request := func(pool *x509.CertPool, http2 bool) error {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "acclaim.test"}, ForceAttemptHTTP2: http2, DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		status, err := statusOf(t, &http.Client{Transport: transport}, http.MethodGet, "https://"+p.PublicAddress().String()+"/v1/vote")
		if err == nil && status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
		return err
	}
	for _, http2 := range []bool{false, true} {
		if err := request(first, http2); err != nil {
			t.Error(err)
		}
	}
	if status, err := statusOf(t, http.DefaultClient, http.MethodGet, "http://"+p.PublicAddress().String()+"/v1/vote"); err == nil && status != http.StatusBadRequest {
		t.Errorf("without TLS: %d", status)
	}
	second := writeCertificate(t, certFile, keyFile)
	for line := range lines {
		if strings.Contains(line, "TLS certificate reloaded") {
			break
		}
	}
	if err := request(second, true); err != nil {
		t.Error(err)
	}
	if err := request(first, true); err == nil {
		t.Error("the old certificate is still in force")
	}
}

func TestCertificateThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []Config{{TLSCert: dir + "/a", TLSKey: dir + "/b"}, {TLSCert: dir + "/a"}, {TLSKey: dir + "/b"}} {
		c.Extensions = "../../../../config/extensions.yaml"
		c.Logger = slog.New(slog.DiscardHandler)
		if _, err := Open(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), "--tls-cert") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A scraper of metrics does not reach what erases, or shows memory, where maintenance has
// a listener of its own.
func TestMaintenanceListener(t *testing.T) {
	routes := map[string]string{"/erase": http.MethodPost, "/debug/pprof/": http.MethodGet}
	for _, own := range []bool{false, true} {
		config := Config{Mounts: BothMounts()}
		if own {
			config.MaintenanceListen = "127.0.0.1:0"
		}
		p := openProcess(t, config)
		has := func(address, path, method string) bool {
			status, err := statusOf(t, http.DefaultClient, method, "http://"+address+path)
			if err != nil {
				t.Fatal(err)
			}
			return status != http.StatusNotFound
		}
		admin := p.AdminAddress().String()
		for path, method := range routes {
			if has(admin, path, method) == own {
				t.Errorf("%s on the admin listener, with one for maintenance: %t", path, own)
			}
			if own && !has(p.MaintenanceAddress().String(), path, method) {
				t.Errorf("%s is missing", path)
			}
		}
		if own && has(p.MaintenanceAddress().String(), "/metrics", http.MethodGet) || !has(admin, "/metrics", http.MethodGet) {
			t.Error("metrics are on the wrong listener")
		}
	}
}

// Without its mount, the sandbox issues no token.
func TestWithoutSandbox(t *testing.T) {
	p := openProcess(t, Config{Mounts: BothMounts()[:1]})
	for path, want := range map[string]int{"/sandbox/v1/authtoken": 404, "/v1/authtoken": 404, "/v1/vote": 401} {
		if status, err := statusOf(t, http.DefaultClient, http.MethodPost, "http://"+p.PublicAddress().String()+path); err != nil || status != want {
			t.Errorf("%s: %d, %v, want %d", path, status, err, want)
		}
	}
}

// Anyone can sign tokens with a published key, so it is refused where others can connect.
func TestSampleKeysNeedLoopback(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"loopback":    {Config{Listen: "127.0.0.1:0", AdminListen: "[::1]:0", MaintenanceListen: "localhost:0", GameListen: "127.0.0.1:0"}, ""},
		"any":         {Config{Listen: ":8080", AdminListen: "127.0.0.1:0"}, "--listen is :8080"},
		"unspecified": {Config{Listen: "0.0.0.0:8080", AdminListen: "127.0.0.1:0"}, "--listen is 0.0.0.0:8080"},
		"admin":       {Config{Listen: "127.0.0.1:0", AdminListen: "10.0.0.1:9090"}, "--admin-listen"},
		"maintenance": {Config{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", MaintenanceListen: "[::]:0"}, "--maintenance-listen"},
		"games":       {Config{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", GameListen: "0.0.0.0:8081"}, "--gamelink-listen is 0.0.0.0:8081"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tenant.Open("../../../../config/extensions.yaml", test.config.checkKeys)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			if got := test.config.IsLocal(); got != (test.want == "") {
				t.Errorf("the process is local: %t", got)
			}
		})
	}
	own := filepath.Join(t.TempDir(), "extensions.yaml")
	text := `extensions: [{clientID: one, secrets: [{value: MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=}]}]`
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	public := Config{Listen: ":8080", AdminListen: ":9090"}
	if _, err := tenant.Open(own, public.checkKeys); err != nil {
		t.Errorf("a key of its own is refused: %v", err)
	}
}
