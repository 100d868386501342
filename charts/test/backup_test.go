package test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// find returns the objects of a type.
func find[T runtime.Object](all []runtime.Object) (found []T) {
	for _, object := range all {
		if object, ok := object.(T); ok {
			found = append(found, object)
		}
	}
	return found
}

// Each environment is backed up and verified, with the database of its Backend.
func TestCronJobs(t *testing.T) {
	all := objects(t, "testdata/everything")
	backends := map[string]v1alpha1.SecretKeyReference{}
	for _, b := range find[*v1alpha1.Backend](all) {
		backends[b.Spec.Environment] = b.Spec.MongoDB
	}
	got := map[string][]string{}
	for _, job := range find[*batchv1.CronJob](all) {
		spec := job.Spec.JobTemplate.Spec.Template.Spec
		if job.Labels["app.kubernetes.io/component"] == "watchdog" {
			continue
		}
		got[job.Name] = spec.Containers[0].Args
		environment := job.Name[strings.LastIndex(job.Name, "-")+1:]
		at := slices.IndexFunc(spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "ACCLAIM_MONGODB_URI" })
		if uri := spec.Containers[0].Env[at].ValueFrom.SecretKeyRef; (v1alpha1.SecretKeyReference{Name: uri.Name, Key: uri.Key}) != backends[environment] {
			t.Errorf("%s reads the URI from %v, the Backend from %v", job.Name, uri, backends[environment])
		}
		if component := job.Labels["app.kubernetes.io/component"]; component != spec.Containers[0].Args[0] {
			t.Errorf("%s has the component %q, which the operator's metrics name as its task", job.Name, component)
		}
	}
	want := map[string][]string{
		"acclaim-backup-production": {"backup", "--keep=3", "/backups/production"},
		"acclaim-backup-sandbox":    {"backup", "--keep=3", "/backups/sandbox"},
		"acclaim-verify-production": {"verify"},
		"acclaim-verify-sandbox":    {"verify"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CronJobs and their arguments (-want +got):\n%s", diff)
	}
}

// Backups go to a bucket in place of a volume: each environment to its own prefix, with the
// Secret and the ServiceAccount that are named.
func TestBackupToBucket(t *testing.T) {
	values := readValues(t, "testdata/everything")
	values["backup"] = map[string]any{
		"enabled": true, "serviceAccountName": "backups",
		"s3": map[string]any{"url": "s3://bucket/acclaim/", "endpoint": "https://storage.test", "region": "eu-central-1", "secretName": "storage"},
	}
	r, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	var locations []string
	for _, job := range find[*batchv1.CronJob](decode(t, manifests(r))) {
		spec := job.Spec.JobTemplate.Spec.Template.Spec
		if spec.Containers[0].Name != "backup" {
			continue
		}
		locations = append(locations, spec.Containers[0].Args[2])
		environment := map[string]string{}
		for _, e := range spec.Containers[0].Env {
			environment[e.Name] = e.Value
		}
		if environment["AWS_ENDPOINT_URL"] != "https://storage.test" || environment["AWS_REGION"] != "eu-central-1" {
			t.Errorf("%s has the variables %v", job.Name, environment)
		}
		if from := spec.Containers[0].EnvFrom; len(from) != 1 || from[0].SecretRef.Name != "storage" || spec.ServiceAccountName != "backups" || len(spec.Volumes) != 1 || spec.Volumes[0].Name != "database" {
			t.Errorf("%s is %+v", job.Name, spec)
		}
	}
	if want := []string{"s3://bucket/acclaim/production", "s3://bucket/acclaim/sandbox"}; !slices.Equal(locations, want) {
		t.Errorf("backups go to %q, want %q", locations, want)
	}
}

// The chart has no claim of its own: neither uninstalling nor a mistake in the values can
// delete the backups.
func TestBackupClaim(t *testing.T) {
	if claims := find[*corev1.PersistentVolumeClaim](objects(t, "testdata/everything")); len(claims) > 0 {
		t.Errorf("the chart creates %v", claims)
	}
}

