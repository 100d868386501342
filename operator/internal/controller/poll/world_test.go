package poll_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/services/votingclient"
)

const (
	clientID = "sample-extension"
	key      = "c2FtcGxlLXNlY3JldA==" // that of config/extensions.yaml
)

// world is a real API server, a real voting service and a reconciler between
// them, whose clock and requests the test holds.
type world struct {
	t          *testing.T
	api        client.Client // undisturbed
	reconciler *poll.Reconciler
	service    *votingclient.Client
	recorder   *events.FakeRecorder
	now        time.Time
	namespace  string
	// intercept, when set, is asked before every request of the reconciler, with
	// "http" or the API server's verb and the method or kind.
	intercept func(kind, what string) error
	writes    []string // of the reconciler to either server
}

// cluster starts an API server with the CRDs and returns a client of it.
func cluster(t *testing.T) (*rest.Config, client.WithWatch) {
	t.Helper()
	folder, err := assets.Find(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"../../../../config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return config, c
}

// startService builds and starts the real program and returns its base address.
func startService(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "acclaim")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/acclaim-dev/acclaim/services")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	server := exec.CommandContext(context.WithoutCancel(t.Context()), program, "voting", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--data-dir", filepath.Join(folder, "data"),
		"--extensions", "../../../../config/extensions.yaml", "--log-level", "error")
	server.Stderr = t.Output()
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(line) {
		if base, ok := strings.CutPrefix(field, "base="); ok {
			return base
		}
	}
	t.Fatalf("no address in %q", line)
	return ""
}

// newWorld returns a world in a namespace of its own, with an Extension, its
// Secret and a Backend.
func newWorld(t *testing.T, api client.WithWatch, base string) *world {
	t.Helper()
	w := &world{t: t, api: api, now: time.Now().Truncate(time.Second), recorder: events.NewFakeRecorder(1000)}
	clock := func() time.Time { return w.now }
	w.service = votingclient.New(base, http.DefaultClient, time.Now)
	w.reconciler = &poll.Reconciler{
		Client:   w.watched(api),
		Recorder: w.recorder,
		HTTP:     &http.Client{Transport: w, Timeout: 5 * time.Second},
		Endpoint: func(*v1alpha1.Backend) string { return base },
		DefaultBackend: &v1alpha1.BackendSpec{
			Image: "acclaim:test", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
		},
		Now:           clock,
		DriftInterval: time.Minute,
		GiveUpAfter:   5 * time.Minute,
		Metrics:       poll.NewMetrics(prometheus.NewRegistry()),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "poll-"}}
	w.create(namespace)
	w.namespace = namespace.Name
	w.create(w.secret())
	w.create(w.extension())
	return w
}

func (w *world) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.named("quiz"), Data: map[string][]byte{"key": []byte(key)}}
}

func (w *world) extension() *v1alpha1.Extension {
	return &v1alpha1.Extension{ObjectMeta: w.named("quiz"), Spec: v1alpha1.ExtensionSpec{
		ClientID: clientID,
		Environment: v1alpha1.Environment{Keys: []v1alpha1.Key{
			{SecretRef: v1alpha1.SecretKeyReference{Name: "quiz", Key: "key"}},
		}},
	}}
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// poll returns a Poll on a channel that no other world has.
func (w *world) poll(name string) *v1alpha1.Poll {
	return &v1alpha1.Poll{ObjectMeta: w.named(name), Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"}, Channel: w.namespace,
		Prompt: "Which?", Options: []string{"this", "that"}, TotalVotesPerUser: 3,
	}}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.api.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// createYounger creates a Poll in a later second than another was created in,
// which is as finely as the API server tells their ages apart.
func (w *world) createYounger(p, than *v1alpha1.Poll) {
	w.t.Helper()
	for {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "clock-"}}
		w.create(probe)
		if than.CreationTimestamp.Before(&probe.CreationTimestamp) {
			w.create(p)
			return
		}
	}
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	if err := w.api.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// change applies a change to the stored Poll.
func (w *world) change(p *v1alpha1.Poll, by func(*v1alpha1.Poll)) {
	w.t.Helper()
	w.load(p)
	by(p)
	if err := w.api.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) load(o client.Object) {
	w.t.Helper()
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) gone(o client.Object) bool {
	return w.api.Get(w.t.Context(), client.ObjectKeyFromObject(o), o) != nil
}

// reconcile runs the reconciler once and loads what became of the Poll.
func (w *world) reconcile(p *v1alpha1.Poll) (ctrl.Result, error) {
	w.writes = nil
	result, err := w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	_ = w.api.Get(w.t.Context(), client.ObjectKeyFromObject(p), p) // it may be gone
	return result, err
}

// settle reconciles and fails the test when that does.
func (w *world) settle(p *v1alpha1.Poll) ctrl.Result {
	w.t.Helper()
	result, err := w.reconcile(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// key returns the poll in the service that a Poll declares.
func (w *world) key(p *v1alpha1.Poll) votingclient.Poll {
	return votingclient.Poll{ClientID: clientID, Secret: []byte("sample-secret"), Channel: p.Spec.Channel, ID: p.PollID()}
}

// config reads back what the service holds.
func (w *world) config(p *v1alpha1.Poll) (votingclient.Config, bool) {
	w.t.Helper()
	config, found, err := w.service.Config(w.t.Context(), w.key(p))
	if err != nil {
		w.t.Fatal(err)
	}
	return config, found
}

// ask notes writes and lets the test fail a request.
func (w *world) ask(kind, what string, write bool) error {
	if w.intercept != nil {
		if err := w.intercept(kind, what); err != nil {
			return err
		}
	}
	if write {
		w.writes = append(w.writes, kind+" "+what)
	}
	return nil
}

// RoundTrip passes the reconciler's requests on to the service.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := w.ask("http", r.Method, r.Method != http.MethodGet); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

// watched returns the client with every request shown to ask first.
func (w *world) watched(api client.WithWatch) client.Client {
	kind := func(o any) string { return fmt.Sprintf("%T", o) }
	return interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.ask("get", kind(o), false); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := w.ask("list", kind(l), false); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.ask("create", kind(o), true); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := w.ask("patch", kind(o), true); err != nil {
				return err
			}
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.ask("patch status", kind(o), true); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
}
