package poll

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// configure compares the service's configuration with the declared one and
// applies the drift policy.
func (r *Reconciler) configure(ctx context.Context, p *v1alpha1.Poll, t pollTarget) (*status.Problem, error) {
	want, err := declaredConfig(p)
	if err != nil {
		return newConfigProblem(v1alpha1.ReasonInvalidConfiguration, "userData: %v", err), nil
	}
	written := p.Status.AppliedHash != "" && sharing.HolderOf(p) == client.ObjectKeyFromObject(t.backend)
	if written && p.Spec.DriftPolicy == v1alpha1.DriftInitOnly {
		return concealed(findOutage(t.backend), t.backend, p.Namespace), nil // the service is not asked
	}
	got, found, err := t.service.ReadPollConfig(ctx, t.poll)
	if err != nil {
		return r.classifyError(t, err), nil
	}
	if !written || p.Status.AppliedHash != hashConfig(t, want) {
		// With a stale Poll the configuration may have been written before, and the drift
		// policy may forbid to replace what the service holds.
		if err := status.CheckFresh(ctx, r.APIReader, p); err != nil {
			return nil, err
		}
		return r.writeConfig(ctx, p, t, want), nil
	}
	if found && lacksOnlyStrict(want, got.PollConfig) {
		return r.addStrict(ctx, p, t, want), nil
	}
	return r.correctDrift(ctx, p, t, want, found && equalVisibly(want, got.PollConfig)), nil
}

// correctDrift applies the drift policy to a configuration that was written before.
func (r *Reconciler) correctDrift(ctx context.Context, p *v1alpha1.Poll, t pollTarget, want contract.PollConfig, equal bool) *status.Problem {
	if equal {
		return nil
	}
	if p.Spec.DriftPolicy == v1alpha1.DriftObserve {
		return newConfigProblem(v1alpha1.ReasonDrifted, "The service holds another configuration than the declared one")
	}
	if problem := r.writeConfig(ctx, p, t, want); problem != nil {
		return problem
	}
	r.Metrics.countDriftCorrection()
	status.RecordNormal(r.Recorder, p, "DriftCorrected", "The service held another configuration; the declared one was written back")
	return nil
}

// writeConfig stores a configuration and records its hash and its Backend.
func (r *Reconciler) writeConfig(ctx context.Context, p *v1alpha1.Poll, t pollTarget, want contract.PollConfig) *status.Problem {
	if err := r.replaceConfig(ctx, p, t, want); err != nil {
		return r.classifyError(t, err)
	}
	if earlier := sharing.HolderOf(p); earlier.Name != "" && earlier != client.ObjectKeyFromObject(t.backend) {
		was := sharing.NameFrom(&v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: earlier.Namespace, Name: earlier.Name}}, p.Namespace)
		status.RecordWarning(r.Recorder, p, "LeftBehind", "The Poll is now in Backend "+sharing.NameFrom(t.backend, p.Namespace)+"; its configuration and votes in Backend "+was+" were left behind")
	}
	setHolder(p, t.backend)
	p.Status.AppliedHash = hashConfig(t, want)
	return nil
}

// registryDelay is the time that a kubelet takes at most to bring a registry to a pod.
const registryDelay = 2 * time.Minute

// classifyError returns the problem behind an error of the service.
func (r *Reconciler) classifyError(t pollTarget, err error) *status.Problem {
	var problem *status.Problem
	code := acclaim.StatusOf(err)
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		problem = newConfigProblem(v1alpha1.ReasonNotAuthorized, "%v", err)
		if r.Now().Sub(t.registered) < registryDelay {
			problem = newConfigProblem(v1alpha1.ReasonWaitingForRegistry, "The services have yet to read the registry with the Extension's key")
		}
		problem.Retry = err // a new key takes a moment to reach the service
	case acclaim.IsOtherQuestion(err):
		problem = newOtherQuestionProblem(err)
	case status.IsRefusalCode(code):
		problem = newConfigProblem(v1alpha1.ReasonInvalidConfiguration, "%v", err)
	default:
		problem = concealed(newServiceProblem(t.backend, err), t.backend, t.namespace)
	}
	r.Metrics.countConfigurationError(t.namespace, problem.Reason)
	return problem
}

// declaredConfig returns the configuration that a Poll declares.
func declaredConfig(p *v1alpha1.Poll) (contract.PollConfig, error) {
	config := contract.PollConfig{
		UserIDVoting:           p.Spec.VoterIdentity == v1alpha1.SharedUserID,
		DistinctOptionsPerUser: p.Spec.DistinctOptionsPerUser,
		TotalVotesPerUser:      p.Spec.TotalVotesPerUser,
		VotesPerOption:         p.Spec.VotesPerOption,
		Global:                 p.Spec.Global,
		Disabled:               p.Spec.Disabled,
		Prompt:                 p.Spec.Prompt,
		Options:                p.Spec.Options,
		Schedule:               scheduleOf(p),
		ResultsVisibility:      visibilityInAPI(p.Spec.ResultsVisibility),
		ShowCount:              p.Spec.ShowCount,
		LoggedInOnly:           p.Spec.LoggedInOnly,
		Strict:                 p.IsStrict(),
		Pictures:               p.Spec.Pictures,
		PollSettings:           p.Spec.PollSettings,
	}
	if p.Spec.UserData == nil {
		return config, nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, p.Spec.UserData.Raw)
	config.UserData = compact.Bytes()
	return config, err
}

// visibilityInAPI returns the API's name of a visibility. The service leaves the default
// out of its answers.
func visibilityInAPI(v v1alpha1.ResultsVisibility) contract.Visibility {
	switch v {
	case v1alpha1.ResultsAfterVote:
		return contract.VisibleAfterVote
	case v1alpha1.ResultsAfterClose:
		return contract.VisibleAfterClose
	case v1alpha1.ResultsStaff:
		return contract.VisibleToStaff
	}
	return ""
}

func scheduleOf(p *v1alpha1.Poll) contract.Schedule {
	return contract.Schedule{StartsAt: unixSeconds(p.Spec.StartsAt), EndsAt: unixSeconds(p.Spec.EndsAt)}
}

func unixSeconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

// hashConfig returns a short hash of a configuration, prompt and userData
// included, and of the extension that it belongs to.
func hashConfig(t pollTarget, c contract.PollConfig) string {
	encoded, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings, integers and JSON that was compacted
	}
	if c.UserData == nil {
		// As every release has hashed it: another hash would write each Poll once more.
		encoded = bytes.Replace(encoded, []byte(`"userData":null,`), nil, 1)
	}
	sum := sha256.Sum256(append(encoded, t.clientID...))
	return hex.EncodeToString(sum[:8])
}

// equalVisibly compares the fields that the service returns of a configuration. No
// options and an empty list of them are the same.
func equalVisibly(want, got contract.PollConfig) bool {
	if !slices.Equal(want.Options, got.Options) || !slices.Equal(want.Pictures, got.Pictures) {
		return false
	}
	for _, c := range []*contract.PollConfig{&want, &got} {
		c.Prompt, c.UserData, c.Options, c.Pictures, c.Version, c.QuestionChanged, c.TieBreak = "", nil, nil, nil, 0, 0, nil
	}
	return reflect.DeepEqual(want, got)
}
