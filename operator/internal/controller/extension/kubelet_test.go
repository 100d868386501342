package extension_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// pod is a service that runs as in a pod: it reads its registry from a
// mounted Secret, which the kubelet brings up to date in its own time.
type pod struct {
	base string // address of the service
	log  *gbytes.Buffer

	mu      sync.Mutex
	folder  string
	version int
	held    bool
	waiting []byte // what a held pod is to get
}

// startPod mounts a Backend's registry and starts a service that reads it: the
// program with the given command.
func (w *world) startPod(ctx context.Context, backend string, command ...string) *pod {
	GinkgoHelper()
	p := &pod{folder: GinkgoT().TempDir(), log: gbytes.NewBuffer()}
	secret := &corev1.Secret{ObjectMeta: w.named(desired.RegistrySecret(backend))}
	Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(secret), secret) }).Should(Succeed())
	p.mount(secret.Data[desired.RegistryKey])
	path := filepath.Join(p.folder, desired.RegistryKey)
	Expect(os.Symlink(filepath.Join("..data", desired.RegistryKey), path)).To(Succeed())

	out := gbytes.NewBuffer()
	session, err := gexec.Start(exec.CommandContext(context.WithoutCancel(ctx), program, append(command, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--data-dir", filepath.Join(GinkgoT().TempDir(), "data"), "--extensions", path)...), out, p.log)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	Eventually(out).Should(gbytes.Say("ready base=.*\n"))
	line, err := bufio.NewReader(strings.NewReader(string(out.Contents()))).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	p.base, _, _ = strings.Cut(strings.TrimPrefix(line, "ready base="), " ")

	running, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		p.follow(running, secret)
	}()
	DeferCleanup(func() { stop(); <-done })
	return p
}

// follow mounts what the API server holds, whenever it changes.
func (p *pod) follow(ctx context.Context, secret *corev1.Secret) {
	watch, err := api.Watch(ctx, &corev1.SecretList{}, client.InNamespace(secret.Namespace), client.MatchingFields{"metadata.name": secret.Name})
	Expect(err).NotTo(HaveOccurred())
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-watch.ResultChan():
			if !ok {
				return
			}
			if s, ok := event.Object.(*corev1.Secret); ok {
				p.bring(s.Data[desired.RegistryKey])
			}
		}
	}
}

// bring mounts a registry, unless the pod is held.
func (p *pod) bring(file []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		p.waiting = file
		return
	}
	p.mount(file)
}

// hold keeps registries from the pod until it is released, as a slow kubelet does.
func (p *pod) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// isBehind reports whether there is something that a held pod is to get.
func (p *pod) isBehind() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting != nil
}

func (p *pod) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	if p.waiting != nil {
		p.mount(p.waiting)
		p.waiting = nil
	}
}

// mount puts a registry in place as the kubelet does: a new folder, and one link
// that is switched over to it.
func (p *pod) mount(file []byte) {
	GinkgoHelper()
	p.version++
	version := "..v" + strconv.Itoa(p.version)
	Expect(os.Mkdir(filepath.Join(p.folder, version), 0o700)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(p.folder, version, desired.RegistryKey), file, 0o600)).To(Succeed())
	Expect(os.Symlink(version, filepath.Join(p.folder, "..data_tmp"))).To(Succeed())
	Expect(os.Rename(filepath.Join(p.folder, "..data_tmp"), filepath.Join(p.folder, "..data"))).To(Succeed())
}

// spread makes a change of the registry that reaches the first pod at once and
// the others when that one has put it in force.
func spread(by func(), first *pod, others ...*pod) {
	GinkgoHelper()
	for _, p := range others {
		p.hold()
	}
	by()
	first.reloaded()
	for _, p := range others {
		Eventually(p.isBehind).Should(BeTrue())
		p.release()
		p.reloaded()
	}
}

// reloaded waits until the service has put another registry in force.
func (p *pod) reloaded() {
	GinkgoHelper()
	Eventually(p.log).Should(gbytes.Say("extension registry reloaded"))
}
