// Package job reads how a Job of the operator's has ended, and what its program said last.
//
// It knows no kind of resource of the project, and writes nothing.
package job

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Outcome holds the progress of a Job.
type Outcome struct {
	// Ended is the time at which the Job succeeded or failed, nil before.
	Ended     *metav1.Time
	Succeeded bool
	// ExitCode of the last container of a Job that failed, 0 where none is known.
	ExitCode int32
	// Message of a Job that failed: the last line of the program's output or, without one,
	// Kubernetes' own.
	Message string
}

// Read returns how far a Job is. The pods of one that failed are read from live, which asks
// the API server: a cache may not have their last state yet.
func Read(ctx context.Context, live client.Reader, j *batchv1.Job) (Outcome, error) {
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return Outcome{Ended: &c.LastTransitionTime, Succeeded: true}, nil
		case batchv1.JobFailed:
			return readFailure(ctx, live, j, c)
		}
	}
	return Outcome{}, nil
}

func readFailure(ctx context.Context, live client.Reader, j *batchv1.Job, failed *batchv1.JobCondition) (Outcome, error) {
	o := Outcome{Ended: &failed.LastTransitionTime, Message: Shorten(fmt.Sprintf("%s: %s", failed.Reason, failed.Message))}
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
		return Outcome{}, err
	}
	var last metav1.Time
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			ended := c.State.Terminated
			if ended == nil || ended.FinishedAt.Before(&last) {
				continue
			}
			last, o.ExitCode = ended.FinishedAt, ended.ExitCode
			if words := LastLine(ended.Message); words != "" {
				o.Message = words
			}
		}
	}
	return o, nil
}

// LastLine returns the last line of a program's output: there it writes why it ends.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return Shorten(strings.TrimSpace(lines[len(lines)-1]))
}

// credentials finds the user and the password of a URL.
var credentials = regexp.MustCompile(`://[^/\s"]*@`)

// Shorten bounds a message of another program, in bytes, and takes credentials out of it:
// more people may read a status than a Secret.
func Shorten(text string) string {
	const most = 512
	text = credentials.ReplaceAllString(text, "://***@")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
