package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// A clock is off by clockError. A poll closes as much too early or too late, and what is
// further away than clockBound is judged alike by all clocks.
const (
	clockError = 10 * time.Minute
	clockBound = clockError + 5*time.Minute
)

// clocks has the pods of three Backends serve one database: one whose clock is right, one
// that is ten minutes fast and one that is ten minutes slow. They own, forward and commit
// as pods of one Backend do, on nodes with such clocks. services/docs/replicas.md says what
// holds then and what does not.
func clocks(w *world) {
	It("counts exactly with clocks that are ten minutes fast and slow", func(ctx SpecContext) {
		c := w.provideClocks(ctx)
		l := startLoad(ctx, "clocks", []string{"/vote?id=clocks"}, c.all()...)
		defer l.stop()
		c.expectTokens(ctx)
		c.expectSchedules(ctx)
		c.expectLimits(ctx)
		c.expectOrder(ctx)
		l.counted(ctx, 100)
		l.finish(ctx, w, "clocks ten minutes fast and slow")
		l.expectNoFailure()
		var log struct{ Result []struct{ Timestamp int64 } }
		Expect(c.right.backend().get(ctx, "/vote_logs?id=clocks", &log)).To(Succeed())
		Expect(slices.IsSortedFunc(log.Result, func(a, b struct{ Timestamp int64 }) int {
			return int(a.Timestamp - b.Timestamp)
		})).To(BeTrue(), "times fall along the log")
		c.remove(ctx)
	}, SpecTimeout(8*time.Minute))
}

// clockwork is the entrances of the three Backends.
type clockwork struct {
	*world
	right, fast, slow entrance
}

func (c *clockwork) all() []entrance { return []entrance{c.right, c.fast, c.slow} }

// provideClocks returns the three Backends once they serve.
func (w *world) provideClocks(ctx context.Context) *clockwork {
	GinkgoHelper()
	const database = "clock-database"
	w.provideDatabase(ctx, database)
	Expect(w.Create(ctx, &corev1.Secret{ObjectMeta: w.named(database), StringData: map[string]string{
		"uri": "mongodb://" + database + ":27017/clocks",
	}})).To(Succeed())
	enter := func(name string, off time.Duration) entrance {
		b := smallBackend(w.named(name), database, name+"."+w.host)
		b.Spec.Image = os.Getenv("ACCLAIM_E2E_CLOCK_IMAGE")
		b.Spec.Services.Accumulation = b.Spec.Services.Voting
		b.Spec.PodTemplate.Env = []corev1.EnvVar{{Name: "CLOCK_ERROR", Value: off.String()}}
		Expect(w.Create(ctx, b)).To(Succeed())
		e := w.front()
		e.host = b.Spec.Ingress.Host
		return e
	}
	w.joinPeers(ctx, clockNames()...)
	c := &clockwork{w, enter("right", 0), enter("fast", clockError), enter("slow", -clockError)}
	for _, e := range c.all() {
		name, _, _ := strings.Cut(e.host, ".")
		w.ready(ctx, name, os.Getenv("ACCLAIM_E2E_CLOCK_IMAGE"))
		known(ctx, e.backend(), "/vote?id=none", "/accumulate?id=none")
	}
	return c
}

func (c *clockwork) remove(ctx context.Context) {
	GinkgoHelper()
	names := clockNames()
	for _, name := range names {
		Expect(c.Delete(ctx, &v1alpha1.Backend{ObjectMeta: c.named(name)})).To(Succeed())
	}
	for _, name := range names {
		c.gone(ctx, &v1alpha1.Backend{ObjectMeta: c.named(name)})
	}
	c.removeDatabase(ctx, "clock-database")
	c.partPeers(ctx)
}

// clockNames returns the names of the three Backends.
func clockNames() []string { return []string{"right", "fast", "slow"} }

