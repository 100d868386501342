package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// restoration holds the arguments of a restore.
type restoration struct {
	backend    string // whose backups they are
	name       string // of the new Backend
	from       string // KIND/NAME of the object that has made the backups
	database   string // SECRET or SECRET/KEY
	before     string // RFC 3339, or ""
	extensions []string
	print      bool
	wait       bool
}

func newRestore(s *session) *cobra.Command {
	var r restoration
	command := &cobra.Command{
		Use:   "restore BACKEND --as NAME --from backup/NAME|scheduledbackup/NAME --database SECRET",
		Short: "Restore a backup of a Backend into a new Backend and an empty database",
		Long: `Restore creates a Backend that is like another one and begins with its backup, and waits
until the backup is in the database and verified. The other Backend stays as it is.

The new Backend has no Ingress, no HTTPRoute, no certificate and no promised age of backups:
look at what it holds, and set them when it is to serve.

It exits with 1 where the database is not empty or the restore fails.`,
		Example: `  kubectl acclaim restore default --as restored --from scheduledbackup/nightly --database restored-mongodb
  kubectl acclaim restore default --as restored --from backup/before-the-show --database restored-mongodb --print`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r.backend = args[0]
			connection, err := s.connect()
			if err != nil {
				return err
			}
			b, err := planRestore(c.Context(), connection, connection.namespace, r)
			if err != nil {
				return err
			}
			if r.print {
				return printObject(c.OutOrStdout(), b)
			}
			if err := createRestored(c.Context(), connection, b); err != nil || !r.wait {
				return err
			}
			ticker := time.NewTicker(watchInterval)
			defer ticker.Stop()
			return awaitRestored(c.Context(), connection, b, ticker.C, c.OutOrStdout())
		},
	}
	f := command.Flags()
	f.StringVar(&r.name, "as", "", "name of the new Backend")
	f.StringVar(&r.from, "from", "", "the Backup or ScheduledBackup that has made the backup, as KIND/NAME")
	f.StringVar(&r.database, "database", "", "Secret with the URI of an empty database, as SECRET or SECRET/KEY; the key is by default that of the other Backend")
	f.StringVar(&r.before, "before", "", "take the newest backup that had begun by this time, such as 2026-11-23T12:00:00Z; by default the newest")
	f.StringSliceVar(&r.extensions, "extension", nil, "client id of an extension to restore, several times for several; by default all")
	f.BoolVar(&r.print, "print", false, "print the Backend as YAML, and create nothing")
	f.BoolVar(&r.wait, "wait", true, "wait until the restore has ended")
	for _, name := range []string{"as", "from", "database"} {
		_ = command.MarkFlagRequired(name) // fails only for a flag that is not there
	}
	return command
}

// planRestore returns the Backend to create.
func planRestore(ctx context.Context, c client.Client, namespace string, r restoration) (*v1alpha1.Backend, error) {
	var of v1alpha1.Backend
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.backend}, &of); err != nil {
		return nil, err
	}
	where, err := findBackups(ctx, c, namespace, r)
	if err != nil {
		return nil, err
	}
	from := &v1alpha1.RestoreFrom{Where: *where}
	for _, id := range r.extensions {
		from.Extensions = append(from.Extensions, v1alpha1.ID(id))
	}
	if r.before != "" {
		before, err := time.Parse(time.RFC3339, r.before)
		if err != nil {
			return nil, fmt.Errorf("--before: %q is no time such as 2026-11-23T12:00:00Z", r.before)
		}
		from.Before = &metav1.Time{Time: before}
	}
	b := &v1alpha1.Backend{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: "Backend"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.name},
		Spec:       *of.Spec.DeepCopy(),
	}
	if operator, ok := of.Annotations[v1alpha1.OperatorAnnotation]; ok {
		b.Annotations = map[string]string{v1alpha1.OperatorAnnotation: operator}
	}
	b.Spec.RestoreFrom, b.Spec.Suspend = from, false
	// Addresses and the certificate are those of the other one, and no schedule makes backups yet.
	b.Spec.Ingress, b.Spec.Route, b.Spec.TLSSecretName, b.Spec.BackupMaxAgeHours, b.Spec.ResultLog = nil, nil, "", nil, nil
	secret, key, hasKey := strings.Cut(r.database, "/")
	if b.Spec.MongoDB.Name = secret; hasKey {
		b.Spec.MongoDB.Key = key
	}
	if b.Spec.MongoDB == of.Spec.MongoDB {
		return nil, fmt.Errorf("--database: %s is the database of the Backend %s; a restore needs an empty one", r.database, r.backend)
	}
	return b, nil
}

