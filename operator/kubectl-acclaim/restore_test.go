package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// team holds a Backend with backups of two kinds, and another Backend's backup.
func team(t *testing.T) *fake.ClientBuilder {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: name} }
	served := &v1alpha1.Backend{ObjectMeta: named("default"), Spec: v1alpha1.BackendSpec{
		Environment: "production", Image: "acclaim:1", MongoDB: v1alpha1.SecretKeyReference{Name: "mongodb", Key: "uri"},
		Ingress: &v1alpha1.Ingress{Host: "api.example.com"}, TLSSecretName: "certificate", BackupMaxAgeHours: new(int32(26)), Suspend: true,
	}}
	served.Annotations = map[string]string{v1alpha1.OperatorAnnotation: "acclaim/two", "else": "where"}
	served.Labels = map[string]string{"app": "of Helm"}
	place := v1alpha1.BackupPlace{ClaimName: "backups"}
	of := v1alpha1.ObjectReference{Name: "default"}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Backend{}).WithObjects(served,
		&v1alpha1.ScheduledBackup{ObjectMeta: named("nightly"), Spec: v1alpha1.ScheduledBackupSpec{BackendRef: of, Where: &place}},
		&v1alpha1.ScheduledBackup{ObjectMeta: named("checks"), Spec: v1alpha1.ScheduledBackupSpec{BackendRef: of}},
		&v1alpha1.Backup{ObjectMeta: named("once"), Spec: v1alpha1.BackupSpec{BackendRef: of, Where: v1alpha1.BackupPlace{ClaimName: "other", Folder: "of/default"}}},
		&v1alpha1.Backup{ObjectMeta: named("foreign"), Spec: v1alpha1.BackupSpec{BackendRef: v1alpha1.ObjectReference{Name: "sandbox"}, Where: place}},
	)
}

func TestPlanRestore(t *testing.T) {
	c := team(t).Build()
	r := restoration{backend: "default", name: "restored", from: "scheduledbackup/nightly", database: "empty",
		before: "2026-11-23T12:00:00Z", extensions: []string{"quiz"}}
	b, err := planRestore(t.Context(), c, "team", r)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := printObject(&printed, b); err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: acclaim.dev/v1alpha1
kind: Backend
metadata:
  annotations:
    acclaim.dev/operator: acclaim/two
  name: restored
  namespace: team
spec:
  environment: production
  image: acclaim:1
  mongodb:
    key: uri
    name: empty
  networkPolicy: {}
  podTemplate: {}
  restoreFrom:
    before: "2026-11-23T12:00:00Z"
    extensions:
    - quiz
    pod: {}
    where:
      claimName: backups
      folder: default
  scheduling: {}
  services: {}
`
	if difference := cmp.Diff(want, printed.String()); difference != "" {
		t.Errorf("the new Backend (-want +got):\n%s", difference)
	}
	r.from, r.database = "Backup/once", "empty/mongodb"
	b, err = planRestore(t.Context(), c, "team", r)
	if err != nil || b.Spec.RestoreFrom.Where.Folder != "of/default" || b.Spec.MongoDB.Key != "mongodb" {
		t.Errorf("of a Backup with a folder, and a key: %+v, %v", b, err)
	}
}

func TestPlanRestoreRefuses(t *testing.T) {
	c := team(t).Build()
	for reason, change := range map[string]func(*restoration){
		`backends.acclaim.dev "none" not found`:         func(r *restoration) { r.backend = "none" },
		`scheduledbackups.acclaim.dev "none" not found`: func(r *restoration) { r.from = "scheduledbackup/none" },
		"neither backup/NAME nor":                       func(r *restoration) { r.from = "nightly" },
		"backs up the Backend sandbox, not default":     func(r *restoration) { r.from = "backup/foreign" },
		"makes no backups, it only verifies":            func(r *restoration) { r.from = "scheduledbackup/checks" },
		"is no time such as":                            func(r *restoration) { r.before = "yesterday" },
		"is the database of the Backend default":        func(r *restoration) { r.database = "mongodb" },
	} {
		r := restoration{backend: "default", name: "restored", from: "scheduledbackup/nightly", database: "empty"}
		change(&r)
		if _, err := planRestore(t.Context(), c, "team", r); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want %s", err, reason)
		}
	}
}

func TestCreateRestored(t *testing.T) {
	var validation string
	var refusal error
	c := team(t).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			all := client.CreateOptions{}
			validation = all.ApplyOptions(options).AsCreateOptions().FieldValidation
			if refusal != nil {
				return refusal
			}
			return c.Create(ctx, o, options...)
		},
	}).Build()
	b, err := planRestore(t.Context(), c, "team", restoration{backend: "default", name: "restored", from: "backup/once", database: "empty"})
	if err == nil {
		err = createRestored(t.Context(), c, b)
	}
	if err != nil || validation != metav1.FieldValidationStrict {
		t.Errorf("%v, with the validation %q, want Strict", err, validation)
	}
	refusal = errors.New(`strict decoding error: unknown field "spec.restoreFrom"`)
	if err := createRestored(t.Context(), c, b); err == nil || !strings.Contains(err.Error(), "CRDs are older") {
		t.Errorf("older CRDs: %v", err)
	}
}

func TestAwaitRestored(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.Restored, Status: status, Reason: reason, Message: message}
	}
	restoring := condition(metav1.ConditionFalse, v1alpha1.ReasonRestoring, "Job restored-restore has not ended")
	for name, test := range map[string]struct {
		last metav1.Condition
		exit int
	}{
		"done":      {condition(metav1.ConditionTrue, v1alpha1.ReasonRestoreCompleted, ""), 0},
		"not empty": {condition(metav1.ConditionFalse, v1alpha1.ReasonNotEmpty, "the database has 3 polls"), 1},
		"failed":    {condition(metav1.ConditionFalse, v1alpha1.ReasonRestoreFailed, "a file is damaged"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []func(b *v1alpha1.Backend) error
			say := func(c metav1.Condition) func(b *v1alpha1.Backend) error {
				return func(b *v1alpha1.Backend) error { b.Status.Conditions = []metav1.Condition{c}; return nil }
			}
			away := func(*v1alpha1.Backend) error { return errors.New("the API server is away") }
			steps = append(steps, func(*v1alpha1.Backend) error { return nil }, say(restoring), away, say(restoring), say(test.last))
			c := team(t).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
					step := steps[0]
					steps = steps[1:]
					return step(o.(*v1alpha1.Backend))
				},
			}).Build()
			next := make(chan time.Time, len(steps))
			for range steps {
				next <- time.Time{}
			}
			var out strings.Builder
			b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "restored"}}
			err := awaitRestored(t.Context(), c, b, next, &out)
			want := `created; no operator has reported on it yet
Restoring Job restored-restore has not ended
the API server is away; trying again
Restoring Job restored-restore has not ended
` + strings.TrimSpace(test.last.Reason+" "+test.last.Message) + "\n"
			if got := strings.ReplaceAll(out.String(), "backend.acclaim.dev/restored: ", ""); got != want || exitCode(err) != test.exit {
				t.Errorf("%v:\n%s\nwant the exit code %d and\n%s", err, got, test.exit, want)
			}
		})
	}
	gone := team(t).Build()
	b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gone"}}
	if err := awaitRestored(t.Context(), gone, b, nil, &strings.Builder{}); exitCode(err) != 2 {
		t.Errorf("a Backend that was deleted: %v", err)
	}
}
