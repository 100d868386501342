package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
	"github.com/acclaim-dev/acclaim/hack/harness"
)

// stepTimeout limits each step.
const stepTimeout = 10 * time.Minute

// namespace holds everything, which is the worst case, but for a shared Backend.
const namespace = "default"

// backendNamespace returns the namespace of the Backend.
func (o options) backendNamespace() string {
	if o.shared {
		return "platform"
	}
	return namespace
}

// world is the servers and the operator between them.
type world struct {
	options
	dir         string
	environment *envtest.Environment
	api         client.WithWatch
	voting      *harness.Process
	base        string           // of the voting service's API
	votingAdmin string           // its /metrics
	binary      string           // the operator
	operator    *harness.Process // nil while there is none
	admin       string           // the operator's /metrics
}

// newWorld starts the servers and declares the Extensions, without an operator.
func newWorld(ctx context.Context, o options, dir string) (w *world, err error) {
	w = &world{options: o, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.binary, err = harness.BuildCommand(ctx, dir, "operator"); err != nil {
		return w, err
	}
	if err := w.startAPIServer(ctx); err != nil {
		return w, err
	}
	if err := w.startVoting(ctx); err != nil {
		return w, err
	}
	return w, w.declareExtensions(ctx)
}

func (w *world) close() error {
	var errs []error
	for _, p := range []*harness.Process{w.operator, w.voting} {
		if p != nil {
			errs = append(errs, stopProcess(p))
		}
	}
	if w.environment != nil {
		errs = append(errs, w.environment.Stop())
	}
	return errors.Join(errs...)
}

func (w *world) startAPIServer(ctx context.Context) error {
	folder, err := assets.Find(ctx, w.progress)
	if err != nil {
		return err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		return err
	}
	w.environment = environment
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if w.api, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return os.WriteFile(w.kubeconfig(), environment.KubeConfig, 0o600)
}

func (w *world) kubeconfig() string { return filepath.Join(w.dir, "kubeconfig") }

func extensionName(i int) string { return fmt.Sprintf("extension-%d", i) }

func secretName(i int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "secret of extension %d", i))
}

func (w *world) startVoting(ctx context.Context) error {
	binary, err := harness.BuildCommand(ctx, w.dir, "services")
	if err != nil {
		return err
	}
	registry := []byte("extensions:\n")
	for i := range w.extensions {
		registry = fmt.Appendf(registry, "- clientID: %s\n  secrets: [{value: %q}]\n", extensionName(i), secretName(i))
	}
	file := filepath.Join(w.dir, "extensions.yaml")
	if err := os.WriteFile(file, registry, 0o600); err != nil {
		return err
	}
	command, log, err := newCommand(ctx, filepath.Join(w.dir, "voting.log"), nil, binary, "voting", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--data-dir", filepath.Join(w.dir, "data"), "--extensions", file, "--log-level", "error")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the program has its own
	if w.voting, err = harness.StartProgram(ctx, command, stepTimeout); err != nil {
		return fmt.Errorf("the voting service does not come up: %w", err)
	}
	w.base, w.votingAdmin = w.voting.Base, w.voting.Admin
	return nil
}

// declareExtensions creates the Extensions, their Secrets and the Backend.
func (w *world) declareExtensions(ctx context.Context) error {
	backend := &v1alpha1.Backend{Spec: v1alpha1.BackendSpec{
		Image: "acclaim:scale", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
	}}
	backend.Namespace, backend.Name = w.backendNamespace(), "default"
	objects := []client.Object{backend}
	var ref *v1alpha1.BackendReference
	if w.shared {
		backend.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
		ref = &v1alpha1.BackendReference{Name: backend.Name, Namespace: backend.Namespace}
		objects = []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: backend.Namespace}}, backend}
	}
	for i := range w.extensions {
		s := &corev1.Secret{Data: map[string][]byte{"key": []byte(secretName(i))}}
		s.Namespace, s.Name = namespace, extensionName(i)
		e := &v1alpha1.Extension{Spec: v1alpha1.ExtensionSpec{ClientID: v1alpha1.ID(extensionName(i))}}
		e.Spec.BackendRef = ref
		e.Spec.Keys = []v1alpha1.Key{{SecretRef: v1alpha1.SecretKeyReference{Name: s.Name, Key: "key"}}}
		e.Namespace, e.Name = namespace, extensionName(i)
		objects = append(objects, s, e)
	}
	for _, o := range objects {
		if err := w.api.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// startOperator starts the operator and waits until it is ready. It looks for
// drift rarely enough not to disturb what is counted.
func (w *world) startOperator(ctx context.Context) error {
	metrics, err := harness.FreeAddress(ctx)
	if err != nil {
		return err
	}
	health, err := harness.FreeAddress(ctx)
	if err != nil {
		return err
	}
	flags := append([]string{"--leader-elect=false", "--voting-url", w.base, "--pod-url=",
		"--metrics-listen", metrics, "--health-listen", health, "--drift-interval", "24h"}, w.operatorFlags...)
	environment := []string{"KUBECONFIG=" + w.kubeconfig()}
	command, log, err := newCommand(ctx, filepath.Join(w.dir, "operator.log"), environment, w.binary, flags...)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the program has its own
	if w.operator, err = harness.StartProcess(command); err != nil {
		return err
	}
	w.admin = "http://" + metrics
	return w.awaitCondition(ctx, func() (bool, error) {
		status, _, err := harness.Ask(ctx, http.DefaultClient, http.MethodGet, "http://"+health+"/readyz", "", "")
		return err == nil && status == http.StatusOK, nil // an error: it does not listen yet
	})
}

func (w *world) restartOperator(ctx context.Context) error {
	operator := w.operator
	w.operator = nil
	if err := stopProcess(operator); err != nil {
		return err
	}
	return w.startOperator(ctx)
}

// awaitCondition waits until a condition holds.
func (w *world) awaitCondition(ctx context.Context, holds func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, stepTimeout, true,
		func(context.Context) (bool, error) { return holds() })
}
