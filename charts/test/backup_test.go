package test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// scheduled returns the ScheduledBackups by name.
func scheduled(all []runtime.Object) map[string]v1alpha1.ScheduledBackupSpec {
	found := map[string]v1alpha1.ScheduledBackupSpec{}
	for _, s := range find[*v1alpha1.ScheduledBackup](all) {
		found[s.Name] = s.Spec
	}
	return found
}

// Each environment's Backend is backed up, to the folder that restores read, and verified, and
// its backups are restored in drills.
func TestScheduledBackups(t *testing.T) {
	all := objects(t, "testdata/everything")
	resources := &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
	want := map[string]v1alpha1.ScheduledBackupSpec{}
	pod := func(hours int32) v1alpha1.TaskPod {
		return v1alpha1.TaskPod{ServiceAccountName: "default", DeadlineHours: &hours, Resources: resources}
	}
	for environment, backend := range map[string]string{"production": "default", "sandbox": "sandbox"} {
		want["acclaim-"+environment] = v1alpha1.ScheduledBackupSpec{
			BackendRef: v1alpha1.ObjectReference{Name: backend},
			Schedule:   "17 3 * * *", TimeZone: "Etc/UTC", Keep: 3, Pod: pod(6),
			Where:  &v1alpha1.BackupPlace{ClaimName: "backups", Folder: environment},
			Drill:  &v1alpha1.Drill{Schedule: "17 5 * * 0"},
			Verify: &v1alpha1.Verification{Schedule: "17 4 * * 0", TimeZone: "Europe/Berlin", Pod: pod(12)},
		}
	}
	if diff := cmp.Diff(want, scheduled(all)); diff != "" {
		t.Errorf("ScheduledBackups (-want +got):\n%s", diff)
	}
	for _, b := range find[*v1alpha1.Backend](all) {
		if promise := b.Spec.BackupMaxAgeHours; promise == nil || *promise != 48 {
			t.Errorf("%s promises a backup each %v hours", b.Name, promise)
		}
	}
}

// Backups, checks or neither are declared as the values say. Without backups none are promised.
func TestBackupsAndChecks(t *testing.T) {
	for name, test := range map[string]struct{ backup, verify bool }{
		"both": {true, true}, "backups": {true, false}, "checks": {false, true}, "neither": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			values := readValues(t, "testdata/everything")
			values["backup"].(map[string]any)["enabled"], values["verify"].(map[string]any)["enabled"] = test.backup, test.verify
			values["drill"] = map[string]any{"enabled": test.backup}
			r, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			all := decode(t, manifests(r))
			found := scheduled(all)
			if got := len(found) > 0; got != (test.backup || test.verify) {
				t.Errorf("there are ScheduledBackups: %v", got)
			}
			for name, s := range found {
				if (s.Where != nil) != test.backup || (s.Schedule != "") != test.backup || (s.Drill != nil) != test.backup || (s.Verify != nil) != test.verify {
					t.Errorf("%s is %+v", name, s)
				}
			}
			for _, b := range find[*v1alpha1.Backend](all) {
				if (b.Spec.BackupMaxAgeHours != nil) != test.backup {
					t.Errorf("%s promises backups: %v", b.Name, !test.backup)
				}
			}
		})
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
	for name, s := range scheduled(decode(t, manifests(r))) {
		want := v1alpha1.BackupPlace{Folder: strings.TrimPrefix(name, "acclaim-"), S3: &v1alpha1.ObjectStorage{
			URL: "s3://bucket/acclaim/", Endpoint: "https://storage.test", Region: "eu-central-1", SecretName: "storage",
		}}
		if diff := cmp.Diff(want, *s.Where); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if s.Pod.ServiceAccountName != "backups" || s.Verify.Pod.ServiceAccountName != "default" {
			t.Errorf("%s runs as %q, its checks as %q", name, s.Pod.ServiceAccountName, s.Verify.Pod.ServiceAccountName)
		}
	}
}

// The chart has no claim of its own: neither uninstalling nor a mistake in the values can
// delete the backups.
func TestBackupClaim(t *testing.T) {
	if claims := find[*corev1.PersistentVolumeClaim](objects(t, "testdata/everything")); len(claims) > 0 {
		t.Errorf("the chart creates %v", claims)
	}
}

// A ScheduledBackup allows 45 characters for its name.
func TestScheduledBackupNames(t *testing.T) {
	r, err := renderAs("live", strings.Repeat("a-", 26)+"b", readValues(t, "testdata/everything"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(scheduled(decode(t, manifests(r)))))
	for _, name := range names {
		if len(name) > 45 || strings.Contains(name, "--") {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
	if len(names) != 2 {
		t.Errorf("the names are %v", names)
	}
}

// The Backup of the document goes to the folder of the chart's, and the drill restores from it.
func TestRestoreDrill(t *testing.T) {
	page, err := os.ReadFile("../../services/docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for i, part := range strings.Split(string(page), "<<END\n") {
		if manifest, _, ok := strings.Cut(part, "\nEND\n"); i > 0 && ok {
			documented = append(documented, strings.ReplaceAll(manifest, "$IMAGE", "acclaim:dev"))
		}
	}
	declared := decode(t, documented)
	backups, backends := find[*v1alpha1.Backup](declared), find[*v1alpha1.Backend](declared)
	if len(backups) != 1 || len(backends) != 1 || backends[0].Spec.RestoreFrom == nil {
		t.Fatalf("the document declares %v", declared)
	}
	want := scheduled(objects(t, "testdata/everything"))["acclaim-production"]
	if diff := cmp.Diff(v1alpha1.BackupSpec{BackendRef: want.BackendRef, Where: *want.Where}, backups[0].Spec); diff != "" {
		t.Errorf("the Backup (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*want.Where, backends[0].Spec.RestoreFrom.Where); diff != "" {
		t.Errorf("the drill restores from (-want +got):\n%s", diff)
	}
}

// The operator's pods for backups and checks reach the trial database, as those of services do,
// and nothing of the chart itself does.
func TestTrialDatabaseAdmits(t *testing.T) {
	all := objects(t, "testdata/everything")
	policies := find[*networkingv1.NetworkPolicy](all)
	policy := policies[slices.IndexFunc(policies, func(p *networkingv1.NetworkPolicy) bool { return p.Name == "acclaim-trial-database" })]
	for _, object := range all {
		if meta, spec := pod(object); spec != nil && admits(t, policy, meta.Labels) {
			t.Errorf("a pod of %s is admitted", meta.Labels["app.kubernetes.io/component"])
		}
	}
	if !admits(t, policy, map[string]string{"app.kubernetes.io/managed-by": "acclaim-operator"}) {
		t.Error("the operator's pods are not admitted")
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
