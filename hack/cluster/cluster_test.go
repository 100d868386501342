package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// A cluster itself needs root and minutes: it is tested by what runs in it.

func TestCertificates(t *testing.T) {
	c := &cluster{place: place{name: "acclaim", state: t.TempDir()}}
	if err := c.issueCertificates(1); err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(read(t, c.certificatePath("ca.crt")))
	for file, want := range map[string]struct{ user, group, name string }{
		"apiserver": {"kube-apiserver", "", firstService},
		"admin":     {"admin", "system:masters", ""},
		"node-1":    {"system:node:node-1", "system:nodes", nodeAddress(1)},
		"scheduler": {"system:kube-scheduler", "", ""},
	} {
		t.Run(file, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(c.certificatePath(file+".crt"), c.certificatePath(file+".key"))
			if err != nil {
				t.Fatal(err)
			}
			if got := pair.Leaf.Subject.CommonName; got != want.user {
				t.Errorf("user %s, want %s", got, want.user)
			}
			if got := strings.Join(pair.Leaf.Subject.Organization, " "); got != want.group {
				t.Errorf("group %q, want %q", got, want.group)
			}
			options := x509.VerifyOptions{Roots: authority, DNSName: want.name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
			if _, err := pair.Leaf.Verify(options); err != nil {
				t.Error(err)
			}
		})
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.certificatePath("admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://" + controlAddress + ":6443"; config.Host != want {
		t.Errorf("the API server is at %s, want %s", config.Host, want)
	}
}

// Clusters of several names, and of several checkouts, are apart.
func TestNames(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(nameVariable, "one")
	one, err := thisPlace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]string{
		"one-control": control, "one-node-3": "node-3",
		"two-control": "", "one-node-control": "", "one-node-3-control": "", "one-two-node-3": "", "one-node-": "",
	} {
		if name, ours := one.machine(namespace); ours != (want != "") || ours && name != want {
			t.Errorf("%s is %q, %t; want %q", namespace, name, ours, want)
		}
	}
	for _, name := range []string{"One", "one/two", "-one", strings.Repeat("o", 41)} {
		t.Setenv(nameVariable, name)
		if _, err := thisPlace(t.Context()); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	t.Setenv(nameVariable, "")
	here, err := thisPlace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root, err := checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if here.name != defaultName(root) || here.name == defaultName(root+"-2") || here.state == one.state {
		t.Errorf("the place of this checkout is %+v", here)
	}
}

// The cluster of another checkout stays, also if both are given one name.
func TestOwner(t *testing.T) {
	there := place{name: "acclaim", state: t.TempDir()}
	if err := (&cluster{place: there, Source: "/a"}).checkOwner(); err != nil {
		t.Errorf("without a cluster: %v", err)
	}
	content, err := json.Marshal(&cluster{place: there, Source: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(there.state, clusterFile), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&cluster{place: there, Source: "/a"}).checkOwner(); err != nil {
		t.Errorf("the same checkout: %v", err)
	}
	if err := (&cluster{place: there, Source: "/b"}).checkOwner(); err == nil || !strings.Contains(err.Error(), "/a") {
		t.Errorf("another checkout: %v", err)
	}
}

// What is rendered is well-formed and filled in.
func TestRender(t *testing.T) {
	c := &cluster{place: place{name: "acclaim", state: t.TempDir()}}
	node, err := c.newNode(1)
	if err != nil {
		t.Fatal(err)
	}
	manifests := t.TempDir()
	if err := renderTemplates("manifests", manifests, manifestValues{DNS: dnsService, Ingress: ingressPort, Gateway: gatewayPort}); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := renderTemplates("manifests", foreign, manifestValues{Ingress: ingressPort, Gateway: gatewayPort, Foreign: true}, "metrics-server.yaml"); err != nil {
		t.Fatal(err)
	}
	rendered := 0
	for _, folder := range []string{node.Folder, filepath.Join(registriesFolder(node.Folder), registryAddress), manifests, foreign} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			rendered++
			content := read(t, path)
			if strings.Contains(string(content), "{{") || strings.Contains(string(content), "<no value>") {
				t.Errorf("%s is not filled in", path)
			}
			for document := range strings.SplitSeq(string(content), "\n---\n") {
				var into map[string]any
				if err := yaml.UnmarshalStrict([]byte(document), &into); err != nil && filepath.Ext(path) != ".toml" {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
	if want := 12; rendered != want {
		t.Errorf("%d files, want %d", rendered, want)
	}
}

// A machine can be started again from what was written for the first time.
func TestMachineFile(t *testing.T) {
	c := &cluster{place: place{name: "acclaim", state: t.TempDir()}}
	want := c.controlPlane(1)
	if err := want.writeFile(c.state); err != nil {
		t.Fatal(err)
	}
	got, err := readMachine(machineFile(c.state, control))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
}

// The API server comes from the module that the operator is tested against, the
// rest of Kubernetes from one of ours.
func TestOneVersionOfKubernetes(t *testing.T) {
	version := regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`)
	servers := version.FindSubmatch(read(t, filepath.Join("..", "envtest", "apiserver", "go.mod")))
	others := version.FindSubmatch(read(t, filepath.Join("tools", "kubernetes", "go.mod")))
	if len(servers) != 2 || len(others) != 2 || string(servers[1]) != string(others[1]) {
		t.Errorf("the API server is %q, the rest %q", servers, others)
	}
}

// A component has a module below tools, and there is no other.
func TestComponents(t *testing.T) {
	want, err := filepath.Glob(filepath.Join("tools", "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range components() {
		known[filepath.Join("tools", c.name, "go.mod")] = true
		if !strings.Contains(string(read(t, filepath.Join("tools", c.name, "go.mod"))), c.upstream+" v") {
			t.Errorf("%s does not pin %s", c.name, c.upstream)
		}
	}
	for _, module := range want {
		if !known[module] {
			t.Errorf("%s is of no component", module)
		}
	}
	if len(known) != len(want) {
		t.Errorf("%d components, %d modules", len(known), len(want))
	}
}

func TestOnce(t *testing.T) {
	b := builder{cache: t.TempDir(), report: newReport(io.Discard)}
	filled := 0
	fill := func(folder string) error {
		filled++
		return os.WriteFile(filepath.Join(folder, "program"), nil, 0o600)
	}
	refused := errors.New("refused")
	_, err := b.fillOnce(t.Context(), "thing", "1", func(string) error { return refused })
	if !errors.Is(err, refused) {
		t.Fatalf("error %v, want %v", err, refused)
	}
	if left, err := os.ReadDir(b.cache); err != nil || len(left) > 0 {
		t.Errorf("a build that failed left %v, %v", left, err)
	}
	for _, key := range []string{"1", "1", "2"} {
		folder, err := b.fillOnce(t.Context(), "thing", key, fill)
		if err != nil {
			t.Fatal(err)
		}
		read(t, filepath.Join(folder, "program"))
	}
	if filled != 2 {
		t.Errorf("filled %d times for two keys", filled)
	}
}

func TestRemoveControlGroups(t *testing.T) {
	root := t.TempDir()
	for _, group := range []string{"acclaim-node-1/pods/a", "memory/acclaim-node-1/pods/b", "memory/acclaim-node-10", "acclaim-node-10", "node-1"} {
		if err := os.MkdirAll(filepath.Join(root, group), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // what is gone is no error
		if err := removeControlGroups(root, "acclaim-node-1"); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range found {
			left = append(left, strings.TrimPrefix(group, root+"/"))
		}
	}
	if diff := cmp.Diff([]string{"acclaim-node-10", "memory", "node-1", "memory/acclaim-node-10"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestDepth(t *testing.T) {
	for status, want := range map[string]int{
		"Name:\tsh\nNSpid:\t4242\nThreads:\t1\n": 1,
		"Name:\tsh\nNSpid:\t4242\t1\n":           2,
		"Name:\tsh\n":                            0,
	} {
		if got := namespaceDepth(status); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}

func TestPrinted(t *testing.T) {
	got, err := runCommand(t.Context(), t.TempDir(), "sh", "-c", "echo result; echo warning >&2")
	if err != nil || got != "result" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = runCommand(t.Context(), t.TempDir(), "sh", "-c", "echo complaint >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "complaint") {
		t.Errorf("error %v does not tell the complaint", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
