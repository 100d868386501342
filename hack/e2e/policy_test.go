package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// ofPolicies is the label of what needs a network that enforces NetworkPolicies.
const ofPolicies = "policies"

// The ports that policies are about.
const (
	apiPort      = 8080 // of a service; of the operator that of its metrics
	adminPort    = 9090
	peerPort     = 7400
	databasePort = 27017
)

// confined is the name of a Backend whose pods connect only to what it declares.
const confined = "confined"

// policies have pods connect with one another. What the NetworkPolicies of the chart and the
// operator refuse is admitted by a further policy for everything: so the connection is one
// that nothing else prevents.
func policies(w *world) {
	It("admits to each port the pods that its policy names, and no others", Label(ofPolicies), func(ctx SpecContext) {
		c := w.provideCallers(ctx)
		voting, operator := w.podsOf(ctx, service("voting")), w.podsOf(ctx, client.MatchingLabels{"app.kubernetes.io/component": "operator"})
		state, sandbox := w.podsOf(ctx, service("state")), w.podsOf(ctx, serviceOf("sandbox", "voting"))
		admitted := []connection{
			{c.outsider, voting[0], apiPort},
			{operator[0], voting[0], apiPort},
			{c.scraper, voting[0], adminPort},
			{c.scraper, operator[0], apiPort},
			{voting[1], voting[0], peerPort},
			{state[0], voting[0], peerPort},
		}
		refused := []connection{
			{c.outsider, operator[0], apiPort},
			{c.neighbour, operator[0], apiPort},
			{voting[0], operator[0], apiPort},
		}
		for _, other := range []*corev1.Pod{c.outsider, c.neighbour, sandbox[0]} {
			refused = append(refused, connection{other, voting[0], adminPort}, connection{other, voting[0], peerPort})
		}
		if os.Getenv("ACCLAIM_E2E_MONGODB_URI") == "" {
			database := w.podsOf(ctx, client.MatchingLabels{"app.kubernetes.io/component": "trial-database"})[0]
			admitted = append(admitted, connection{voting[0], database, databasePort}, connection{c.task, database, databasePort})
			for _, other := range []*corev1.Pod{c.outsider, c.neighbour, c.foreignTask, operator[0]} {
				refused = append(refused, connection{other, database, databasePort})
			}
		}
		w.expectConnections(ctx, admitted, refused)
		c.remove(ctx)
	}, SpecTimeout(6*time.Minute))

	It("lets pods connect only to what their Backend declares", Label(ofPolicies), func(ctx SpecContext) {
		database := confined + "-database"
		w.provideDatabase(ctx, database)
		Expect(w.Create(ctx, &corev1.Secret{ObjectMeta: w.named(database), StringData: map[string]string{
			"uri": "mongodb://" + database + ":27017/acclaim",
		}})).To(Succeed())
		b := smallBackend(w.named(confined), database, "")
		b.Spec.Services.Voting.Replicas = new(int32(2))
		b.Spec.NetworkPolicy.EgressTo = []v1alpha1.NetworkPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": database}}}}
		Expect(w.Create(ctx, b)).To(Succeed())
		w.ready(ctx, confined, b.Spec.Image)
		pods := w.podsOf(ctx, serviceOf(confined, "voting"))
		w.expectConnections(ctx,
			[]connection{{pods[0], pods[1], peerPort}},
			[]connection{{pods[0], w.podsOf(ctx, service("voting"))[0], apiPort}})
		byName := net.JoinHostPort(database, strconv.Itoa(databasePort))
		Eventually(ctx, func() error { return connect(ctx, pods[0], byName) }).WithTimeout(time.Minute).Should(Succeed())

		Expect(w.Delete(ctx, b)).To(Succeed())
		w.gone(ctx, b)
		w.removeDatabase(ctx, database)
	}, SpecTimeout(6*time.Minute))
}

// connection is one that a pod opens to a port of another.
type connection struct {
	from, to *corev1.Pod
	port     int
}

func (c connection) String() string {
	return fmt.Sprintf("%s/%s to port %d of %s", c.from.Namespace, c.from.Name, c.port, c.to.Name)
}

// errRefused is the error of a connection that was not established.
var errRefused = errors.New("no connection")

func (c connection) try(ctx context.Context) error {
	return connect(ctx, c.from, net.JoinHostPort(c.to.Status.PodIP, strconv.Itoa(c.port)))
}

// connect has a pod of the image connect to an address. The answer need not be one of HTTP.
func connect(ctx context.Context, from *corev1.Pod, address string) error {
	command := exec.CommandContext(ctx, "kubectl", "exec", "--namespace", from.Namespace, from.Name, "--", "/acclaim", "probe", "--timeout=3s", "http://"+address)
	output, err := command.CombinedOutput()
	said := string(output)
	switch {
	case err == nil:
		return nil
	case strings.Contains(said, "dial tcp"), strings.Contains(said, "Client.Timeout"):
		return fmt.Errorf("%w: %s", errRefused, said)
	case strings.Contains(said, "http://"+address):
		return nil
	default:
		return fmt.Errorf("%w: %s", err, said)
	}
}

