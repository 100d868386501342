package extension_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// startVoting starts a voting service that knows the key "old" of "quiz" for good,
// as pods do that still have a volume.
func (w *world) startVoting(ctx context.Context) *acclaim.Client {
	GinkgoHelper()
	voting, err := votingtest.New(GinkgoT().TempDir(), time.Now)
	Expect(err).NotTo(HaveOccurred())
	Expect(voting.SetKeys(map[string][]string{"quiz": {string(w.secret("old").Data["old"])}})).To(Succeed())
	Expect(voting.Start(context.WithoutCancel(ctx))).To(Succeed())
	DeferCleanup(voting.Stop)
	w.serving.Store(&pod{base: voting.Base()})
	signer := acclaim.Signer{ClientID: "quiz", Keys: [][]byte{[]byte("old" + padding)}, Channel: "1"}
	return acclaim.New(voting.Base(), signer.Credentials, acclaim.Options{})
}

// permutations returns the orders of some letters.
func permutations(letters string) []string {
	if len(letters) < 2 {
		return []string{letters}
	}
	var all []string
	for i := range letters {
		for _, rest := range permutations(letters[:i] + letters[i+1:]) {
			all = append(all, letters[i:i+1]+rest)
		}
	}
	return all
}

func isGone(ctx context.Context, o client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(o), o)) }
}

// holder returns a Poll of "quiz" that the operator configured.
func (w *world) holder(name string) *v1alpha1.Poll {
	p := w.poll(name)
	p.Finalizers = []string{v1alpha1.PollFinalizer}
	return p
}

var _ = Describe("Deletion in the order", func() {
	// Across namespaces the Backend is in one of its own, and orders differ in what goes
	// before the Poll.
	orders := permutations("SEPB")
	for _, order := range permutations("SEPB") {
		if !strings.HasPrefix(order, "P") && !strings.HasSuffix(order, "BP") {
			orders = append(orders, "+"+order)
		}
	}
	// A Backend that waits for the Poll is asked like one that is not being deleted.
	for _, order := range append(orders, "-BPES", "-BSEP", "-EBSP", "-SBEP") {
		order, waits := strings.CutPrefix(order, "-")
		order, shared := strings.CutPrefix(order, "+")
		names := strings.NewReplacer("S", "Secret ", "E", "Extension ", "P", "Poll ", "B", "Backend ").Replace(order)
		if shared {
			names += "across namespaces"
		}
		if waits {
			names += "with a Backend that waits"
		}
		It(strings.TrimSpace(names)+" deletes the poll from the service", func(ctx context.Context) {
			w := newWorld(ctx)
			service := w.startVoting(ctx)
			secret, quiz, backend, p := w.secret("old"), w.extension("quiz", key("old")), w.backend("default", "production"), w.poll("favourite")
			lost := v1alpha1.ReasonBackendNotFound
			if shared {
				lost = v1alpha1.ReasonRefNotPermitted
				w.share(w.newTeam(ctx), backend, secret, quiz, p)
			}
			if waits {
				backend.Finalizers = []string{v1alpha1.BackendFinalizer}
			}
			w.start()
			create(ctx, secret, quiz, backend, p)
			Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, v1alpha1.ReasonInSync))
			Eventually(func() any { return told(ctx, quiz) }).Should(have(v1alpha1.Ready, v1alpha1.ReasonRegistered))

			// The operator has seen each deletion before the next.
			left := "SEPB"
			for letter := range strings.SplitSeq(order, "") {
				left = strings.ReplaceAll(left, letter, "")
				switch letter {
				case "S":
					Expect(api.Delete(ctx, secret)).To(Succeed())
					if strings.Contains(left, "E") {
						Eventually(func() any { return told(ctx, quiz) }).Should(have(v1alpha1.KeysUsable, v1alpha1.ReasonSecretNotFound))
					}
				case "E":
					Expect(api.Delete(ctx, quiz)).To(Succeed())
					if strings.Contains(left, "P") {
						Eventually(func() any { return told(ctx, quiz) }).Should(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForPolls))
					}
				case "P":
					Expect(api.Delete(ctx, p)).To(Succeed())
					Eventually(isGone(ctx, p)).Should(BeTrue())
				case "B":
					Expect(api.Delete(ctx, backend)).To(Succeed())
					if strings.Contains(left, "P") && !waits {
						Eventually(polled(ctx, p)).Should(have(v1alpha1.Ready, lost))
					}
				}
			}
			Eventually(isGone(ctx, quiz)).Should(BeTrue())
			Expect(isGone(ctx, backend)()).To(Equal(!waits))
			_, found, err := service.ReadPollConfig(ctx, "favourite")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeFalse(), "of the configuration")
		})
	}
})

