package e2e_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// contract specs act as an extension's clients do.
func contract(w *world) {
	It("serves a browser's vote", func(ctx SpecContext) {
		const origin = "https://" + clientID + ".ext-twitch.tv"
		voter := w.viewer("U100")
		preflight, err := w.as(production, "").send(ctx, http.MethodOptions, "/vote?id=browser", nil,
			"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
		Expect(err).NotTo(HaveOccurred())
		Expect(preflight.status).To(Equal(http.StatusNoContent))
		Expect(preflight.header.Get("Access-Control-Allow-Headers")).To(ContainSubstring("authorization"))
		voted, err := voter.send(ctx, http.MethodPost, "/e/vote?id=browser", object{"value": 1}, "Origin", origin)
		Expect(err).NotTo(HaveOccurred())
		Expect(voted.status).To(Equal(http.StatusOK), "%s", voted.body)
		Expect(voted.header.Get("Access-Control-Allow-Origin")).To(Equal(preflight.header.Get("Access-Control-Allow-Origin")))
	}, SpecTimeout(3*time.Minute))

	It("counts, weighs and logs votes", func(ctx SpecContext) {
		for i, opaque := range []string{"U1", "U2", "U3"} {
			Expect(w.viewer(opaque).post(ctx, "/vote?id=weighed", object{"value": i}, nil)).To(Succeed())
		}
		Expect(w.broadcaster().post(ctx, "/vote_modifier?id=weighed", object{"user": "U3", "add": 2}, nil)).To(Succeed())
		var s statistics
		Expect(w.viewer("U3").get(ctx, "/vote?id=weighed", &s)).To(Succeed())
		Expect(s.Specific[:3]).To(Equal([]int64{1, 1, 3}))
		Expect(s).To(And(HaveField("Count", int64(5)), HaveField("Sum", int64(7)), HaveField("Mean", 1.4), HaveField("Vote", HaveValue(Equal(int64(2))))))
		Expect(w.backend().log(ctx, "weighed")).To(Equal([]record{{"U1", 0}, {"U2", 1}, {"U3", 2}}))
		Expect(w.viewer("U3").get(ctx, "/vote_logs?id=weighed", nil)).To(MatchError(ContainSubstring("403")))
	}, SpecTimeout(3*time.Minute))

	It("accumulates and ranks", func(ctx SpecContext) {
		for _, opaque := range []string{"U1", "U2", "U3"} {
			Expect(w.viewer(opaque).post(ctx, "/accumulate?id=clicks", object{"by": opaque}, nil)).To(Succeed())
			answer := map[string]string{"U1": "a", "U2": "b", "U3": "b"}[opaque]
			Expect(w.viewer(opaque).post(ctx, "/rank?id=word", object{"key": answer}, nil)).To(Succeed())
		}
		var clicks struct {
			Data []struct {
				Observed int64
				Data     struct{ By string }
			}
			Latest int64
		}
		Expect(w.backend().get(ctx, "/accumulate?id=clicks&start=0", &clicks)).To(Succeed())
		Expect(clicks.Data).To(HaveLen(3))
		Expect(clicks.Data[0].Data.By).To(Equal("U1"))
		Expect(clicks.Latest).To(Equal(clicks.Data[2].Observed))
		var ranking struct {
			Data []struct {
				Key   string
				Score int64
			}
		}
		Expect(w.broadcaster().get(ctx, "/rank?id=word", &ranking)).To(Succeed())
		Expect(ranking.Data).To(HaveExactElements(
			And(HaveField("Key", "b"), HaveField("Score", int64(2))), And(HaveField("Key", "a"), HaveField("Score", int64(1)))))
	}, SpecTimeout(3*time.Minute))

	It("keeps state and configuration", func(ctx SpecContext) {
		admin := w.as(production, sign([]byte(firstKey), "admin", owner, "U"+owner))
		Expect(w.viewer("U1").post(ctx, "/viewer_state", object{"score": 1}, nil)).To(Succeed())
		Expect(w.broadcaster().post(ctx, "/channel_state", object{"round": 2}, nil)).To(Succeed())
		Expect(w.backend().post(ctx, "/extension_state", object{"season": 3}, nil)).To(Succeed())
		Expect(w.broadcaster().ask(ctx, http.MethodPatch, "/channel_state", []object{{"op": "replace", "path": "/round", "value": 4}}, nil)).To(Succeed())
		Expect(w.broadcaster().post(ctx, "/config/channel", object{"theme": "dark"}, nil)).To(Succeed())
		Expect(admin.post(ctx, "/config/extension", object{"theme": "light"}, nil)).To(Succeed())

		var all, config map[string]object
		Expect(w.viewer("U1").get(ctx, "/all_state", &all)).To(Succeed())
		Expect(all).To(And(HaveKeyWithValue("viewer", object{"score": 1.0}), HaveKeyWithValue("channel", object{"round": 4.0}),
			HaveKeyWithValue("extension", object{"season": 3.0})))
		Expect(w.viewer("U1").get(ctx, "/config", &config)).To(Succeed())
		Expect(config).To(Equal(map[string]object{"channel": {"theme": "dark"}, "extension": {"theme": "light"}}))
		Expect(w.viewer("U1").post(ctx, "/channel_state", object{"round": 9}, nil)).To(MatchError(ContainSubstring("403")))
	}, SpecTimeout(3*time.Minute))

	It("keeps the sandbox apart", func(ctx SpecContext) {
		request := object{"extension_id": clientID, "channel_id": channel, "user_id": "42", "role": "viewer"}
		var issued struct{ Token string }
		Expect(w.as(sandbox, "").post(ctx, "/authtoken", request, &issued)).To(Succeed())
		authorization := clientID + " " + issued.Token
		Expect(w.as(sandbox, authorization).post(ctx, "/vote?id=apart", object{"value": 7}, nil)).To(Succeed())
		Expect(w.as(production, authorization).post(ctx, "/vote?id=apart", object{"value": 7}, nil)).To(MatchError(ContainSubstring("401")))
		Expect(w.as(sandbox, w.viewer("U42").authorization).get(ctx, "/vote?id=apart", nil)).To(MatchError(ContainSubstring("401")))
		Expect(w.as(production, "").post(ctx, "/authtoken", request, nil)).To(MatchError(ContainSubstring("404")))
		Expect(w.backend().log(ctx, "apart")).To(BeEmpty())
	}, SpecTimeout(3*time.Minute))
}