// expectConnections expects that some connections are admitted, and others refused by
// nothing but the policies.
func (w *world) expectConnections(ctx context.Context, admitted, refused []connection) {
	GinkgoHelper()
	for _, c := range admitted {
		Eventually(ctx, func() error { return c.try(ctx) }).WithTimeout(time.Minute).Should(Succeed(), "%s", c)
	}
	for _, c := range refused {
		Eventually(ctx, func() error { return c.try(ctx) }).WithTimeout(time.Minute).Should(MatchError(errRefused), "%s", c)
	}
	everything := &networkingv1.NetworkPolicy{ObjectMeta: w.named("everything"), Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
		Egress:      []networkingv1.NetworkPolicyEgressRule{{}},
	}}
	Expect(w.Create(ctx, everything)).To(Succeed())
	for _, c := range refused {
		Eventually(ctx, func() error { return c.try(ctx) }).WithTimeout(time.Minute).Should(Succeed(), "%s, where everything is admitted", c)
	}
	Expect(w.Delete(ctx, everything)).To(Succeed())
}

// joinPeers admits the pods of several Backends to one another's peer port, as those of one
// Backend are. Their own policies refuse it.
func (w *world) joinPeers(ctx context.Context, backends ...string) {
	GinkgoHelper()
	pods := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "app.kubernetes.io/instance", Operator: metav1.LabelSelectorOpIn, Values: backends,
	}}}
	Expect(w.Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: w.named("peers"), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: pods,
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &pods}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(peerPort))}},
		}},
	}})).To(Succeed())
}

// partPeers takes back what joinPeers admitted.
func (w *world) partPeers(ctx context.Context) {
	GinkgoHelper()
	Expect(w.Delete(ctx, &networkingv1.NetworkPolicy{ObjectMeta: w.named("peers")})).To(Succeed())
}

// podsOf returns the pods of the namespace that have labels.
func (w *world) podsOf(ctx context.Context, labels client.MatchingLabels) []*corev1.Pod {
	GinkgoHelper()
	pods, err := w.pods(ctx, labels)
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).NotTo(BeEmpty(), "pods with the labels %v", labels)
	found := make([]*corev1.Pod, 0, len(pods))
	for i := range pods {
		found = append(found, &pods[i])
	}
	return found
}

// callers are pods that only connect with others.
type callers struct {
	*world
	elsewhere         string      // another namespace
	outsider, scraper *corev1.Pod // there
	neighbour         *corev1.Pod // in the namespace of the release
	task, foreignTask *corev1.Pod // with the labels of a backup, by the operator and by another program
}

// provideCallers runs the callers, and has the release admit the scraper.
func (w *world) provideCallers(ctx context.Context) *callers {
	GinkgoHelper()
	c := &callers{world: w, elsewhere: w.namespace + "-elsewhere"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.elsewhere}}
	Expect(w.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(w.Delete(ctx, namespace)).To(Succeed()) }, NodeTimeout(time.Minute))
	backup := func(manager string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/component": "backup", "app.kubernetes.io/managed-by": manager}
	}
	scraper := map[string]string{"app": "scraper"}
	c.outsider = c.call(ctx, c.elsewhere, "outsider", nil)
	c.scraper = c.call(ctx, c.elsewhere, "scraper", scraper)
	c.neighbour = c.call(ctx, w.namespace, "neighbour", scraper)
	c.task = c.call(ctx, w.namespace, "task", backup("acclaim-operator"))
	c.foreignTask = c.call(ctx, w.namespace, "foreign-task", backup("Helm"))
	for _, caller := range []*corev1.Pod{c.outsider, c.scraper, c.neighbour, c.task, c.foreignTask} {
		Eventually(ctx, func() (corev1.PodPhase, error) {
			err := w.Get(ctx, client.ObjectKeyFromObject(caller), caller)
			return caller.Status.Phase, err
		}).Should(Equal(corev1.PodRunning))
	}
	values := w.values()
	values["monitoring"] = object{"from": []any{object{
		"namespaceSelector": object{"matchLabels": object{corev1.LabelMetadataName: c.elsewhere}},
		"podSelector":       object{"matchLabels": scraper},
	}}}
	Expect(w.upgrade(ctx, values)).To(Succeed())
	return c
}

// call runs a pod of the image, whose program serves no extension.
func (c *callers) call(ctx context.Context, namespace, name string, labels map[string]string) *corev1.Pod {
	const registry = "extensions.yaml"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: map[string]string{registry: "extensions: []"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "caller", Image: os.Getenv("ACCLAIM_E2E_IMAGE"), Args: []string{"voting", "--data-dir=/data", "--extensions=/registry/" + registry},
				VolumeMounts: []corev1.VolumeMount{{Name: "registry", MountPath: "/registry"}},
			}},
			Volumes: []corev1.Volume{{Name: "registry", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
				Items: []corev1.DownwardAPIVolumeFile{{Path: registry, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + registry + "']"}}},
			}}}},
		},
	}
	Expect(c.Create(ctx, pod)).To(Succeed())
	return pod
}

func (c *callers) remove(ctx context.Context) {
	for _, caller := range []*corev1.Pod{c.neighbour, c.task, c.foreignTask} {
		Expect(c.Delete(ctx, caller)).To(Succeed())
	}
	Expect(c.upgrade(ctx, c.values())).To(Succeed())
}
