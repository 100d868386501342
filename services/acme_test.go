package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const acmeDomain = "votes.acclaim.test"

// authority is an ACME server that checks names as a public one does, with a name server that
// leads every name to this machine.
type authority struct {
	directory   string
	certificate string // file of the certificate with which it is served
	roots       *x509.CertPool
	stop        context.CancelFunc
}

// startAuthority starts an authority that looks for the program at a port.
func startAuthority(t *testing.T, programPort string) *authority {
	t.Helper()
	dir := t.TempDir()
	listen, management, names := freeAddress(t), freeAddress(t), freeAddress(t)
	a := &authority{directory: "https://" + listen + "/dir", certificate: filepath.Join(dir, "cert.pem")}
	writeServerCertificate(t, a.certificate, filepath.Join(dir, "key.pem"))
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": management, "certificate": a.certificate, "privateKey": filepath.Join(dir, "key.pem"),
		"tlsPort": json.Number(programPort), "httpPort": 1,
		"profiles": map[string]any{"default": map[string]any{"description": "default", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, a.stop = context.WithCancel(t.Context())
	run := func(name string, args ...string) {
		binary := filepath.Join(dir, name)
		build := exec.CommandContext(ctx, "go", "build", "-modfile=tools/acme/go.mod", "-o", binary, "github.com/letsencrypt/pebble/v2/cmd/"+name)
		build.Dir, build.Env = "../hack", append(os.Environ(), "CGO_ENABLED=0") // as all other programs
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, output)
		}
		command := exec.CommandContext(ctx, binary, args...)
		command.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
		command.Stdout, command.Stderr = t.Output(), t.Output()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Wait() }) // killed with the context
	}
	run("pebble-challtestsrv", "-dnsserver", names, "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", "")
	run("pebble", "-config", filepath.Join(dir, "config.json"), "-dnsserver", names)
	t.Cleanup(a.stop)
	for _, address := range []string{names, listen, management} {
		awaitListener(t, address)
	}
	a.roots = readRoots(t, "https://"+management+"/roots/0", a.certificate)
	return a
}

// writeServerCertificate writes a certificate for 127.0.0.1 that signs itself.
func writeServerCertificate(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitListener waits until something listens at an address.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	_, err := backoff.Retry(t.Context(), func() (any, error) {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return nil, err
		}
		return nil, connection.Close()
	}, backoff.WithBackOff(backoff.NewConstantBackOff(20*time.Millisecond)), backoff.WithMaxElapsedTime(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
}

// readRoots returns the certificates at an address.
func readRoots(t *testing.T, address, serverCertificate string) *x509.CertPool {
	t.Helper()
	trusted, err := os.ReadFile(serverCertificate)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no roots: %v, %s", err, text)
	}
	return roots
}

// With --domain the program serves the API with a certificate that an authority issues to it.
// After a restart it has the certificate without the authority.
func TestCertificateByACME(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	authority := startAuthority(t, port)
	dir := filepath.Join(t.TempDir(), "data")
	registry := filepath.Join(t.TempDir(), "extensions.yaml")
	initialize(t, nil, registry, "--extension", "mine")
	start := func() (p *process, base string) {
		p = newProgram(t, dir, "serve", "--extensions", registry, "--domain", acmeDomain, "--listen", address, "--acme-directory", authority.directory)
		p.cmd.Env = append(p.cmd.Env, "SSL_CERT_FILE="+authority.certificate)
		p.launch(t)
		return p, p.awaitReady(t)["base"]
	}
	request := func(name string) (*x509.Certificate, error) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authority.roots, ServerName: name}}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/v1/vote", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", response.StatusCode)
		}
		return response.TLS.PeerCertificates[0], nil
	}
	p, base := start()
	if base != "https://"+acmeDomain+":"+port+"/v1" {
		t.Errorf("it serves %s", base)
	}
	first, err := request(acmeDomain)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	if _, err := request("other.acclaim.test"); err == nil {
		t.Error("another name has a certificate")
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	authority.stop()
	start()
	again, err := request(acmeDomain)
	if err != nil || !again.Equal(first) {
		t.Errorf("after a restart: %v", err)
	}
}

func TestDomainsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"--domain https://votes.example.org", "must be a name such as"},
		{"--domain 203.0.113.7", "must be a name such as"},
		{"--domain localhost", "must be a name such as"},
		{"--domain votes.example.org --tls-cert a --tls-key b", "must not be set"},
		{"--domain votes.example.org --extensions=", "--domain is votes.example.org"}, // the sample is public
	} {
		registry := filepath.Join(t.TempDir(), "extensions.yaml")
		initialize(t, nil, registry, "--extension", "mine")
		args := append([]string{"serve", "--extensions", registry, "--listen", "127.0.0.1:0"}, strings.Fields(test.args)...)
		if _, problem, status := runCommand(t, nil, args...); status != exitFailed || !strings.Contains(problem, test.want) {
			t.Errorf("%s: status %d, %s", test.args, status, problem)
		}
	}
}
