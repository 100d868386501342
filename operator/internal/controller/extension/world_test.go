package extension_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// world is a namespace of the API server and a reconciler whose clock and
// requests the spec holds.
type world struct {
	namespace  string
	reconciler *extension.Reconciler
	recorder   *events.FakeRecorder
	now        time.Time
	// intercept, when set, is asked before every request of the reconciler, with its
	// verb, what it is about and, where it gets one object, that one's name.
	intercept func(verb string, about any, name string) error
	writes    []string // of the reconciler
	// cached, when set, are the Extensions that the reconciler sees: a cache that is
	// behind.
	cached []v1alpha1.Extension

	teams  []string     // further namespaces that controllers which are started see
	limits []string     // the namespaces that they watch; none: all
	rights *rest.Config // of an operator with limits, once it was started

	giveUpAfter time.Duration // of an Extension controller that is started

	renderings atomic.Int64 // of Backends for several namespaces, by controllers that were started

	serving atomic.Pointer[pod] // the service that a started Poll controller calls

	mu    sync.Mutex
	reads map[string]int // of Secrets by controllers that were started
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{now: time.Now().Truncate(time.Second), recorder: events.NewFakeRecorder(1000), reads: map[string]int{"": 0}, giveUpAfter: time.Minute}
	w.reconciler = &extension.Reconciler{Client: w.watched(), Recorder: w.recorder, Now: func() time.Time { return w.now }, GiveUpAfter: 5 * time.Minute, Renderer: extension.NewRenderer(registry.Render)}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "extension-"}}
	Expect(api.Create(ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	DeferCleanup(func(ctx context.Context) { Expect(cluster.CheckStatuses(ctx, w.namespace)).To(Succeed()) })
	return w
}

// watchedNamespaces are the namespaces of the world, or those that the controllers are
// limited to, for a cache.
func (w *world) watchedNamespaces() map[string]cache.Config {
	all := map[string]cache.Config{}
	for _, namespace := range append(w.limits, w.namespace) {
		all[namespace] = cache.Config{}
	}
	for _, team := range w.teams {
		if w.limits == nil {
			all[team] = cache.Config{}
		}
	}
	return all
}

// cacheOptions are those of the program: where it is limited to namespaces, the cache has
// the project's resources of all.
func (w *world) cacheOptions() cache.Options {
	options := cache.Options{DefaultNamespaces: w.watchedNamespaces()}
	if w.limits == nil {
		return options
	}
	everywhere := cache.ByObject{Namespaces: map[string]cache.Config{cache.AllNamespaces: {}}}
	options.ByObject = map[client.Object]cache.ByObject{&v1alpha1.Poll{}: everywhere, &v1alpha1.Extension{}: everywhere, &v1alpha1.Backend{}: everywhere}
	return options
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// padding makes a key of a name, long enough to be used.
const padding = "-key-of-more-than-32-bytes-0123456"

// secret returns the Secret "keys" with the given keys, each the base64 of its name and
// padding.
func (w *world) secret(keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: w.named("keys"), Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = []byte(base64.StdEncoding.EncodeToString([]byte(k + padding)))
	}
	return s
}

// key names an entry of the Secret "keys".
func key(entry string) v1alpha1.Key {
	return v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "keys", Key: entry}}
}

func activeFrom(k v1alpha1.Key, at time.Time) v1alpha1.Key {
	k.ActiveFrom = &metav1.Time{Time: at}
	return k
}

// extension returns an Extension of that client id with production keys.
func (w *world) extension(clientID string, keys ...v1alpha1.Key) *v1alpha1.Extension {
	return &v1alpha1.Extension{ObjectMeta: w.named(clientID), Spec: v1alpha1.ExtensionSpec{
		ClientID: v1alpha1.ID(clientID), Environment: v1alpha1.Environment{Keys: keys},
	}}
}

func inSandbox(e *v1alpha1.Extension, keys ...v1alpha1.Key) *v1alpha1.Extension {
	e.Spec.Sandbox = &v1alpha1.Environment{Keys: keys}
	return e
}

// poll returns a Poll of the Extension "quiz".
func (w *world) poll(name string) *v1alpha1.Poll {
	return &v1alpha1.Poll{ObjectMeta: w.named(name), Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"}, Channel: "1", Options: []string{"this", "that"},
	}}
}

func (w *world) backend(name, environment string) *v1alpha1.Backend {
	return &v1alpha1.Backend{ObjectMeta: w.named(name), Spec: v1alpha1.BackendSpec{
		Environment: environment, Image: "acclaim:test", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
	}}
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(api.Create(ctx, o)).To(Succeed())
	}
}

// createYounger creates an object in a later second than another was created in,
// which is as finely as the API server tells their ages apart.
func (w *world) createYounger(ctx context.Context, o, than client.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "clock-"}}
		g.Expect(api.Create(ctx, probe)).To(Succeed())
		g.Expect(probe.CreationTimestamp.Time).To(BeTemporally(">", than.GetCreationTimestamp().Time))
	}).Should(Succeed())
	create(ctx, o)
}

// change applies a change to a stored object.
func change[T client.Object](ctx context.Context, o T, by func(T)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		load(ctx, o)
		by(o)
		return api.Update(ctx, o)
	})).To(Succeed())
}

