package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ofNodes is the label of the specs that a run on several nodes is made for, and
// of those that they need.
const ofNodes = "nodes"

// ofPower is the label of those that take a node away: `make e2e` leaves them out of a
// run on one node. They need the command that switches a node off and on.
const ofPower = "power"

// nodes specs take a node away, and only in a cluster whose power command was
// given: elsewhere the node may run the work of others.
func nodes(w *world) {
	Context("of several nodes", Label(ofNodes, ofPower), func() {
		var victim string
		BeforeEach(func(ctx SpecContext) {
			Expect(os.Getenv("ACCLAIM_E2E_POWER")).NotTo(BeEmpty(), "the command that cuts a node's power, which `make e2e NODES=3` names")
			victim = w.victim(ctx)
			entered := w.ingress
			w.enter(ctx, victim)
			DeferCleanup(func() { w.ingress = entered })
		}, NodeTimeout(time.Minute))

		It("drains one without a failed request", func(ctx SpecContext) {
			l := w.start(ctx, "drain")
			defer l.stop()
			l.counted(ctx, 100)
			DeferCleanup(func(ctx SpecContext) { Expect(kubectl(ctx, "uncordon", victim)).To(Succeed()) }, NodeTimeout(time.Minute))
			began := time.Now()
			Expect(kubectl(ctx, "drain", victim, "--ignore-daemonsets", "--delete-emptydir-data")).To(Succeed())
			w.report.took("a node drained", began)
			Expect(w.pods(ctx, nil)).NotTo(ContainElement(HaveField("Spec.NodeName", victim)))
			w.running(ctx)
			l.counted(ctx, 100)
			l.finish(ctx, w, "a drained node")
			l.expectNoFailure()
		}, SpecTimeout(8*time.Minute))

		It("loses no vote to one that is lost", func(ctx SpecContext) {
			l := w.start(ctx, "lost")
			defer l.stop()
			l.counted(ctx, 100)
			power(ctx, "stop", victim)
			back := false
			DeferCleanup(func(ctx SpecContext) {
				if !back {
					power(ctx, "start", victim)
				}
			}, NodeTimeout(time.Minute))
			began := time.Now()
			w.nodeReady(ctx, victim, false)
			w.report.took("a lost node to the cluster's notice", began)
			l.counted(ctx, 200)
			power(ctx, "start", victim)
			back, began = true, time.Now()
			w.nodeReady(ctx, victim, true)
			w.running(ctx)
			w.report.took("the lost node's return to everything Ready", began)
			l.counted(ctx, 100)
			l.finish(ctx, w, "a lost node and its return")
		}, SpecTimeout(10*time.Minute))
	})
}

// victim returns a node that has one of the voting pods, which are to be on
// several, and not the only pod of the database.
func (w *world) victim(ctx context.Context) string {
	Expect(len(w.nodes(ctx))).To(BeNumerically(">", 1), "there is no node to do without")
	database, err := w.pods(ctx, client.MatchingLabels{"app.kubernetes.io/component": "trial-database"})
	Expect(err).NotTo(HaveOccurred())
	voting, err := w.pods(ctx, service("voting"))
	Expect(err).NotTo(HaveOccurred())
	Expect(voting).NotTo(HaveEach(HaveField("Spec.NodeName", voting[0].Spec.NodeName)), "all voting pods are on one node")
	without := slices.IndexFunc(voting, func(pod corev1.Pod) bool {
		return len(database) == 0 || pod.Spec.NodeName != database[0].Spec.NodeName
	})
	return voting[without].Spec.NodeName
}

// nodeReady waits until a node is Ready, or is not.
func (w *world) nodeReady(ctx context.Context, name string, want bool) {
	Eventually(ctx, func() (bool, error) {
		node := &corev1.Node{}
		err := w.Get(ctx, client.ObjectKey{Name: name}, node)
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, err
			}
		}
		return false, err
	}).Should(Equal(want))
}

// running waits until the release's Backends are Ready in this version.
func (w *world) running(ctx context.Context) { w.run(ctx, thisVersion()) }

// run waits until they are Ready in a version.
func (w *world) run(ctx context.Context, v version) {
	w.ready(ctx, "default", v.image)
	if !w.frugal {
		w.ready(ctx, "sandbox", v.image)
	}
}

// kubectl does what an administrator does.
func kubectl(ctx context.Context, arguments ...string) error {
	return run(exec.CommandContext(ctx, "kubectl", arguments...))
}

// power cuts the power of a node ("stop"), or gives it back ("start").
func power(ctx context.Context, what, node string) {
	command := append(strings.Fields(os.Getenv("ACCLAIM_E2E_POWER")), what, node)
	Expect(run(exec.CommandContext(ctx, command[0], command[1:]...))).To(Succeed())
}
