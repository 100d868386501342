package e2e_test

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The Backend that is backed up, its ScheduledBackup and its volume have one name.
const (
	nightly       = "nightly"
	again         = "again" // the Backend that is restored, and the key of its database's URI
	nightlySecret = "nightly-database"
)

// schedules has a Backend of its own backed up by its schedule, and restored beside.
func schedules(w *world) {
	It("restores by kubectl acclaim the backup that a ScheduledBackup made and a drill restored", func(ctx SpecContext) {
		from := w.provideNightly(ctx)
		s := w.schedule(ctx)
		w.makeBackup(ctx)

		output, code := w.plugged(ctx, "restore", nightly, "--as", again, "--from", "scheduledbackup/"+nightly, "--database", nightlySecret+"/"+again)
		Expect(code).To(BeZero(), output)
		Expect(output).To(ContainSubstring(v1alpha1.ReasonRestoreCompleted))
		restored := &v1alpha1.Backend{ObjectMeta: w.named(again)}
		edit(ctx, w, restored, func(b *v1alpha1.Backend) { b.Spec.Ingress = &v1alpha1.Ingress{Host: again + "." + w.host} })
		to := w.enterSmall(ctx, again)
		for _, path := range []string{"/vote?id=nightly", "/vote_logs?id=nightly"} {
			Expect(read(ctx, to, path)).To(Equal(read(ctx, from, path)), path)
		}

		By("refusing a database that holds something, and saying so")
		output, code = w.plugged(ctx, "restore", nightly, "--as", "late", "--from", "backup/before-the-show", "--database", nightlySecret+"/"+again)
		Expect(code).To(Equal(1), output)
		Expect(output).To(ContainSubstring(v1alpha1.ReasonNotEmpty))

		w.removeNightly(ctx, s)
	}, SpecTimeout(10*time.Minute))
}

// provideNightly returns the entrance of a Backend once it has votes to back up. Its Secret
// has the URI of an empty database, too.
func (w *world) provideNightly(ctx context.Context) entrance {
	GinkgoHelper()
	w.provideVolume(ctx, nightly)
	Expect(w.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: w.named(nightly), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}})).To(Succeed())
	w.provideDatabase(ctx, nightlySecret)
	server := "mongodb://" + nightlySecret + ":27017/"
	Expect(w.Create(ctx, &corev1.Secret{ObjectMeta: w.named(nightlySecret), StringData: map[string]string{
		"uri": server + nightly, again: server + again,
	}})).To(Succeed())
	Expect(w.Create(ctx, smallBackend(w.named(nightly), nightlySecret, nightly+"."+w.host))).To(Succeed())
	e := w.enterSmall(ctx, nightly)
	for i, opaque := range []string{"U1", "U2", "U3"} {
		Expect(e.viewer(opaque).post(ctx, "/vote?id=nightly", object{"value": i % 2}, nil)).To(Succeed())
	}
	return e
}

// enterSmall returns the entrance of a small Backend with an Ingress of its name, once it
// serves.
func (w *world) enterSmall(ctx context.Context, backend string) entrance {
	GinkgoHelper()
	w.ready(ctx, backend, os.Getenv("ACCLAIM_E2E_IMAGE"))
	e := w.front()
	e.host = backend + "." + w.host
	known(ctx, e.backend(), "/vote?id=none")
	return e
}

// schedule returns a ScheduledBackup that has made a backup and restored it in a drill. The
// schedules are not waited for: each CronJob is run at once, as the documents say.
func (w *world) schedule(ctx context.Context) *v1alpha1.ScheduledBackup {
	GinkgoHelper()
	const eachYear = "0 0 1 1 *"
	s := &v1alpha1.ScheduledBackup{ObjectMeta: w.named(nightly), Spec: v1alpha1.ScheduledBackupSpec{
		BackendRef: v1alpha1.ObjectReference{Name: nightly},
		Schedule:   eachYear,
		Where:      &v1alpha1.BackupPlace{ClaimName: nightly},
		Drill:      &v1alpha1.Drill{Schedule: eachYear},
	}}
	began := time.Now()
	Expect(w.Create(ctx, s)).To(Succeed())
	w.expectScheduled(ctx, s, HaveField("Destination", "/backups/"+nightly))
	for _, task := range []struct{ cronJob, last string }{{nightly + "-backup", "LastBackup"}, {nightly + "-drill", "LastDrill"}} {
		Expect(kubectl(ctx, "--namespace", w.namespace, "create", "job", task.cronJob+"-now", "--from", "cronjob/"+task.cronJob)).To(Succeed())
		w.expectScheduled(ctx, s, HaveField(task.last, Not(BeNil())))
	}
	w.report.took("a ScheduledBackup, to its first backup and drill", began)
	return s
}

// expectScheduled waits until a ScheduledBackup is Ready with a status.
func (w *world) expectScheduled(ctx context.Context, s *v1alpha1.ScheduledBackup, status gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		g.Expect(isReady(s.Status.Conditions, s.Generation)).To(Succeed())
		g.Expect(s.Status).To(status)
	}).Should(Succeed())
	Expect(meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.Degraded)).To(BeFalse(), "%v", s.Status.Conditions)
}

// makeBackup makes a Backup beside those of the schedule.
func (w *world) makeBackup(ctx context.Context) {
	GinkgoHelper()
	b := &v1alpha1.Backup{ObjectMeta: w.named("before-the-show"), Spec: v1alpha1.BackupSpec{
		BackendRef: v1alpha1.ObjectReference{Name: nightly},
		Where:      v1alpha1.BackupPlace{ClaimName: nightly},
	}}
	Expect(w.Create(ctx, b)).To(Succeed())
	Eventually(ctx, func() (v1alpha1.BackupStatus, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(b), b)
		return b.Status, err
	}).Should(HaveField("Phase", v1alpha1.BackupCompleted))
}

// removeNightly removes what the spec made.
func (w *world) removeNightly(ctx context.Context, s *v1alpha1.ScheduledBackup) {
	GinkgoHelper()
	backends := []string{nightly, again, "late"}
	Expect(w.Delete(ctx, s)).To(Succeed())
	Expect(w.Delete(ctx, &v1alpha1.Backup{ObjectMeta: w.named("before-the-show")})).To(Succeed())
	for _, name := range backends {
		Expect(w.Delete(ctx, &v1alpha1.Backend{ObjectMeta: w.named(name)})).To(Succeed())
	}
	for _, name := range backends {
		w.gone(ctx, &v1alpha1.Backend{ObjectMeta: w.named(name)})
	}
	Expect(w.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: w.named(nightly)})).To(Succeed())
	w.removeDatabase(ctx, nightlySecret)
}

// read returns what an extension reads at an entrance.
func read(ctx context.Context, e entrance, path string) string {
	GinkgoHelper()
	got, err := e.backend().send(ctx, "GET", path, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(got.status).To(Equal(200), "%s: %s", path, got.body)
	return string(got.body)
}
