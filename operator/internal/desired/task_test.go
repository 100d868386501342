package desired_test

import (
	"os/exec"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// testTasks asks the program whether it takes the arguments of each task.
func testTasks(t *testing.T, program string, b *v1alpha1.Backend) {
	t.Helper()
	place := v1alpha1.BackupPlace{ClaimName: "backups"}
	b.Spec.RestoreFrom = &v1alpha1.RestoreFrom{Where: place, Before: new(metav1.Now()), Extensions: []v1alpha1.ID{"a", "b"}}
	for _, task := range []desired.Task{
		desired.Backup(b, place, v1alpha1.TaskPod{}, 0),
		desired.Backup(b, place, v1alpha1.TaskPod{}, 7),
		desired.Drill(b, place, v1alpha1.TaskPod{}),
		desired.Verify(v1alpha1.TaskPod{}),
		desired.Restore(b),
	} {
		c := desired.Job(b, "any", task, desired.Owner("Backend", b)).Spec.Template.Spec.Containers[0]
		if output, err := exec.CommandContext(t.Context(), program, append(c.Args, "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%q are refused: %v\n%s", c.Args, err, output)
		}
	}
}