// findBackups returns the place to which an object has backed up the Backend.
func findBackups(ctx context.Context, c client.Client, namespace string, r restoration) (*v1alpha1.BackupPlace, error) {
	kind, name, _ := strings.Cut(r.from, "/")
	key := client.ObjectKey{Namespace: namespace, Name: name}
	var backend string
	var where *v1alpha1.BackupPlace
	switch strings.ToLower(kind) {
	case "backup", "backups":
		var b v1alpha1.Backup
		if err := c.Get(ctx, key, &b); err != nil {
			return nil, err
		}
		backend, where = b.Spec.BackendRef.Name, &b.Spec.Where
	case "scheduledbackup", "scheduledbackups":
		var b v1alpha1.ScheduledBackup
		if err := c.Get(ctx, key, &b); err != nil {
			return nil, err
		}
		backend, where = b.Spec.BackendRef.Name, b.Spec.Where
	default:
		return nil, fmt.Errorf("--from: %q is neither backup/NAME nor scheduledbackup/NAME", r.from)
	}
	switch {
	case backend != r.backend:
		return nil, fmt.Errorf("--from: %s backs up the Backend %s, not %s", r.from, backend, r.backend)
	case where == nil:
		return nil, fmt.Errorf("--from: %s makes no backups, it only verifies", r.from)
	}
	where = where.DeepCopy()
	if where.Folder == "" {
		where.Folder = backend // the new Backend has another default
	}
	return where, nil
}

// printObject prints what applying it would create.
func printObject(out io.Writer, b *v1alpha1.Backend) error {
	content, err := yaml.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]any       `json:"metadata"`
		Spec            v1alpha1.BackendSpec `json:"spec"`
	}{b.TypeMeta, manifestMetadata(b), b.Spec})
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

func manifestMetadata(b *v1alpha1.Backend) map[string]any {
	m := map[string]any{"name": b.Name, "namespace": b.Namespace}
	if len(b.Annotations) > 0 {
		m["annotations"] = b.Annotations
	}
	return m
}

// createRestored creates the Backend. A cluster whose CRDs are older than restoreFrom would create
// one that begins empty, so it has to refuse what it does not know.
func createRestored(ctx context.Context, c client.Client, b *v1alpha1.Backend) error {
	err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(ctx, b)
	if err != nil && strings.Contains(err.Error(), `unknown field "spec.restoreFrom`) {
		return errors.New("the cluster's CRDs are older than restoreFrom: apply those of a newer version")
	}
	return err
}

// awaitRestored prints the reason and message of the condition Restored whenever they change,
// and returns when the restore has ended.
func awaitRestored(ctx context.Context, c client.Client, b *v1alpha1.Backend, next <-chan time.Time, out io.Writer) error {
	said := ""
	for {
		var now v1alpha1.Backend
		err := c.Get(ctx, client.ObjectKeyFromObject(b), &now)
		if apierrors.IsNotFound(err) {
			return err // it was deleted
		}
		restored := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.Restored)
		if line := describeRestored(restored, err); line != said {
			said = line
			if _, err := fmt.Fprintf(out, "backend.acclaim.dev/%s: %s\n", b.Name, line); err != nil {
				return err
			}
		}
		switch {
		case restored == nil:
		case restored.Status == metav1.ConditionTrue:
			return nil
		case restored.Reason == v1alpha1.ReasonNotEmpty, restored.Reason == v1alpha1.ReasonRestoreFailed:
			return errNotOK
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the restore goes on without this command: %w", ctx.Err())
		case <-next:
		}
	}
}

// describeRestored returns what is known of a restore, by its condition or the error of reading it.
func describeRestored(restored *metav1.Condition, err error) string {
	switch {
	case err != nil:
		return err.Error() + "; trying again"
	case restored == nil:
		return "created; no operator has reported on it yet"
	}
	return strings.TrimSpace(restored.Reason + " " + restored.Message)
}
