// Command operator rolls out the services of Acclaim that Kubernetes resources declare,
// writes their extension registries and configures the declared polls in them.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	// The roots of public certificate authorities: the image has none of its own.
	_ "golang.org/x/crypto/x509roots/fallback"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/breaker"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backups"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/task"
)

// leaseName is the lease of leader election.
const leaseName = "operator.acclaim.dev"

// flagValues are the values of the program's flags.
type flagValues struct {
	namespaces    []string
	selector      string
	lookInterval  time.Duration
	secretsByName bool
	leaderElect   bool
	health        string
	metrics       string
	votingURL     string
	podURL        string
	driftInterval time.Duration
	giveUpAfter   time.Duration
	workers       int
	defaultImage  string
	mongoDBSecret string
	instance      string
}

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	execute(time.Minute)
}

// execute runs the command line. It looks at the namespaces to watch at the given interval.
func execute(lookInterval time.Duration) {
	err := newCommand(lookInterval).ExecuteContext(ctrl.SetupSignalHandler())
	if errors.Is(err, errScopeChanged) {
		err = startAgain()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "operator: %v\n", err)
		os.Exit(1)
	}
}

// startAgain replaces the program by itself, in the same process: a cache cannot be given other
// namespaces, and libraries keep state of a manager, such as the depth of its queues.
func startAgain() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ()) //nolint:gosec // the program itself
}

// newCommand returns the command line: the operator itself, the subcommand that
// removes one and the one that prints the version.
func newCommand(lookInterval time.Duration) *cobra.Command {
	s := flagValues{lookInterval: lookInterval}
	command := &cobra.Command{
		Use:               "operator",
		Short:             "Run the operator of Acclaim",
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(c *cobra.Command, _ []string) error { return run(c.Context(), s) },
	}
	f := command.Flags()
	f.StringSliceVar(&s.namespaces, "namespaces", nil, "namespaces to watch, without those that do not exist or grant no rights (default all)")
	f.StringVar(&s.selector, "namespace-selector", "", "labels of further namespaces to watch, as in team=a,env!=test (default none; needs --namespaces)")
	f.BoolVar(&s.secretsByName, "secrets-by-name", false, "get only Secrets that the role names, and watch none: a change of one takes effect within a minute")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "let one of several operators work at a time")
	f.StringVar(&s.health, "health-listen", ":8081", "address of /healthz and /readyz")
	f.StringVar(&s.metrics, "metrics-listen", ":8080", "address of /metrics")
	f.StringVar(&s.votingURL, "voting-url", "{scheme}://{backend}-voting.{namespace}.svc:8080{path}", "base address of a Backend's voting service")
	f.StringVar(&s.podURL, "pod-url", "{scheme}://{pod}:8080{path}", "base address of the API of a pod, which is asked whether it has the keys of Extensions; empty asks none")
	f.DurationVar(&s.driftInterval, "drift-interval", time.Minute, "time between two comparisons of a configuration with the declared one")
	f.DurationVar(&s.giveUpAfter, "give-up-after", 5*time.Minute, "how long the deletion of a Poll waits for a service that does not answer")
	f.IntVar(&s.workers, "workers", 8, "Polls, and namespaces of Extensions, to reconcile at once")
	f.StringVar(&s.defaultImage, "default-backend-image", "", "image of the Backend created in a namespace that has Polls and no Backend (default: none is created)")
	f.StringVar(&s.mongoDBSecret, "default-backend-mongodb-secret", "mongodb", `Secret whose entry "uri" is the URI of that Backend's database`)
	f.StringVar(&s.instance, "instance", "acclaim-system/acclaim", "NAMESPACE/RELEASE, which the operator writes into what it looks after; it leaves alone what has another one")
	command.AddCommand(&cobra.Command{
		Use:   "uninstall NAMESPACE/RELEASE",
		Short: "Remove the operator of a Helm release",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return removeOperator(c.Context(), args[0]) },
	}, newWatchdog(), newVersion())
	return command
}

// run runs the operator until the context is done, or until it could watch other namespaces.
func run(ctx context.Context, s flagValues) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	namespaces, err := s.newNamespaceWatch(ctx, config, scheme, ctrl.Log)
	if err != nil {
		return err
	}
	manager, err := newManager(s, config, scheme, namespaces.watched)
	if err != nil {
		return err
	}
	spans := tracing.Open(ctx, tracing.Program{
		Service: "acclaim-operator", Version: version, Logger: slog.New(logr.ToSlogHandler(ctrl.Log)),
	}, os.Getenv)
	defer spans.Close(context.WithoutCancel(ctx))
	metrics.Registry.MustRegister(namespaces.gauge)
	metrics.Registry.MustRegister(newCensuses(watchedReader{manager.GetClient(), namespaces.watched})...)
	if spans != nil {
		metrics.Registry.MustRegister(newSpanCounts(spans.Stats))
	}
	if err := s.addControllers(ctx, manager, namespaces.watched, spans); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return manager.Start(ctx) })
	group.Go(func() error { return namespaces.wait(ctx) })
	return group.Wait()
}