func load(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(api.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
}

// reconcile runs the reconciler once.
func (w *world) reconcile(ctx context.Context) (ctrl.Result, error) {
	w.writes = nil
	return w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace}})
}

// settle reconciles once, successfully, and finds nothing to write a second time.
func (w *world) settle(ctx context.Context) ctrl.Result {
	GinkgoHelper()
	result, err := w.reconcile(ctx)
	Expect(err).NotTo(HaveOccurred())
	first := w.writes
	_, err = w.reconcile(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.writes).To(BeEmpty(), "writes of a second reconcile")
	w.writes = first
	return result
}

// registry returns the keys in a Backend's registry by client id, those of both
// environments.
func (w *world) registry(ctx context.Context, backend string) map[string][]string {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret(backend))}
	load(ctx, secret)
	return parse(secret.Data[desired.RegistryKey])
}

// registryIfAny returns the same, or nothing while there is no registry.
func (w *world) registryIfAny(ctx context.Context, backend string) map[string][]string {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret(backend))}
	Expect(client.IgnoreNotFound(api.Get(ctx, client.ObjectKeyFromObject(secret), secret))).To(Succeed())
	return parse(secret.Data[desired.RegistryKey])
}

// webhookKeys returns the keys of webhooks in a Backend's registry, those of both
// environments.
func (w *world) webhookKeys(ctx context.Context, backend string) (keys []string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret(backend))}
	Expect(client.IgnoreNotFound(api.Get(ctx, client.ObjectKeyFromObject(secret), secret))).To(Succeed())
	type sinks []struct {
		Webhook struct{ Secrets []struct{ Value []byte } }
	}
	var content struct {
		Extensions []struct {
			Sinks   sinks
			Sandbox struct{ Sinks sinks }
		}
	}
	Expect(yaml.Unmarshal(secret.Data[desired.RegistryKey], &content)).To(Succeed())
	for _, e := range content.Extensions {
		for _, s := range append(e.Sinks, e.Sandbox.Sinks...) {
			for _, k := range s.Webhook.Secrets {
				keys = append(keys, strings.TrimSuffix(string(k.Value), padding))
			}
		}
	}
	return keys
}

func parse(file []byte) map[string][]string {
	GinkgoHelper()
	type secrets []struct{ Value []byte }
	var content struct {
		Extensions []struct {
			ClientID string
			Secrets  secrets
			Sandbox  struct{ Secrets secrets }
		}
	}
	Expect(yaml.Unmarshal(file, &content)).To(Succeed())
	keys := map[string][]string{}
	for _, e := range content.Extensions {
		for _, s := range append(e.Secrets, e.Sandbox.Secrets...) {
			keys[e.ClientID] = append(keys[e.ClientID], strings.TrimSuffix(string(s.Value), padding))
		}
	}
	return keys
}

// keys is the result of registry.
type keys = map[string][]string

// told returns the Extension's conditions as they are stored.
func told(ctx context.Context, e *v1alpha1.Extension) []metav1.Condition {
	GinkgoHelper()
	load(ctx, e)
	return e.Status.Conditions
}

// have matches conditions that have one of the type, with the reason; a reason
// that reports no problem belongs to a true condition.
func have(condition, reason string) gomegatypes.GomegaMatcher {
	well := map[string]bool{v1alpha1.ReasonUsable: true, v1alpha1.ReasonRegistered: true, v1alpha1.ReasonInSync: true}
	return WithTransform(func(conditions []metav1.Condition) string {
		c := meta.FindStatusCondition(conditions, condition)
		if c == nil {
			return "none"
		}
		return fmt.Sprintf("%s %v", c.Reason, c.Status == metav1.ConditionTrue)
	}, Equal(fmt.Sprintf("%s %v", reason, well[reason])))
}

// events returns the reasons of the Events since it was last asked.
func (w *world) events() []string {
	var reasons []string
	for {
		select {
		case text := <-w.recorder.Events:
			var kind, reason string
			_, err := fmt.Sscan(text, &kind, &reason)
			Expect(err).NotTo(HaveOccurred())
			reasons = append(reasons, kind+" "+reason)
		default:
			return reasons
		}
	}
}

// ask notes writes and lets the spec fail a request.
func (w *world) ask(verb string, about any, name string, write bool) error {
	if w.intercept != nil {
		if err := w.intercept(verb, about, name); err != nil {
			return err
		}
	}
	if write {
		w.writes = append(w.writes, fmt.Sprintf("%s %T", verb, about))
	}
	return nil
}

// watched returns a client with every request shown to ask first.
func (w *world) watched() client.Client {
	GinkgoHelper()
	c, err := client.NewWithWatch(operator, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.ask("get", o, key.Name, false); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := w.ask("list", l, "", false); err != nil {
				return err
			}
			if extensions, ok := l.(*v1alpha1.ExtensionList); ok && w.cached != nil {
				for _, e := range w.cached {
					extensions.Items = append(extensions.Items, *e.DeepCopy())
				}
				return nil
			}
			return c.List(ctx, l, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := w.ask("apply", o, "", true); err != nil {
				return err
			}
			return c.Apply(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := w.ask("patch", o, "", true); err != nil {
				return err
			}
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.ask("patch", o, "", true); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
}
