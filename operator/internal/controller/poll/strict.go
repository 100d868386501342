package poll

import (
	"context"
	"strings"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// setStrictByDefault records that a Poll which no operator has reported on is strict unless it
// says otherwise. One that was reported on by an operator of an earlier release stays as it is.
func setStrictByDefault(p *v1alpha1.Poll) {
	if p.Status.ObservedGeneration <= 0 && p.Status.AppliedHash == "" {
		p.Status.StrictByDefault = true
	}
}

// lacksOnlyStrict reports whether the service holds the declared configuration but for
// strict, which a service of an earlier release does not know.
func lacksOnlyStrict(want, got contract.PollConfig) bool {
	if !want.Strict || got.Strict {
		return false
	}
	got.Strict = true
	return equalVisibly(want, got)
}

// addStrict writes the declared configuration for a service that may know strict by now.
// Until then that is no drift to report.
func (r *Reconciler) addStrict(ctx context.Context, p *v1alpha1.Poll, t pollTarget, want contract.PollConfig) *status.Problem {
	if p.Spec.DriftPolicy == v1alpha1.DriftObserve {
		return nil
	}
	return r.writeConfig(ctx, p, t, want)
}

// replaceConfig stores a configuration and, where it asks another question, does with the
// votes what the Poll says. Only an edit of the Poll deletes votes, the correction of drift
// never does.
func (r *Reconciler) replaceConfig(ctx context.Context, p *v1alpha1.Poll, t pollTarget, want contract.PollConfig) error {
	if p.Spec.ChangeQuestion == v1alpha1.ChangeKeepVotes {
		return t.service.ConfigurePollKeepingVotes(ctx, t.poll, want)
	}
	err := t.service.ConfigurePoll(ctx, t.poll, want)
	edited := p.Status.AppliedHash != hashConfig(t, want)
	if !acclaim.IsOtherQuestion(err) || p.Spec.ChangeQuestion != v1alpha1.ChangeReset || !edited {
		return err
	}
	if err := t.service.DeletePoll(ctx, t.poll); err != nil {
		return err
	}
	status.RecordNormal(r.Recorder, p, "VotesDeleted", "The question changed; the votes for the one before were deleted, as spec.changeQuestion asks")
	return t.service.ConfigurePoll(ctx, t.poll, want)
}

// newOtherQuestionProblem names the field whose change the service refused.
func newOtherQuestionProblem(err error) *status.Problem {
	field := "spec.options"
	if strings.Contains(err.Error(), ": prompt") {
		field = "spec.prompt"
	}
	return newConfigProblem(v1alpha1.ReasonOtherQuestion, "%s: %v; change it back, or set spec.changeQuestion to KeepVotes or Reset", field, err)
}
