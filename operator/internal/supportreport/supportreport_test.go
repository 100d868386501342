package supportreport_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/supportreport"
)

// The markers stand where secrets may be. The first is the value of Secrets, and looks like
// no secret elsewhere. The other stands at places where any text is left out.
const (
	known = "kn0wn-marker"
	other = "other-marker"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1",
		Labels: map[string]string{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/instance": "default", "app.kubernetes.io/component": "voting"},
		Annotations: map[string]string{
			v1alpha1.OperatorAnnotation: "system/acclaim", "example.com/password": other,
			"kubectl.kubernetes.io/last-applied-configuration": `{"a":"` + other + `"}`,
		},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		Containers: []corev1.Container{{Name: "voting", Args: []string{"voting", "--mongodb-uri=mongodb://user:" + other + "@db/acclaim", "--some-token=" + other, known},
			Env: []corev1.EnvVar{{Name: "PASSWORD", Value: other}}, EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "bucket"}}}}}},
		Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate"}}}},
	}
}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func objects() []client.Object {
	b := &v1alpha1.Backend{ObjectMeta: named("team", "default"), Spec: v1alpha1.BackendSpec{
		Environment: "production", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"}, TLSSecretName: "inside",
		PodTemplate: v1alpha1.PodTemplate{
			Env:                       []corev1.EnvVar{{Name: "API_KEY", Value: other}},
			Annotations:               map[string]string{"vault": other},
			ServiceAccountAnnotations: map[string]string{"role": other},
		},
		Ingress: &v1alpha1.Ingress{Host: "a.test", Annotations: map[string]string{"snippet": other}},
	}, Status: v1alpha1.BackendStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "DatabaseUnreachable",
		Message: "mongodb+srv://user:" + other + "@db: no answer, password " + known}}}}
	e := &v1alpha1.Extension{ObjectMeta: named("team", "quiz"), Spec: v1alpha1.ExtensionSpec{ClientID: "quiz", Environment: v1alpha1.Environment{
		Keys:  []v1alpha1.Key{{SecretRef: v1alpha1.SecretKeyReference{Name: "key", Key: "production"}}},
		Sinks: []v1alpha1.Sink{{Name: "hook", Webhook: &v1alpha1.Webhook{URL: "https://hooks.test/" + other, Keys: []v1alpha1.Key{}}}},
	}}}
	d := &appsv1.Deployment{ObjectMeta: named("team", "default-voting"), Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: named("", ""), Spec: podSpec()}}}
	pod := &corev1.Pod{ObjectMeta: named("team", "default-voting-1"), Spec: podSpec(), Status: corev1.PodStatus{Phase: corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "voting", RestartCount: 1, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: "cannot reach mongodb://user:" + other + "@db " + known}}}}}}
	operator := &corev1.Pod{ObjectMeta: named("system", "acclaim-operator-1"), Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "operator"}}}}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "foreign-" + other}}
	event := func(about, note string) *eventsv1.Event {
		return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: about + ".1"}, Note: note, Regarding: corev1.ObjectReference{Kind: "Pod", Name: about, Namespace: "team"}}
	}
	return []client.Object{
		b, e, d, pod, operator, foreign, event(pod.Name, "started with "+known), event(foreign.Name, "not ours"),
		&networkingv1.Ingress{ObjectMeta: named("team", "default")},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "operator.acclaim.dev"}},
		secret("mongodb", "uri", "mongodb://user:"+known+"%2Fpw@db/acclaim"), secret("key", "production", base64.StdEncoding.EncodeToString([]byte(known))),
		secret("bucket", "AWS_SECRET_ACCESS_KEY", known), secret("certificate", "tls.key", "-----BEGIN\n"+known+"\n"), secret("inside", "tls.key", known),
		secret("default-registry", "extensions.yaml", "extensions: ["+known+"]"),
	}
}

// token is one of the form that services and API servers issue, whose signature is a marker.
const token = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjF9." + other

