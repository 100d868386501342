package extension_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// issue asks a pod of the sandbox service for a token.
func issue(ctx context.Context, p *pod) (string, int) {
	body := strings.NewReader(`{"extension_id": "quiz", "channel_id": "1", "role": "viewer"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/authtoken", body)
	if err != nil {
		return "", 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0
	}
	defer response.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", 0
	}
	return answer.Token, response.StatusCode
}

// show reads a poll with a token and returns the status of the answer.
func show(ctx context.Context, p *pod, token string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/vote?id=any", http.NoBody)
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "quiz "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

func isSignedWith(token, key string) bool {
	_, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(key + padding), nil })
	return err == nil
}

// tryOut takes a token from one pod and shows it to others, until c is finished.
// It counts the tokens that are signed with the key "new".
func (c *caller) tryOut(issuer *pod, signedWithNew *atomic.Int64, verifiers ...*pod) {
	c.repeat(func(ctx context.Context) int {
		token, status := issue(ctx, issuer)
		if isSignedWith(token, "new") {
			signedWithNew.Add(1)
		}
		for _, v := range verifiers {
			if shown := show(ctx, v, token); shown != http.StatusOK {
				return shown
			}
		}
		return status
	})
}

var _ = Describe("The keys that services sign with", func() {
	It("are rotated without a token that is refused", func(ctx context.Context) {
		w := newWorld(ctx)
		w.start()
		quiz := inSandbox(w.extension("quiz"), key("old"))
		create(ctx, w.secret("old", "new"), quiz, w.backend("dev", "sandbox"))
		Eventually(func() keys { return w.registryIfAny(ctx, "dev") }).Should(HaveKey("quiz"))
		issuers := []*pod{w.startPod(ctx, "dev", "sandbox"), w.startPod(ctx, "dev", "sandbox")}
		verifiers := []*pod{
			w.startPod(ctx, "dev", "voting", "--environment", "sandbox"),
			w.startPod(ctx, "dev", "voting", "--environment", "sandbox"),
		}
		c, signedWithNew := newCaller(), []*atomic.Int64{{}, {}}
		for i, issuer := range issuers {
			c.tryOut(issuer, signedWithNew[i], verifiers...)
		}

		By("adding the new key: the signer has it first")
		at := time.Now().Add(window).Truncate(time.Second)
		spread(func() {
			change(ctx, quiz, func(e *v1alpha1.Extension) {
				e.Spec.Sandbox.Keys = append(e.Spec.Sandbox.Keys, activeFrom(key("new"), at))
			})
		}, issuers[0], issuers[1], verifiers[0], verifiers[1])
		Expect(signedWithNew[0].Load()+signedWithNew[1].Load()).To(BeZero(), "or this machine is too slow for the window")
		for _, n := range signedWithNew {
			Eventually(n.Load).Should(BeNumerically(">", 100))
		}

		By("removing the old key")
		spread(func() {
			change(ctx, quiz, func(e *v1alpha1.Extension) { e.Spec.Sandbox.Keys = e.Spec.Sandbox.Keys[1:] })
		}, verifiers[1], verifiers[0], issuers[0], issuers[1])
		before := c.good()
		Eventually(c.good).Should(BeNumerically(">", before+100))
		Expect(c.finish()).To(HaveLen(1))
	})
})