// expectTokens expects each pod to judge the tokens that it receives by its own clock.
func (c *clockwork) expectTokens(ctx context.Context) {
	GinkgoHelper()
	answers := func(claims jwt.MapClaims) []int {
		claims["role"], claims["channel_id"], claims["opaque_user_id"] = "viewer", channel, "U1"
		var statuses []int
		for _, e := range c.all() {
			e.authorization = signClaims(*e.keys.current.Load(), claims)
			got, err := e.send(ctx, http.MethodGet, "/vote?id=none", nil)
			Expect(err).NotTo(HaveOccurred())
			statuses = append(statuses, got.status)
		}
		return statuses
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	Expect(answers(jwt.MapClaims{"exp": in(clockError / 2)})).To(Equal([]int{200, 401, 200}), "a token that expires soon")
	Expect(answers(jwt.MapClaims{"exp": in(-clockError / 2)})).To(Equal([]int{401, 401, 200}), "a token that has expired")
	Expect(answers(jwt.MapClaims{"exp": in(-clockBound)})).To(Equal([]int{401, 401, 401}), "a token that has expired long ago")
	Expect(answers(jwt.MapClaims{"exp": in(2 * clockBound), "nbf": in(clockError / 2)})).To(Equal([]int{401, 200, 401}), "a token for later")
}

// expectSchedules expects polls to close by the clock of the pod that owns them, whichever
// pod is asked, and all of them within the bound.
func (c *clockwork) expectSchedules(ctx context.Context) {
	GinkgoHelper()
	for n := range 10 {
		for _, e := range c.all() {
			Expect(c.votesUntil(ctx, e, fmt.Sprintf("open-%d", n), clockBound)).To(BeTrue(), "a poll that ends later than the bound")
			Expect(c.votesUntil(ctx, e, fmt.Sprintf("closed-%d", n), -clockBound)).To(BeFalse(), "a poll that has ended before the bound")
		}
	}
	n := 0
	Eventually(ctx, func() bool {
		n++
		return c.votesUntil(ctx, c.right, fmt.Sprintf("early-%d", n), clockError/2)
	}).Should(BeFalse(), "no poll has an owner whose clock is fast")
	Eventually(ctx, func() bool {
		n++
		return c.votesUntil(ctx, c.right, fmt.Sprintf("late-%d", n), -clockError/2)
	}).Should(BeTrue(), "no poll has an owner whose clock is slow")
}

// votesUntil reports whether a vote is accepted in a poll that ends so much later than now.
func (c *clockwork) votesUntil(ctx context.Context, at entrance, id string, later time.Duration) bool {
	GinkgoHelper()
	config := object{"startsAt": 1, "endsAt": time.Now().Add(later).Unix()}
	Expect(at.broadcaster().post(ctx, "/vote_config", object{"id": id, "config": config}, nil)).To(Succeed())
	got, err := at.viewer("U1").send(ctx, http.MethodPost, "/vote?id="+id, object{"value": 1})
	Expect(err).NotTo(HaveOccurred())
	if got.status != http.StatusOK {
		Expect(string(got.body)).To(ContainSubstring("poll is closed"))
	}
	return got.status == http.StatusOK
}

// expectLimits expects a voter who votes at all pods at once to have the poll's limit of
// votes, exactly.
func (c *clockwork) expectLimits(ctx context.Context) {
	GinkgoHelper()
	const limit = 10
	for n := range 5 {
		id := fmt.Sprintf("limited-%d", n)
		config := object{"totalVotesPerUser": limit, "votesPerOption": limit, "distinctOptionsPerUser": 3}
		Expect(c.right.broadcaster().post(ctx, "/vote_config", object{"id": id, "config": config}, nil)).To(Succeed())
		statuses := make([]int, 3*limit)
		var voters errgroup.Group
		for i := range statuses {
			voters.Go(func() error {
				got, err := c.all()[i%3].viewer("U1").send(ctx, http.MethodPost, "/vote?id="+id, object{"value": i % 3})
				statuses[i] = got.status
				return err
			})
		}
		Expect(voters.Wait()).To(Succeed())
		slices.Sort(statuses)
		Expect(statuses).To(Equal(slices.Concat(slices.Repeat([]int{200}, limit), slices.Repeat([]int{400}, 2*limit))))
		var s statistics
		Expect(c.slow.viewer("U1").get(ctx, "/vote?id="+id, &s)).To(Succeed())
		Expect(s.Count).To(Equal(int64(limit)))
	}
}

// expectOrder expects a reader that goes from pod to pod with one cursor to meet every
// entry once, in the order in which pods acknowledged them.
func (c *clockwork) expectOrder(ctx context.Context) {
	GinkgoHelper()
	const entries = 60
	var (
		cursor int64
		read   []int
	)
	for n := range entries {
		Expect(c.all()[n%3].viewer("U1").post(ctx, "/accumulate?id=order", object{"n": n}, nil)).To(Succeed())
		var page struct {
			Data   []struct{ Data struct{ N int } }
			Latest int64
		}
		Expect(c.all()[(n/3)%3].backend().get(ctx, fmt.Sprintf("/accumulate?id=order&start=%d", cursor), &page)).To(Succeed())
		for _, entry := range page.Data {
			read = append(read, entry.Data.N)
		}
		if page.Latest > 0 {
			cursor = page.Latest
		}
	}
	want := make([]int, entries)
	for n := range want {
		want[n] = n
	}
	Expect(read).To(Equal(want))
}