var _ = Describe("Keys that are going", func() {
	var (
		w    *world
		quiz *v1alpha1.Extension
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		quiz = w.extension("quiz", key("old"))
		create(ctx, w.secret("old"), quiz, w.backend("default", "production"), w.holder("b"), w.holder("a"), w.holder("d"), w.holder("c"))
		w.settle(ctx)
		load(ctx, quiz)
		Expect(quiz.Finalizers).To(ConsistOf(v1alpha1.ExtensionFinalizer))
		w.events()
	})

	It("stay for the Polls of an Extension that is being deleted, which it names once", func(ctx context.Context) {
		Expect(api.Delete(ctx, quiz)).To(Succeed())
		result := w.settle(ctx)
		Expect(result.RequeueAfter).To(BeNumerically("~", 5*time.Minute, 10*time.Second))
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonWaitingForPolls))
		Expect(quiz.Status.Conditions).To(ContainElement(HaveField("Message", HaveSuffix(": a, b, c and 1 more"))))
		Expect(w.events()).To(ConsistOf("Warning WaitingForPolls"))

		Expect(api.Delete(ctx, w.secret())).To(Succeed())
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"old"}}))

		By("giving up the Polls that live on, but not one that is being deleted")
		a := w.holder("a")
		Expect(api.Delete(ctx, a)).To(Succeed())
		w.now = w.now.Add(6 * time.Minute)
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"old"}}))
		change(ctx, a, func(p *v1alpha1.Poll) { p.Finalizers = nil })
		w.settle(ctx)
		Expect(isGone(ctx, quiz)()).To(BeTrue())
		Expect(w.registry(ctx, "default")).To(BeEmpty())
	})

	It("stay for the same time when only their Secret is gone", func(ctx context.Context) {
		Expect(api.Delete(ctx, w.secret())).To(Succeed())
		result := w.settle(ctx)
		Expect(result.RequeueAfter).To(BeNumerically("~", 5*time.Minute, 10*time.Second))
		Expect(told(ctx, quiz)).To(have(v1alpha1.Ready, v1alpha1.ReasonSecretNotFound))
		Expect(w.registry(ctx, "default")).To(Equal(keys{"quiz": {"old"}}))
		w.now = w.now.Add(6 * time.Minute)
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(BeEmpty())
	})

	It("go at once when they are replaced, or when no Poll needs them", func(ctx context.Context) {
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data = w.secret("new").Data })
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(BeEmpty())
		change(ctx, w.secret(), func(s *corev1.Secret) { s.Data = w.secret("old").Data })
		w.settle(ctx)
		for _, name := range []string{"a", "b", "c", "d"} {
			change(ctx, w.holder(name), func(p *v1alpha1.Poll) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain })
		}
		Expect(api.Delete(ctx, w.secret())).To(Succeed())
		w.settle(ctx)
		Expect(w.registry(ctx, "default")).To(BeEmpty())
		Expect(api.Delete(ctx, quiz)).To(Succeed())
		w.settle(ctx)
		Expect(isGone(ctx, quiz)()).To(BeTrue())
	})
})
