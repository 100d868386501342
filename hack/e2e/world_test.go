package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

const (
	chart   = "../../charts/acclaim"
	release = "acclaim"
)

// world holds the things that the specs share: a cluster and its namespace.
type world struct {
	client.Client
	config    *rest.Config
	client    *http.Client
	namespace string
	host      string // of the ingress
	ingress   string // base URL of its controller
	restored  string // Secret of the database that production was restored into
	report    report
	keys      keyring
	// frugal is set where another release runs beside: production alone, whose pods
	// request little.
	frugal    bool
	installed version  // the release begins with it
	tenants   []string // further namespaces that it watches
}

// version is a chart and an image.
type version struct{ chart, image string }

func thisVersion() version { return version{chart, os.Getenv("ACCLAIM_E2E_IMAGE")} }

func newWorld() *world { return &world{client: newClient(), installed: thisVersion()} }

// connect finds the cluster and makes a namespace.
func (w *world) connect(ctx context.Context) {
	var err error
	w.config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	w.Client, err = client.New(w.config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "acclaim-e2e-"}}
	Expect(w.Create(ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	w.host = namespace.Name + ".test"
	DeferCleanup(w.leave)
	w.ingress = os.Getenv("ACCLAIM_E2E_INGRESS")
	if w.ingress == "" {
		w.enter(ctx, "")
	}
}

// enter has requests come through the ingress of the first node but one.
func (w *world) enter(ctx context.Context, but string) {
	w.ingress = fmt.Sprintf("http://%s:30080", w.nodeAddress(ctx, but))
}

// leave removes what a spec that failed left.
func (w *world) leave(ctx SpecContext) {
	_ = helm(ctx, nil, "uninstall", release, "--namespace", w.namespace, "--ignore-not-found", "--wait")
	Expect(client.IgnoreNotFound(w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))).To(Succeed())
}

// nodeAddress returns that of the first node but one.
func (w *world) nodeAddress(ctx context.Context, but string) string {
	for _, node := range w.nodes(ctx) {
		for _, address := range node.Status.Addresses {
			if node.Name != but && address.Type == corev1.NodeInternalIP {
				return address.Address
			}
		}
	}
	Fail("no node has an address")
	return ""
}

func (w *world) nodes(ctx context.Context) []corev1.Node {
	var nodes corev1.NodeList
	Expect(w.List(ctx, &nodes)).To(Succeed())
	return nodes.Items
}

// values are those of the release, without what upgrades add.
func (w *world) values() object {
	repository, tag := cutImage(os.Getenv("ACCLAIM_E2E_IMAGE"))
	values := object{
		"image":      object{"repository": repository, "tag": tag},
		"production": object{"ingress": object{"host": w.host}},
		"sandbox":    object{},
		// A drifted configuration is corrected within it.
		"operator": object{"driftInterval": "20s"},
	}
	if w.tenants != nil {
		values["operator"].(object)["namespaces"] = w.tenants
		values["production"].(object)["allowedNamespaces"] = object{"from": "All"}
	}
	if w.frugal {
		values["production"].(object)["services"] = w.services()
	} else {
		values["sandbox"] = object{
			"enabled": true,
			"ingress": object{"host": w.host, "path": "/sandbox/v1"},
		}
	}
	if uri := os.Getenv("ACCLAIM_E2E_MONGODB_URI"); uri != "" {
		for _, environment := range []string{"production", "sandbox"} {
			values[environment].(object)["mongodb"] = object{"uri": uri}
		}
	} else {
		values["trialDatabase"] = object{
			"enabled": true,
			"image":   os.Getenv("ACCLAIM_E2E_DATABASE_IMAGE"),
			"args":    databaseArguments(),
		}
	}
	if w.restored != "" {
		values["production"].(object)["mongodb"] = object{"secretName": w.restored}
	}
	return values
}

// services are those of production with what they request, nothing for the defaults.
func (w *world) services() object {
	services := object{}
	if w.frugal {
		for _, name := range []string{"voting", "accumulation", "ranking", "state"} {
			services[name] = object{"resources": object{"requests": object{"cpu": "5m", "memory": "16Mi"}}}
		}
	}
	return services
}

// databaseArguments are those of hack/mongod.
func databaseArguments() []string {
	return []string{"--listen=:27017", "--data=/data/db", "--sync=false"}
}

func cutImage(image string) (repository, tag string) {
	i := strings.LastIndexByte(image, ':')
	Expect(i).To(BeNumerically(">", 0), "%q is not repository:tag", image)
	return image[:i], image[i+1:]
}

// helm runs Helm, with values if there are any.
func helm(ctx context.Context, values any, arguments ...string) error {
	command := exec.CommandContext(ctx, "helm", arguments...)
	if values != nil {
		content, err := json.Marshal(values)
		if err != nil {
			return err
		}
		command.Args = append(command.Args, "--values", "-")
		command.Stdin = bytes.NewReader(content)
	}
	return run(command)
}

// run runs a command. An error has what it printed.
func run(command *exec.Cmd) error {
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, output)
	}
	return nil
}

// upgrade gives the release other values. A change by other means would make the
// next upgrade fail, because Helm then finds a field that it does not own.
func (w *world) upgrade(ctx context.Context, values object, flags ...string) error {
	return helm(ctx, values, slices.Concat([]string{"upgrade", release, chart, "--namespace", w.namespace}, flags)...)
}

// named returns the metadata of an object in the namespace.
func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}