func newSource(t *testing.T, funcs interceptor.Funcs) supportreport.Source {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{
		"a log of " + token, "uri=mongodb://user:" + other + "@db/acclaim failed", `{"token":"` + other + `"}`, "password=" + other,
		"Authorization: Bearer " + other, "free text " + known, "the password " + known + "/pw in a URI", base64.StdEncoding.EncodeToString([]byte(known)),
	}, "\n")
	return supportreport.Source{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).WithObjects(objects()...).Build(),
		Now:    time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), Versions: "versions",
		Logs: func(_ context.Context, p *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			if options.TailLines == nil || options.LimitBytes == nil {
				t.Errorf("the log of %s has no bound", p.Name)
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
		Exec: func(_ context.Context, _ *corev1.Pod, _ string, command ...string) (string, error) {
			return `{"problems":["` + text + `"]}`, errors.New(strings.Join(command, " ") + ": 1 problem in mongodb://user:" + other + "@db")
		},
	}
}

// write returns the files of a report.
func write(t *testing.T, s supportreport.Source, namespace string) map[string]string {
	t.Helper()
	var archive bytes.Buffer
	if _, err := s.Write(t.Context(), &archive, namespace); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

func grep(t *testing.T, files map[string]string, markers ...string) {
	t.Helper()
	for name, text := range files {
		for _, marker := range markers {
			for line := range strings.Lines(name + "\n" + text) {
				if strings.Contains(line, marker) {
					t.Errorf("%s has a secret: %s", name, line)
				}
			}
		}
	}
}

func TestNoSecretEnters(t *testing.T) {
	for _, namespace := range []string{"", "team"} {
		files := write(t, newSource(t, interceptor.Funcs{}), namespace)
		grep(t, files, other, known, base64.StdEncoding.EncodeToString([]byte(known)), "foreign")
		names := slices.Sorted(maps.Keys(files))
		want := []string{
			"events/system.yaml", "events/team.yaml", "logs/system/acclaim-operator-1/operator.log",
			"logs/team/default-voting-1/voting.log", "logs/team/default-voting-1/voting.previous.log", "notes.txt",
			"objects/system/Lease/operator.acclaim.dev.yaml", "objects/system/Pod/acclaim-operator-1.yaml", "objects/team/Backend/default.yaml",
			"objects/team/Deployment/default-voting.yaml", "objects/team/Extension/quiz.yaml", "objects/team/Ingress/default.yaml",
			"objects/team/Pod/default-voting-1.yaml", "secrets.txt", "status.txt", "verify/team/default.json", "versions.txt",
		}
		if !slices.Equal(names, want) {
			t.Errorf("the files are %q, want %q", names, want)
		}
		for file, text := range map[string]string{
			"secrets.txt": "team/bucket: \n  AWS_SECRET_ACCESS_KEY: 12 bytes\n", "events/team.yaml": "started with (redacted)",
			"objects/team/Extension/quiz.yaml": "url: https://hooks.test/(redacted)", "status.txt": "Wrong Backend team/default",
			"logs/team/default-voting-1/voting.previous.log": "free text (redacted)", "notes.txt": "verify team/default: /acclaim verify --json: 1 problem",
		} {
			if !strings.Contains(files[file], text) {
				t.Errorf("%s lacks %q:\n%s", file, text, files[file])
			}
		}
		for _, name := range []string{"mongodb", "key", "bucket", "certificate", "inside", "default-registry"} {
			if !strings.Contains(files["secrets.txt"], "team/"+name+":") {
				t.Errorf("secrets.txt lacks %s", name)
			}
		}
	}
}

// A user who may not read Secrets and Events gets a report that says so.
func TestFewRights(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("no rights"))
	s := newSource(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok {
				return refused
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if strings.HasPrefix(list.GetObjectKind().GroupVersionKind().Kind, "Event") {
				return refused
			}
			return c.List(ctx, list, options...)
		},
	})
	s.Exec = nil
	files := write(t, s, "team")
	grep(t, files, other)
	for file, text := range map[string]string{"secrets.txt": "team/mongodb: things \"x\" is forbidden", "notes.txt": "no rights"} {
		if !strings.Contains(files[file], text) {
			t.Errorf("%s lacks %q:\n%s", file, text, files[file])
		}
	}
	if !strings.Contains(files["notes.txt"], "verify: not asked for") {
		t.Error(files["notes.txt"])
	}
}