// Kubernetes allows 52 characters for the name of a CronJob.
func TestCronJobNames(t *testing.T) {
	values := readValues(t, "testdata/everything")
	names := map[string]bool{}
	r, err := renderAs("live", strings.Repeat("a-", 26)+"b", values)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range find[*batchv1.CronJob](decode(t, manifests(r))) {
		if names[job.Name] = true; len(job.Name) > 52 || strings.Contains(job.Name, "--") {
			t.Errorf("%s has %d characters", job.Name, len(job.Name))
		}
	}
	if len(names) != 5 {
		t.Errorf("the names are %v", names)
	}
}

// The Job of the restore drill is one that a strict namespace admits. It reads the volume that
// the chart writes, and reaches the trial database.
func TestRestoreDrill(t *testing.T) {
	page, err := os.ReadFile("../../services/docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	var drill []string
	for i, part := range strings.Split(string(page), "<<END\n") {
		if manifest, _, ok := strings.Cut(part, "\nEND\n"); i > 0 && ok {
			drill = append(drill, strings.ReplaceAll(manifest, "$IMAGE", "acclaim:dev"))
		}
	}
	declared := decode(t, drill)
	jobs := find[*batchv1.Job](declared)
	if len(jobs) != 1 || len(find[*v1alpha1.Backend](declared)) != 1 {
		t.Fatalf("the drill declares %v", declared)
	}
	meta, spec := pod(jobs[0])
	checkRestricted(t, "the drill", meta, spec)
	all := objects(t, "testdata/everything")
	for _, job := range find[*batchv1.CronJob](all) {
		if job.Name != "acclaim-backup-production" {
			continue
		}
		backup := job.Spec.JobTemplate.Spec.Template.Spec
		// Each has the Secret with its own database's URI.
		for _, of := range []*corev1.PodSpec{&backup, spec} {
			i := slices.IndexFunc(of.Volumes, func(v corev1.Volume) bool { return v.Name == "database" })
			uri := slices.IndexFunc(of.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "ACCLAIM_MONGODB_URI" })
			if got, want := of.Volumes[i].Secret.SecretName, of.Containers[0].Env[uri].ValueFrom.SecretKeyRef.Name; got != want {
				t.Errorf("the folder of the database is of the Secret %s, and the URI of %s", got, want)
			}
			of.Volumes[i].Secret.SecretName = "compared"
		}
		if diff := cmp.Diff(backup.Volumes, spec.Volumes) + cmp.Diff(backup.Containers[0].VolumeMounts, spec.Containers[0].VolumeMounts); diff != "" {
			t.Errorf("volumes (-backup +restore):\n%s", diff)
		}
		if got := spec.Containers[0].Args; !slices.Equal(got, []string{"restore", backup.Containers[0].Args[2]}) {
			t.Errorf("it runs %q", got)
		}
	}
	for _, policy := range find[*networkingv1.NetworkPolicy](all) {
		if policy.Name == "acclaim-trial-database" && !admits(t, policy, meta.Labels) {
			t.Error("it does not reach the trial database")
		}
	}
}

// The CronJobs of backups and checks reach the trial database, and nothing else of the chart does.
func TestTrialDatabaseAdmits(t *testing.T) {
	all := objects(t, "testdata/everything")
	policies := find[*networkingv1.NetworkPolicy](all)
	policy := policies[slices.IndexFunc(policies, func(p *networkingv1.NetworkPolicy) bool { return p.Name == "acclaim-trial-database" })]
	for _, object := range all {
		meta, spec := pod(object)
		if spec == nil {
			continue
		}
		_, want := object.(*batchv1.CronJob)
		want = want && meta.Labels["app.kubernetes.io/component"] != "watchdog"
		if got := admits(t, policy, meta.Labels); got != want {
			t.Errorf("a pod of %s is admitted: %v", meta.Labels["app.kubernetes.io/component"], got)
		}
	}
}

func admits(t *testing.T, policy *networkingv1.NetworkPolicy, of map[string]string) bool {
	t.Helper()
	return slices.ContainsFunc(policy.Spec.Ingress[0].From, func(peer networkingv1.NetworkPolicyPeer) bool {
		selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(of))
	})
}
