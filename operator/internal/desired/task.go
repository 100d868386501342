package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The tasks that pods do once for the store of a Backend.
const (
	BackupTask  = "backup"
	DrillTask   = "drill"
	RestoreTask = "restore"
	VerifyTask  = "verify"
)

// TaskLabel is the label of a task's objects with the name of the Backend. BackendLabel
// would make the pods look like those of a service.
const TaskLabel = "acclaim.dev/backend"

const (
	backupsVolume = "backups"
	backupsFolder = "/backups"
	// The store of a drill.
	drillVolume = "restored"
	drillFolder = "/restored"
)

// The exit codes of the program after which another attempt would find the same: something
// is damaged or missing, or the store to restore into is not empty.
const (
	exitProblems = 1
	ExitNotEmpty = 3
)

// Task describes a pod that works once for the store of a Backend.
type Task struct {
	Name string
	// Args are the program's command and its flags.
	Args []string
	// Where the backups are, nil for a task without any.
	Where *v1alpha1.BackupPlace
	Pod   v1alpha1.TaskPod
	// DeadlineHours apply where Pod has none.
	DeadlineHours int32
}

// Backup returns the task that backs the store of a Backend up. It removes all but the
// newest backups, unless keep is 0.
func Backup(b *v1alpha1.Backend, where v1alpha1.BackupPlace, pod v1alpha1.TaskPod, keep int32) Task {
	t := Task{Name: BackupTask, Args: []string{"backup"}, Where: &where, Pod: pod, DeadlineHours: 6}
	if keep > 0 {
		t.Args = append(t.Args, fmt.Sprintf("--keep=%d", keep))
	}
	t.Args = append(t.Args, Destination(b.Name, where))
	return t
}

// Drill returns the task that restores the newest backup of a Backend into an empty store in
// the pod. The command restore verifies what it has restored.
func Drill(b *v1alpha1.Backend, where v1alpha1.BackupPlace, pod v1alpha1.TaskPod) Task {
	// Below the volume's folder: the store makes folders beside its own, where the root is read-only.
	args := []string{"restore", "--data-dir=" + drillFolder + "/store", Destination(b.Name, where)}
	return Task{Name: DrillTask, Args: args, Where: &where, Pod: pod, DeadlineHours: 6}
}

// Verify returns the task that checks what a Backend has stored.
func Verify(pod v1alpha1.TaskPod) Task {
	return Task{Name: VerifyTask, Args: []string{"verify"}, Pod: pod, DeadlineHours: 12}
}

// Restore returns the task that restores the backup that a Backend declares. It claims the
// store by the identity of the Backend: a Job that is repeated goes on, and another Backend
// finds the store in use.
func Restore(b *v1alpha1.Backend) Task {
	from := b.Spec.RestoreFrom
	t := Task{Name: RestoreTask, Args: []string{"restore", "--claim=" + string(b.UID)}, Where: &from.Where, Pod: from.Pod, DeadlineHours: 24}
	if from.Before != nil {
		t.Args = append(t.Args, "--before="+from.Before.UTC().Format(time.RFC3339))
	}
	for _, extension := range from.Extensions {
		t.Args = append(t.Args, "--extension="+string(extension))
	}
	t.Args = append(t.Args, Destination(b.Name, from.Where))
	return t
}

// Destination returns the folder, or the bucket and prefix, of the backups of a Backend.
func Destination(backend string, where v1alpha1.BackupPlace) string {
	place := backupsFolder
	if where.S3 != nil {
		place = strings.TrimSuffix(where.S3.URL, "/")
	}
	return place + "/" + cmp.Or(where.Folder, backend)
}

// taskLabels returns the labels of the objects of a task.
func taskLabels(b *v1alpha1.Backend, task string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":    "acclaim",
		"app.kubernetes.io/part-of": "acclaim",
		ServiceLabel:                task,
		OperatorLabel:               Operator,
		TaskLabel:                   b.Name,
	}
}