// addControllers registers the controllers for the namespaces that are watched.
func (s flagValues) addControllers(ctx context.Context, manager ctrl.Manager, watched []string, spans *tracing.Tracing) error {
	recorder, instance, labels := manager.GetEventRecorder("acclaim-operator"), holder.NewInstance(s.instance).WithLeases(manager.GetAPIReader(), leaseName), s.selector != ""
	backends := &backend.Reconciler{
		Client:      manager.GetClient(),
		APIReader:   manager.GetAPIReader(),
		Recorder:    recorder,
		Now:         time.Now,
		GiveUpAfter: s.giveUpAfter,
		Watched:     watched,
		Labels:      labels,
		Resolver:    net.DefaultResolver,

		SecretsByName: s.secretsByName,
		Instance:      instance,
	}
	polls := &poll.Reconciler{
		Client:         manager.GetClient(),
		APIReader:      manager.GetAPIReader(),
		Recorder:       recorder,
		HTTP:           poll.NewClients(func(config *tls.Config) *http.Client { return s.httpClient(config, spans) }),
		Endpoint:       s.endpoint,
		DefaultBackend: s.defaultBackend(),
		Now:            time.Now,
		DriftInterval:  s.driftInterval,
		GiveUpAfter:    s.giveUpAfter,
		Metrics:        poll.NewMetrics(metrics.Registry),
		Watched:        watched,
		Labels:         labels,
		SecretsByName:  s.secretsByName,
		Instance:       instance,
	}
	extensions := &extension.Reconciler{
		Client:      manager.GetClient(),
		Recorder:    recorder,
		Now:         time.Now,
		GiveUpAfter: s.giveUpAfter,
		Watched:     watched,
		Labels:      labels,

		SecretsByName: s.secretsByName,
		Instance:      instance,
		Renderer:      extension.NewRenderer(registry.Render),
		Pods:          s.podAsker(),
	}
	return errors.Join(
		backends.Setup(manager), extensions.Setup(ctx, manager, s.workers), polls.Setup(ctx, manager, s.workers),
		backups.Setup(manager, backups.Access{Client: manager.GetClient(), APIReader: manager.GetAPIReader(), Recorder: recorder, Instance: instance}),
	)
}

// newCensuses returns the collectors that count and describe resources in a cache.
func newCensuses(c client.Reader) []prometheus.Collector {
	return []prometheus.Collector{poll.NewCensus(c), poll.NewLiveVotes(c), extension.NewCensus(c), backend.NewCensus(c), task.NewReport(c), backups.NewAges(c)}
}

// The lease is in the operator's own namespace:
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=acclaim-system,verbs=get;create;update

func newManager(s flagValues, config *rest.Config, scheme *runtime.Scheme, watched []string) (ctrl.Manager, error) {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         s.newCacheOptions(watched),
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}, FieldOwner: desired.Operator},
		LeaderElection:                s.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       s.leaseNamespace(),
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        s.health,
		Metrics:                       server.Options{BindAddress: s.metrics},
	})
	if err != nil {
		return nil, err
	}
	return manager, addChecks(manager)
}

// newCacheOptions returns the namespaces and objects that the cache is limited to. Polls,
// Extensions and Backends are in it from all namespaces: the operator removes its finalizers
// wherever it held an object.
func (s flagValues) newCacheOptions(watched []string) cache.Options {
	o := cache.Options{ByObject: backend.CacheOptions()}
	for _, limit := range []func() (client.Object, cache.ByObject){task.CacheOptions, backups.CacheOptions} {
		kind, options := limit()
		o.ByObject[kind] = options
	}
	if s.secretsByName {
		o.SyncPeriod = &s.lookInterval // what a change of a Secret would wake
	}
	if len(watched) == 0 {
		return o
	}
	o.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range watched {
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	for _, kind := range ownKinds() {
		o.ByObject[kind] = cache.ByObject{Namespaces: map[string]cache.Config{cache.AllNamespaces: {}}}
	}
	return o
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

// leaseNamespace returns the namespace of the operator's release, where others look for its lease.
func (s flagValues) leaseNamespace() string {
	namespace, _, _ := strings.Cut(s.instance, "/")
	return namespace
}

// httpClient returns a client for voting services. It keeps a connection for each
// worker: most of them call the same service.
func (s flagValues) httpClient(config *tls.Config, spans *tracing.Tracing) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	transport.MaxIdleConnsPerHost = s.workers
	return &http.Client{Transport: breaker.NewTransport(spans.Transport(transport, nameRequest)), Timeout: 5 * time.Second}
}

// nameRequest returns the name of the span of a request to a service: the last element of its
// path, which is a word of the contract.
func nameRequest(r *http.Request) string { return "/" + path.Base(r.URL.Path) }

func (s flagValues) endpoint(b *v1alpha1.Backend) string {
	return strings.NewReplacer("{scheme}", desired.Scheme(b), "{backend}", b.Name, "{namespace}", b.Namespace, "{path}", desired.BasePath(b)).Replace(s.votingURL)
}

// podAsker returns nil where no pod is to be asked.
func (s flagValues) podAsker() *extension.PodAsker {
	if s.podURL == "" {
		return nil
	}
	return extension.NewPodAsker(func(b *v1alpha1.Backend, pod *corev1.Pod) string {
		address := pod.Status.PodIP
		if strings.Contains(address, ":") { // IPv6
			address = "[" + address + "]"
		}
		return strings.NewReplacer("{scheme}", desired.Scheme(b), "{pod}", address, "{path}", desired.BasePath(b)).Replace(s.podURL)
	})
}

func (s flagValues) defaultBackend() *v1alpha1.BackendSpec {
	if s.defaultImage == "" {
		return nil
	}
	return &v1alpha1.BackendSpec{
		Image:   s.defaultImage,
		MongoDB: v1alpha1.SecretKeyReference{Name: s.mongoDBSecret, Key: "uri"},
	}
}
