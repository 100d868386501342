package poll_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
)

var _ = Describe("A Poll that reports", func() {
	var (
		w     *world
		p     *v1alpha1.Poll
		start time.Time
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		start = w.clock.standing()
		p = w.poll("report", func(s *v1alpha1.PollSpec) {
			s.ReportInterval = &metav1.Duration{Duration: 10 * time.Second}
			s.StartsAt = &metav1.Time{Time: start.Add(5 * time.Second)}
			s.EndsAt = &metav1.Time{Time: start.Add(50 * time.Second)}
		})
		w.create(ctx, w.backend("default"), p)
		w.settle(ctx, p)
		w.wire.TakeCalls()
	})

	at := func(ctx SpecContext, after time.Duration) time.Duration {
		GinkgoHelper()
		w.clock.advance(start.Add(after).Sub(w.clock.standing()))
		next := w.settle(ctx, p).RequeueAfter
		return next
	}
	ended := func() metav1.Condition { return *meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Ended) }

	It("has its votes in the status, by a request and a write in each interval", func(ctx SpecContext) {
		Expect(p.Status.Live).To(BeNil())
		Expect(ended().Reason).To(Equal(v1alpha1.ReasonPending))
		Expect(at(ctx, 5*time.Second)).To(Equal(10 * time.Second))
		Expect(*p.Status.Live).To(And(HaveField("Count", BeZero()), HaveField("Leader", ""), HaveField("Rate", "0.0")))
		Expect(w.noted()).To(ConsistOf("Normal Opened The poll is open for votes"))
		w.vote(ctx, p, "U1", 1)
		w.vote(ctx, p, "U2", 1)
		w.vote(ctx, p, "U3", 0)
		w.wire.TakeCalls()
		Expect(at(ctx, 14*time.Second)).To(Equal(time.Second))
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}), "it is too early")
		Expect(at(ctx, 15*time.Second)).To(Equal(10 * time.Second))
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config", "GET /vote", "PATCH polls/status"}))
		Expect(*p.Status.Live).To(And(HaveField("Count", BeEquivalentTo(3)), HaveField("Leader", "that"), HaveField("Rate", "0.3")))
	})

	It("keeps the final votes, and ends once these are known", func(ctx SpecContext) {
		at(ctx, 6*time.Second)
		w.vote(ctx, p, "U1", 1)
		w.noted()
		at(ctx, 50*time.Second)
		Expect(ended()).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonSettling)))
		Expect(p.Status.Live.Count).To(BeZero(), "the report of the time before the vote")
		at(ctx, 52*time.Second)
		Expect(ended()).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonExpired)))
		Expect(*p.Status.Live).To(And(HaveField("Count", BeEquivalentTo(1)), HaveField("Leader", "that"), HaveField("Rate", "0.0")))
		Expect(w.noted()).To(ConsistOf(`Normal Ended The poll has ended with 1 votes; "that" has the most`))
		w.wire.TakeCalls()
		Expect(at(ctx, 70*time.Second)).To(Equal(time.Minute))
		Expect(w.wire.TakeCalls()).To(Equal([]string{"GET /vote_config"}), "nothing is reported any more")
	})

	It("goes on when its end is moved", func(ctx SpecContext) {
		at(ctx, 52*time.Second)
		w.noted()
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.EndsAt = nil })
		Expect(at(ctx, 70*time.Second)).To(Equal(10 * time.Second))
		Expect(ended().Reason).To(Equal(v1alpha1.ReasonActive))
		Expect(w.noted()).To(ConsistOf(HavePrefix("Normal Opened")))
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.ReportInterval = nil })
		w.settle(ctx, p)
		Expect(p.Status.Live).To(BeNil())
	})

	It("names the value of a leader without a name", func(ctx SpecContext) {
		change(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.Options, p.Spec.StartsAt = nil, nil })
		w.settle(ctx, p)
		w.vote(ctx, p, "U1", 7)
		at(ctx, 10*time.Second)
		Expect(p.Status.Live.Leader).To(Equal("7"))
	})

	DescribeTable("has an interval within bounds", func(ctx SpecContext, interval time.Duration, want string) {
		p := w.poll("bounds", func(s *v1alpha1.PollSpec) { s.ReportInterval = &metav1.Duration{Duration: interval} })
		err := w.api.Create(ctx, p)
		if want == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(MatchError(ContainSubstring(want)))
	},
		Entry("at least", 10*time.Second, ""),
		Entry("less", 9*time.Second, "reportInterval must be from 10s to 24h"),
		Entry("at most", 24*time.Hour, ""),
		Entry("more", 25*time.Hour, "reportInterval must be from 10s to 24h"),
	)
})

var _ = Describe("The votes of Polls as metrics", func() {
	// collector returns the metrics of Polls that report, and of one that does not.
	collector := func(names ...string) *poll.LiveVotes {
		objects := fake.NewClientBuilder().WithScheme(cluster.Scheme)
		objects.WithObjects(&v1alpha1.Poll{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "silent"}})
		for _, name := range names {
			objects.WithObjects(&v1alpha1.Poll{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
				Status: v1alpha1.PollStatus{PollStatus: "active", Live: &v1alpha1.LiveStatistics{Count: 7, Leader: "tea"}}})
		}
		return poll.NewLiveVotes(objects.Build())
	}

	It("are those of the Polls that report", func() {
		Expect(testutil.CollectAndCompare(collector("b", "a"), strings.NewReader(`
# HELP acclaim_operator_poll_info 1 for a Poll with a reportInterval, with its status in its schedule, the reason of its condition Ready and the option that led when its votes were last reported.
# TYPE acclaim_operator_poll_info gauge
acclaim_operator_poll_info{leader="tea",name="a",reason="",resource_namespace="n",status="active"} 1
acclaim_operator_poll_info{leader="tea",name="b",reason="",resource_namespace="n",status="active"} 1
# HELP acclaim_operator_poll_votes Votes of a Poll with a reportInterval when they were last reported.
# TYPE acclaim_operator_poll_votes gauge
acclaim_operator_poll_votes{name="a",resource_namespace="n"} 7
acclaim_operator_poll_votes{name="b",resource_namespace="n"} 7
# HELP acclaim_operator_poll_votes_left_out Polls with a reportInterval beyond the first thousand by namespace and name, which acclaim_operator_poll_votes leaves out.
# TYPE acclaim_operator_poll_votes_left_out gauge
acclaim_operator_poll_votes_left_out 0
`))).To(Succeed())
	})

	It("are those of a thousand Polls at most", func() {
		names := make([]string, 1002)
		for i := range names {
			names[i] = fmt.Sprint("poll-", i)
		}
		all := collector(names...)
		Expect(testutil.CollectAndCount(all, "acclaim_operator_poll_votes")).To(Equal(1000))
		Expect(testutil.CollectAndCompare(all, strings.NewReader(`
# HELP acclaim_operator_poll_votes_left_out Polls with a reportInterval beyond the first thousand by namespace and name, which acclaim_operator_poll_votes leaves out.
# TYPE acclaim_operator_poll_votes_left_out gauge
acclaim_operator_poll_votes_left_out 2
`), "acclaim_operator_poll_votes_left_out")).To(Succeed())
	})
})