// Owner returns the reference that makes the garbage collector delete an object with its
// owner, a resource of the project.
func Owner(kind string, o metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(metav1.GroupVersion{Group: v1alpha1.Group, Version: v1alpha1.Version}.String()).
		WithKind(kind).
		WithName(o.GetName()).
		WithUID(o.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// Job returns the Job of a task.
func Job(b *v1alpha1.Backend, name string, t Task, owner *metav1ac.OwnerReferenceApplyConfiguration) *batchv1.Job {
	return convert[batchv1.Job](batchv1ac.Job(name, b.Namespace).
		WithLabels(taskLabels(b, t.Name)).
		WithOwnerReferences(owner).
		WithSpec(jobSpec(b, t)))
}

// Schedule sets the times at which a CronJob runs its task.
type Schedule struct {
	Cron, TimeZone string
	Suspend        bool
}

// CronJob returns the CronJob of a task.
func CronJob(b *v1alpha1.Backend, name string, t Task, s Schedule, owner *metav1ac.OwnerReferenceApplyConfiguration) *batchv1ac.CronJobApplyConfiguration {
	return batchv1ac.CronJob(name, b.Namespace).
		WithLabels(taskLabels(b, t.Name)).
		WithOwnerReferences(owner).
		WithSpec(batchv1ac.CronJobSpec().
			WithSchedule(s.Cron).
			WithTimeZone(s.TimeZone).
			WithSuspend(s.Suspend).
			WithConcurrencyPolicy(batchv1.ForbidConcurrent).
			WithStartingDeadlineSeconds(3600).
			WithSuccessfulJobsHistoryLimit(1).
			WithFailedJobsHistoryLimit(3).
			WithJobTemplate(batchv1ac.JobTemplateSpec().
				WithLabels(taskLabels(b, t.Name)).
				WithSpec(jobSpec(b, t))))
}

// jobSpec returns what a Job of a task does: three attempts, unless another would find the
// same.
func jobSpec(b *v1alpha1.Backend, t Task) *batchv1ac.JobSpecApplyConfiguration {
	deadline := t.DeadlineHours
	if t.Pod.DeadlineHours != nil {
		deadline = *t.Pod.DeadlineHours
	}
	return batchv1ac.JobSpec().
		WithActiveDeadlineSeconds(int64(deadline) * 3600).
		WithBackoffLimit(2).
		WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(batchv1ac.PodFailurePolicyRule().
			WithAction(batchv1.PodFailurePolicyActionFailJob).
			WithOnExitCodes(batchv1ac.PodFailurePolicyOnExitCodesRequirement().
				WithOperator(batchv1.PodFailurePolicyOnExitCodesOpIn).
				WithValues(exitProblems, ExitNotEmpty)))).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(b.Spec.PodTemplate.Labels).
			WithLabels(taskLabels(b, t.Name)).
			WithAnnotations(b.Spec.PodTemplate.Annotations).
			WithSpec(taskPod(b, t)))
}

// taskPod returns a pod that meets the "restricted" pod security standard.
func taskPod(b *v1alpha1.Backend, t Task) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithServiceAccountName(cmp.Or(t.Pod.ServiceAccountName, serviceAccountName(b))).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurity()).
		WithContainers(taskContainer(b, t))
	addStore(spec, b, t)
	if t.Where != nil && t.Where.ClaimName != "" {
		spec.WithVolumes(corev1ac.Volume().WithName(backupsVolume).
			WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(t.Where.ClaimName)))
		mount := corev1ac.VolumeMount().WithName(backupsVolume).WithMountPath(backupsFolder)
		if t.Name != BackupTask {
			mount.WithReadOnly(true)
		}
		spec.Containers[0].WithVolumeMounts(mount)
	}
	for _, secret := range b.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	addNodes(spec, b.Spec.Scheduling)
	if affinity := b.Spec.Scheduling.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		spec.WithAffinity(corev1ac.Affinity().WithNodeAffinity(convert[corev1ac.NodeAffinityApplyConfiguration](affinity.NodeAffinity)))
	}
	return spec
}

// addStore adds the files that the URI of the Backend's database may name or, to a drill, the
// folder of a store of its own, which goes with the pod.
func addStore(spec *corev1ac.PodSpecApplyConfiguration, b *v1alpha1.Backend, t Task) {
	if t.Name != DrillTask {
		addDatabaseFiles(spec, b.Spec.MongoDB.Name)
		return
	}
	spec.WithVolumes(corev1ac.Volume().WithName(drillVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	spec.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(drillVolume).WithMountPath(drillFolder))
}

func taskContainer(b *v1alpha1.Backend, t Task) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(t.Name).
		WithImage(b.Spec.Image).
		WithArgs(t.Args...).
		WithResources(resources(t.Pod.Resources)).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError). // the status repeats it
		WithSecurityContext(containerSecurity())
	c.ImagePullPolicy = optional(b.Spec.PodTemplate.ImagePullPolicy)
	// Go's collector keeps the heap below the limit, in bytes. The API server would add the
	// divisor, and the operator see another object.
	limit := corev1ac.ResourceFieldSelector().WithResource("limits.memory").WithDivisor(resource.MustParse("0"))
	if t.Name != DrillTask {
		uri := corev1ac.SecretKeySelector().WithName(b.Spec.MongoDB.Name).WithKey(b.Spec.MongoDB.Key)
		c.WithEnv(corev1ac.EnvVar().WithName("ACCLAIM_MONGODB_URI").WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(uri)))
	}
	c.WithEnv(corev1ac.EnvVar().WithName("GOMEMLIMIT").WithValueFrom(corev1ac.EnvVarSource().WithResourceFieldRef(limit)))
	if t.Where != nil && t.Where.S3 != nil {
		addStorage(c, t.Where.S3)
	}
	addVariables(c, slices.DeleteFunc(slices.Clone(b.Spec.PodTemplate.Env), func(declared corev1.EnvVar) bool {
		return slices.ContainsFunc(c.Env, func(own corev1ac.EnvVarApplyConfiguration) bool { return *own.Name == declared.Name })
	}))
	return c
}

// addStorage tells the program of the object storage by the variables of the tools of AWS.
func addStorage(c *corev1ac.ContainerApplyConfiguration, s *v1alpha1.ObjectStorage) {
	if s.Endpoint != "" {
		c.WithEnv(corev1ac.EnvVar().WithName("AWS_ENDPOINT_URL").WithValue(s.Endpoint))
	}
	if s.Region != "" {
		c.WithEnv(corev1ac.EnvVar().WithName("AWS_REGION").WithValue(s.Region))
	}
	if s.SecretName != "" {
		c.WithEnvFrom(corev1ac.EnvFromSource().WithSecretRef(corev1ac.SecretEnvSource().WithName(s.SecretName)))
	}
}
