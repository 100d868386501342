package e2e_test

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The document on backups, and its chapters that have commands for a cluster.
const (
	backups     = "services/docs/backup.md"
	byTheChart  = "By the chart"
	theDrill    = "Restore drill"
	whenLost    = "When production's database is lost"
	drilledPoll = "favourite-colour" // which the document compares
)

// drill walks the document on backups: a schedule by the chart and a Backup, the drill beside
// production, and the loss of production with its database. Everything after it runs on
// the restored database.
func drill(w *world) {
	It("comes back from a backup by the documented commands, all of it equal", func(ctx SpecContext) {
		Expect(w.Create(ctx, poll(w.named(drilledPoll)))).To(Succeed())
		w.pollReady(ctx, drilledPoll)
		for i, opaque := range []string{"U1", "U2", "U3"} {
			Expect(w.viewer(opaque).post(ctx, "/vote?id="+drilledPoll, object{"value": i % 2}, nil)).To(Succeed())
		}
		w.provideVolume(ctx, "backups")
		w.provideDatabase(ctx, "restored-database")
		before := w.readAll(ctx)

		began := time.Now()
		w.follow(ctx, nil, w.commands(byTheChart)...)
		output := w.follow(ctx, []string{"NEW_URI=mongodb://restored-database:27017/drill", "BACKEND=" + w.backend().authorization},
			w.commands(theDrill)...)
		Expect(problems(output)).To(HaveExactElements(0), "those of each verification in %s", output)
		Expect(answers(output)).To(HaveExactElements(string(before[0]), string(before[0])), "production's statistics, and the restored")
		w.report.took("a backup and the restore drill", began)

		began = time.Now()
		w.loseProduction(ctx)
		restore := w.commands(theDrill)[:2]
		output = w.follow(ctx, []string{"NEW_URI=mongodb://restored-database:27017/acclaim"}, append(restore, w.commands(whenLost)...)...)
		Expect(problems(output)).To(HaveExactElements(0, 0), "those of the restored database, and of what production then serves from, in %s", output)
		known(ctx, w.backend())
		Expect(w.readAll(ctx)).To(Equal(before))
		w.report.took("production and its database lost, to all of it equal", began)

		// The rest of the suite keeps the database and leaves the backups.
		w.restored = "restored-mongodb"
		Expect(w.upgrade(ctx, w.values())).To(Succeed())
		w.gone(ctx, &batchv1.CronJob{ObjectMeta: w.named(release + "-production-backup")})
		Expect(w.Delete(ctx, &v1alpha1.Backup{ObjectMeta: w.named("now")})).To(Succeed())
		Expect(w.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: w.named("backups")})).To(Succeed())
		w.ready(ctx, "sandbox", os.Getenv("ACCLAIM_E2E_IMAGE"))
		Expect(w.Delete(ctx, &v1alpha1.Poll{ObjectMeta: w.named(drilledPoll)})).To(Succeed())
	}, SpecTimeout(12*time.Minute))
}

// readAll returns what production has stored of the earlier specs, as its clients read it.
func (w *world) readAll(ctx context.Context) [][]byte {
	GinkgoHelper()
	var read [][]byte
	for _, path := range []string{
		"/vote?id=" + drilledPoll, "/vote_logs?id=" + drilledPoll, "/vote?id=weighed", "/vote_logs?id=weighed", "/vote_config?id=colour",
		"/accumulate?id=clicks&start=0", "/rank?id=word", "/channel_state", "/extension_state", "/config",
	} {
		got, err := w.backend().send(ctx, "GET", path, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.status).To(Equal(200), "%s: %s", path, got.body)
		read = append(read, got.body)
	}
	return read
}

// loseProduction deletes the Backend, and the trial database with all that it has.
func (w *world) loseProduction(ctx context.Context) {
	production := &v1alpha1.Backend{ObjectMeta: w.named("default")}
	Expect(w.Delete(ctx, production)).To(Succeed())
	w.gone(ctx, production)
	if os.Getenv("ACCLAIM_E2E_MONGODB_URI") == "" {
		database := &corev1.Pod{ObjectMeta: w.named(release + "-trial-database-0")}
		Expect(w.Delete(ctx, database)).To(Succeed())
	}
	Eventually(ctx, func() ([]corev1.Pod, error) { return w.pods(ctx, service("voting")) }).Should(BeEmpty())
}

// removeRestored removes the database that production was restored into, if it was.
func (w *world) removeRestored(ctx context.Context) {
	w.removeDatabase(ctx, "restored-database")
	Expect(client.IgnoreNotFound(w.Delete(ctx, &corev1.Secret{ObjectMeta: w.named("restored-mongodb")}))).To(Succeed())
}

// provideDatabase runs an empty database beside that of the release, which speaks TLS if a
// Secret has its certificate.
func (w *world) provideDatabase(ctx context.Context, name string, certificate ...string) {
	labels := map[string]string{"app": name}
	meta := w.named(name)
	meta.Labels = labels
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:         "database",
			Image:        os.Getenv("ACCLAIM_E2E_DATABASE_IMAGE"),
			Args:         databaseArguments(),
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data/db"}},
		}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	for _, secret := range certificate {
		c := &spec.Containers[0]
		c.Args = append(c.Args, "--tls-cert=/tls/tls.crt", "--tls-key=/tls/tls.key")
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: "/tls"})
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}})
	}
	Expect(w.Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: spec})).To(Succeed())
	Expect(w.Create(ctx, &corev1.Service{ObjectMeta: w.named(name), Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 27017}},
	}})).To(Succeed())
}

// removeDatabase removes a database that a spec provided, and the Secret with its URI if
// that has its name.
func (w *world) removeDatabase(ctx context.Context, name string) {
	for _, o := range []client.Object{
		&corev1.Pod{ObjectMeta: w.named(name)}, &corev1.Service{ObjectMeta: w.named(name)}, &corev1.Secret{ObjectMeta: w.named(name)},
	} {
		Expect(client.IgnoreNotFound(w.Delete(ctx, o))).To(Succeed())
	}
}
