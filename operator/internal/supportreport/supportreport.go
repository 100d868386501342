// Package supportreport collects the things that a report of a defect needs into an
// archive: objects, Events, logs, versions and, if asked for, a verification of the stores.
//
// No secret enters it. Of Secrets it has names, and the names and sizes of their entries; it
// searches everything else for the values of those that the user may read, and for what
// looks like a credential.
package supportreport

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/overview"
)

// The limits of the log of a container, its last lines.
const (
	mostLogLines = 2000
	mostLogBytes = 1 << 20
)

// Source is a cluster.
type Source struct {
	Client client.Reader
	// Logs opens the log of a container.
	Logs func(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error)
	// Exec runs a command in a container; nil verifies nothing.
	Exec func(ctx context.Context, pod *corev1.Pod, container string, command ...string) (string, error)
	// Versions describe the cluster and the program that collects.
	Versions string
	Now      time.Time
}

// collection is a report that is being written.
type collection struct {
	Source
	objects  []unstructured.Unstructured
	redactor *redactor
	archive  *zip.Writer
	notes    []string
}

// Write writes a report about a namespace, "" for all, as a ZIP archive. It returns notes on
// what is missing, which the archive has as well.
func (s Source) Write(ctx context.Context, w io.Writer, namespace string) (notes []string, err error) {
	c := &collection{Source: s, archive: zip.NewWriter(w)}
	if err := c.collect(ctx, namespace); err != nil {
		return nil, err
	}
	secrets, values := c.readSecrets(ctx)
	c.redactor = newRedactor(values)
	for _, write := range []func() error{
		func() error { return c.add("versions.txt", s.Versions) },
		func() error { return c.add("secrets.txt", secrets) },
		func() error { return c.addStatus(ctx, namespace) },
		func() error { return c.addEvents(ctx) },
		func() error { return c.addLogs(ctx) },
		func() error { return c.addVerifications(ctx) },
		c.addObjects, // the last to read them: it redacts them in place
		func() error { return c.add("notes.txt", strings.Join(c.notes, "\n")+"\n") },
		c.archive.Close,
	} {
		if err := write(); err != nil {
			return c.notes, err
		}
	}
	return c.notes, nil
}

func (c *collection) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if c.redactor != nil {
		text = c.redactor.text(text)
	}
	c.notes = append(c.notes, text)
}

// add adds a file. It is the only place that writes into the archive.
func (c *collection) add(name, content string) error {
	file, err := c.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: c.Now})
	if err == nil {
		_, err = io.WriteString(file, c.redactor.text(content))
	}
	return err
}

func (c *collection) addStatus(ctx context.Context, namespace string) error {
	o, err := overview.Reader{Client: c.Client, Now: c.Now}.Read(ctx, namespace, "")
	if err != nil {
		c.note("status: %v", err)
		return nil
	}
	var tree strings.Builder
	if err := o.Print(&tree); err != nil {
		return err
	}
	return c.add("status.txt", tree.String())
}

func (c *collection) addObjects() error {
	for _, o := range c.objects {
		c.redactor.object(o.Object)
		content, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		if err := c.add(fmt.Sprintf("objects/%s/%s/%s.yaml", o.GetNamespace(), o.GetKind(), o.GetName()), string(content)); err != nil {
			return err
		}
	}
	return nil
}

// addEvents adds the Events about the objects.
func (c *collection) addEvents(ctx context.Context) error {
	type name struct{ namespace, kind, name string }
	known, namespaces := map[name]bool{}, map[string]bool{}
	for _, o := range c.objects {
		known[name{o.GetNamespace(), o.GetKind(), o.GetName()}] = true
		namespaces[o.GetNamespace()] = true
	}
	for namespace := range namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "EventList"})
		if err := c.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			c.note("%v", err)
			continue
		}
		var text strings.Builder
		err := meta.EachListItem(list, func(o runtime.Object) error {
			e := o.(*unstructured.Unstructured)
			kind, _, _ := unstructured.NestedString(e.Object, "regarding", "kind")
			about, _, _ := unstructured.NestedString(e.Object, "regarding", "name")
			if !known[name{namespace, kind, about}] {
				return nil
			}
			c.redactor.object(e.Object)
			content, err := yaml.Marshal(e.Object)
			text.WriteString("---\n" + string(content))
			return err
		})
		if err == nil {
			err = c.add("events/"+namespace+".yaml", text.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pods returns the pods among the objects.
func (c *collection) pods() (pods []*corev1.Pod) {
	for _, o := range c.objects {
		var p corev1.Pod
		if o.GetKind() == "Pod" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p) == nil {
			pods = append(pods, &p)
		}
	}
	return pods
}

// addLogs adds the last lines of the containers and, of one that ended, those before.
func (c *collection) addLogs(ctx context.Context) error {
	for _, p := range c.pods() {
		for _, status := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			runs := map[string]bool{".log": false}
			if status.RestartCount > 0 {
				runs[".previous.log"] = true
			}
			for suffix, previous := range runs {
				text, err := c.readLog(ctx, p, status.Name, previous)
				if err != nil {
					c.note("log of %s/%s, %s: %v", p.Namespace, p.Name, status.Name, err)
					continue
				}
				if err := c.add(fmt.Sprintf("logs/%s/%s/%s%s", p.Namespace, p.Name, status.Name, suffix), text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *collection) readLog(ctx context.Context, p *corev1.Pod, container string, previous bool) (string, error) {
	lines, bytes := int64(mostLogLines), int64(mostLogBytes)
	stream, err := c.Logs(ctx, p, &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines, LimitBytes: &bytes})
	if err != nil {
		return "", err
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	return string(text), err
}

// addVerifications verifies the store of each Backend in one of its pods.
func (c *collection) addVerifications(ctx context.Context) error {
	if c.Exec == nil {
		c.note("verify: not asked for; --verify does it")
		return nil
	}
	done := map[string]bool{}
	for _, p := range c.pods() {
		backend, service := p.Labels[desired.BackendLabel], p.Labels[desired.ServiceLabel]
		name := p.Namespace + "/" + backend
		if service != desired.Voting || done[name] || p.Status.Phase != corev1.PodRunning {
			continue
		}
		done[name] = true
		output, err := c.Exec(ctx, p, service, "/acclaim", "verify", "--json")
		if err != nil {
			c.note("verify %s: %v", name, err)
		}
		if err := c.add("verify/"+name+".json", output); err != nil {
			return err
		}
	}
	for _, o := range c.objects {
		if name := o.GetNamespace() + "/" + o.GetName(); o.GetKind() == "Backend" && !done[name] {
			c.note("verify %s: no pod of its voting service runs", name)
		}
	}
	return nil
}
