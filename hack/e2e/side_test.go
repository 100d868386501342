package e2e_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// orders returns the orders in which things are deleted, each in a namespace of its own and
// without waiting in between: the Poll, the Extension, the Secret with its key, the
// Backend, the Namespace. The twelfth order is that of `helm uninstall`.
func orders() []string {
	return []string{"PESB", "EPBS", "SEPB", "SPEB", "BPES", "BSEP", "EBSP", "ESBP", "PSBE", "SBEP", "PN"}
}

// releases has another release beside the first: its operator looks after all namespaces
// but what the first one holds. The first one serves on as if it were alone.
func releases(w *world) {
	It("lives beside a release of all namespaces, where deletion in any order deletes votes", func(ctx SpecContext) {
		l := w.start(ctx, "beside")
		defer l.stop()
		s := w.beside(ctx)
		began := time.Now()
		s.declare(ctx)
		w.report.took("12 Backends and Polls to a vote in each", began)

		began = time.Now()
		for i, order := range orders() {
			s.delete(ctx, i, order)
		}
		for i := range orders() {
			w.gone(ctx, &v1alpha1.Poll{ObjectMeta: s.named(i, "order")})
			w.gone(ctx, &v1alpha1.Extension{ObjectMeta: s.named(i, "quiz")})
		}
		w.report.took("deleted in 11 orders to all Polls gone", began)
		s.uninstall(ctx)
		for i, order := range append(orders(), "helm uninstall") {
			Expect(s.left(ctx, i)).To(Equal([]any{int64(0), http.StatusNotFound}), "votes and configuration left by the order %s", order)
		}
		Expect(s.left(ctx, len(orders())+1)).To(Equal([]any{int64(1), http.StatusOK}), "of a Poll that retains its votes")
		s.remove(ctx)
		l.counted(ctx, 100)
		l.finish(ctx, w, "a release beside, deleted in 12 orders")
		l.expectNoFailure()
	}, SpecTimeout(10*time.Minute))
}

// side is another release and the namespaces that it looks after. All of them have one
// database, which a Backend of the first release reads when theirs are gone.
type side struct {
	*world
	second, third string // namespaces of releases
	witness       api
}

// beside installs the second release, which refuses a third.
func (w *world) beside(ctx SpecContext) *side {
	s := &side{world: w, second: w.namespace + "-second", third: w.namespace + "-third"}
	w.provideDatabase(ctx, "orders-database")
	s.provide(ctx, w.namespace, "orders-database", map[string]string{"uri": s.uri()})
	host := "witness." + w.host
	Expect(w.Create(ctx, smallBackend(w.named("witness"), "orders-database", host))).To(Succeed())
	s.witness = w.backend()
	s.witness.host = host

	s.provide(ctx, s.second, "quiz", s.key())
	DeferCleanup(func(ctx SpecContext) {
		_ = helm(ctx, nil, "uninstall", release, "--namespace", s.second, "--ignore-not-found", "--wait")
		s.remove(ctx)
	}, NodeTimeout(3*time.Minute))
	Expect(helm(ctx, s.values(), "install", release, chart, "--namespace", s.second, "--wait", "--timeout", "5m")).To(Succeed())
	err := helm(ctx, s.values(), "install", release, chart, "--namespace", s.third, "--create-namespace")
	Expect(err).To(MatchError(And(ContainSubstring("another release looks after all namespaces already"),
		ContainSubstring(s.second), ContainSubstring("leave operator.allNamespaces off"))))
	return s
}

func (s *side) uri() string {
	return fmt.Sprintf("mongodb://orders-database.%s.svc:27017/orders", s.namespace)
}

func (s *side) key() map[string]string {
	return map[string]string{"first": base64.StdEncoding.EncodeToString([]byte(firstKey))}
}

// values are those of the second release: an operator of all namespaces, and a Backend, an
// Extension and a Poll of its own.
func (s *side) values() object {
	repository, tag := cutImage(os.Getenv("ACCLAIM_E2E_IMAGE"))
	meta := metav1.ObjectMeta{Namespace: s.second, Name: "quiz"}
	return object{
		"image":    object{"repository": repository, "tag": tag},
		"operator": object{"allNamespaces": true, "replicas": 1},
		"production": object{
			"mongodb":  object{"uri": s.uri()},
			"services": smallBackend(meta, "", "").Spec.Services,
			"ingress":  object{"host": s.host(len(orders()))},
		},
		"extensions": object{"quiz": smallExtension(meta).Spec},
		"polls":      object{"order": orderPoll(meta, len(orders())).Spec},
	}
}

// declare makes a namespace for each order, all at once, and has a viewer vote in each.
func (s *side) declare(ctx context.Context) {
	for i := range orders() {
		s.provide(ctx, s.of(i), "quiz", s.key())
		s.provide(ctx, s.of(i), "database", map[string]string{"uri": s.uri()})
		Expect(s.Create(ctx, smallBackend(s.named(i, "default"), "database", s.host(i)))).To(Succeed())
		Expect(s.Create(ctx, smallExtension(s.named(i, "quiz")))).To(Succeed())
		Expect(s.Create(ctx, orderPoll(s.named(i, "order"), i))).To(Succeed())
	}
	kept := orderPoll(s.named(0, "kept"), len(orders())+1)
	kept.Spec.DeletionPolicy = v1alpha1.DeletionRetain
	Expect(s.Create(ctx, kept)).To(Succeed())
	for i := range len(orders()) + 1 {
		s.vote(ctx, i, i)
	}
	s.vote(ctx, 0, len(orders())+1)
}

