package poll_test

import (
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// beReady matches a Poll that is ready as it was last declared.
func beReady() gomegatypes.GomegaMatcher {
	return haveReason(v1alpha1.Ready, v1alpha1.ReasonInSync)
}

// beBecause matches a Poll that is not ready for a reason, which one of the other
// conditions gives too.
func beBecause(condition, reason string) gomegatypes.GomegaMatcher {
	return And(haveReason(condition, reason), haveReason(v1alpha1.Ready, reason))
}

func haveReason(condition, reason string) gomegatypes.GomegaMatcher {
	type seen struct {
		Reason  string
		True    bool
		Current bool
	}
	good := reason == v1alpha1.ReasonInSync || reason == v1alpha1.ReasonServing
	return WithTransform(func(p *v1alpha1.Poll) seen {
		c := meta.FindStatusCondition(p.Status.Conditions, condition)
		if c == nil {
			return seen{}
		}
		current := c.ObservedGeneration == p.Generation && p.Status.ObservedGeneration == p.Generation
		return seen{c.Reason, c.Status == metav1.ConditionTrue, current}
	}, Equal(seen{reason, good, true}))
}
