package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/operator/internal/podlink"
	"github.com/acclaim-dev/acclaim/operator/internal/supportreport"
)

func newReport(s *session) *cobra.Command {
	var all, verify bool
	var file string
	command := &cobra.Command{
		Use:   "report",
		Short: "Collect objects, Events, logs and versions into an archive, without secrets",
		Long: `Report writes a ZIP archive for a report of a defect: the state as "status" shows it, the
objects of Acclaim and of its Backends and operators, the Events about them, the last lines
of the logs of their pods, and versions.

Of Secrets it has names, and the names and sizes of their entries. The values of those that
you may read are looked for in everything else, and left out, as are values of annotations
and of environment variables, credentials in addresses, and tokens. Read the archive before
you give it away: logs and questions may hold what only you know to be confidential.

With --verify a program in a pod of each Backend checks the whole store, in the memory of
that pod, beside the service: leave it to the CronJob "verify" where the store is large.`,
		Example: `  kubectl acclaim report --namespace acclaim`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			connection, err := s.connect()
			if err != nil {
				return err
			}
			now := time.Now()
			source := connection.source(now, verify)
			namespace := connection.namespace
			if all {
				namespace = ""
			}
			if file == "" {
				file = "acclaim-report-" + now.UTC().Format("20060102-150405") + ".zip"
			}
			notes, err := writeReport(c.Context(), source, file, namespace)
			for _, note := range notes {
				_, _ = fmt.Fprintln(c.ErrOrStderr(), "missing:", note)
			}
			if err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), file)
			}
			return err
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	command.Flags().BoolVar(&verify, "verify", false, "verify the store of each Backend in one of its pods")
	command.Flags().StringVarP(&file, "output", "o", "", "file to write, which must not exist (default acclaim-report-TIME.zip)")
	return command
}

// source returns the cluster as a report reads it.
func (c *cluster) source(now time.Time, verify bool) supportreport.Source {
	versions := fmt.Sprintf("kubectl-acclaim %s (%s)\n", describeVersion(), runtime.Version())
	if server, err := c.clientset.Discovery().ServerVersion(); err == nil {
		versions += fmt.Sprintf("Kubernetes %s (%s)\n", server.GitVersion, server.Platform)
	}
	s := supportreport.Source{Client: c, Now: now, Versions: versions,
		Logs: func(ctx context.Context, p *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			return c.clientset.CoreV1().Pods(p.Namespace).GetLogs(p.Name, options).Stream(ctx)
		},
	}
	if verify {
		s.Exec = podlink.Link{Config: c.config, Clientset: c.clientset}.Exec
	}
	return s
}

// writeReport writes a report into a new file, which its user alone can read.
func writeReport(ctx context.Context, source supportreport.Source, name, namespace string) (notes []string, err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	notes, err = source.Write(ctx, file, namespace)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return notes, err
}