// vote votes in a Poll, through the Backend of a namespace, once both are known.
func (s *side) vote(ctx context.Context, namespace, number int) {
	voter := s.as(production, sign([]byte(firstKey), "viewer", "", "U1"))
	voter.host = s.host(namespace)
	Eventually(ctx, func() error {
		if err := voter.get(ctx, "/vote_config?id="+orderID(number), nil); err != nil {
			return err
		}
		return voter.post(ctx, "/vote?id="+orderID(number), object{"value": 1}, nil)
	}).Should(Succeed())
}

// delete deletes what an order says, one right after the other.
func (s *side) delete(ctx context.Context, number int, order string) {
	for _, what := range order {
		var deleted client.Object
		switch what {
		case 'P':
			deleted = &v1alpha1.Poll{ObjectMeta: s.named(number, "order")}
		case 'E':
			deleted = &v1alpha1.Extension{ObjectMeta: s.named(number, "quiz")}
		case 'S':
			deleted = &corev1.Secret{ObjectMeta: s.named(number, "quiz")}
		case 'B':
			deleted = &v1alpha1.Backend{ObjectMeta: s.named(number, "default")}
		default:
			// Documented: a namespace ends pods before all else.
			s.gone(ctx, &v1alpha1.Poll{ObjectMeta: s.named(number, "order")})
			deleted = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.of(number)}}
		}
		Expect(s.Delete(ctx, deleted)).To(Succeed(), "%s: %c", order, what)
	}
}

// uninstall removes the second release, which leaves the first one's as it was.
func (s *side) uninstall(ctx context.Context) {
	before := &v1alpha1.Poll{ObjectMeta: s.world.named("colour")}
	Expect(s.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
	Expect(before.Finalizers).NotTo(BeEmpty())
	Expect(before.Annotations).To(HaveKeyWithValue(v1alpha1.OperatorAnnotation, s.namespace+"/"+release))
	began := time.Now()
	Expect(helm(ctx, nil, "uninstall", release, "--namespace", s.second, "--wait")).To(Succeed())
	s.report.took("helm uninstall of a release beside", began)
	after := &v1alpha1.Poll{ObjectMeta: s.world.named("colour")}
	Expect(s.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
	Expect(after).To(Equal(before))
}

// left returns what a Poll left in the database: the number of votes, and the status of a
// request for its configuration.
func (s *side) left(ctx context.Context, number int) []any {
	GinkgoHelper()
	var votes statistics
	Eventually(ctx, func() error { return s.witness.get(ctx, "/vote?id="+orderID(number), &votes) }).Should(Succeed())
	config, err := s.witness.send(ctx, http.MethodGet, "/vote_config?id="+orderID(number), nil)
	Expect(err).NotTo(HaveOccurred())
	return []any{votes.Count, config.status}
}

// remove removes what is not of a release.
func (s *side) remove(ctx context.Context) {
	doomed := []client.Object{
		&v1alpha1.Backend{ObjectMeta: s.world.named("witness")},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.second}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.third}},
	}
	for i := range orders() {
		doomed = append(doomed, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.of(i)}})
	}
	for _, o := range doomed {
		Expect(client.IgnoreNotFound(s.Delete(ctx, o))).To(Succeed())
	}
	s.removeDatabase(ctx, "orders-database")
}

// provide makes a Secret, and its namespace before where there is none.
func (s *side) provide(ctx context.Context, namespace, name string, content map[string]string) {
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(client.IgnoreAlreadyExists(s.Create(ctx, home))).To(Succeed())
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	Expect(s.Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: content})).To(Succeed())
}

// of returns the namespace of an order, that of the second release for the last.
func (s *side) of(number int) string {
	if number == len(orders()) {
		return s.second
	}
	return s.namespace + "-" + strings.ToLower(orders()[number])
}

func (s *side) host(number int) string { return s.of(number) + ".test" }

func (s *side) named(number int, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.of(number), Name: name}
}

// orderID returns the id of a Poll. No other Poll in the database has it.
func orderID(number int) string { return fmt.Sprintf("order-%d", number) }

func orderPoll(meta metav1.ObjectMeta, number int) *v1alpha1.Poll {
	p := poll(meta)
	p.Spec.ID, p.Spec.BackendRef = new(orderID(number)), nil
	return p
}

func smallExtension(meta metav1.ObjectMeta) *v1alpha1.Extension {
	e := extension(meta)
	e.Spec.Sandbox = nil
	return e
}

// smallBackend returns a Backend of one pod. A node has room for many of them.
func smallBackend(meta metav1.ObjectMeta, secret, host string) *v1alpha1.Backend {
	none := &v1alpha1.Service{Disabled: true}
	b := &v1alpha1.Backend{ObjectMeta: meta, Spec: v1alpha1.BackendSpec{
		Image:   os.Getenv("ACCLAIM_E2E_IMAGE"),
		MongoDB: v1alpha1.SecretKeyReference{Name: secret, Key: "uri"},
		Services: v1alpha1.Services{
			Voting: &v1alpha1.Service{Replicas: new(int32(1)), Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}}},
			Accumulation: none, Ranking: none, State: none,
		},
	}}
	if host != "" {
		b.Spec.Ingress = &v1alpha1.Ingress{Host: host}
	}
	return b
}
