package e2e_test

import (
	"archive/zip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// plugged returns what `kubectl acclaim` prints about the namespace, and its exit code.
func (w *world) plugged(ctx context.Context, arguments ...string) (output string, code int) {
	command := exec.CommandContext(ctx, "kubectl", append([]string{"acclaim", "--namespace", w.namespace}, arguments...)...)
	command.Env = append(os.Environ(), "PATH="+os.Getenv("ACCLAIM_E2E_PLUGINS")+string(os.PathListSeparator)+os.Getenv("PATH"))
	text, err := command.CombinedOutput()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return string(text), failed.ExitCode()
	}
	Expect(err).NotTo(HaveOccurred())
	return string(text), 0
}

// plugin specs use the plugin of kubectl.
func plugin(w *world) {
	It("tells by kubectl acclaim what is wrong, first", func(ctx SpecContext) {
		Eventually(ctx, func() (string, error) {
			tree, code := w.plugged(ctx, "status")
			if code != 0 {
				return tree, errors.New(tree)
			}
			return tree, nil
		}).Should(And(ContainSubstring("OK Backend "+w.namespace+"/default"), MatchRegexp("OK Operator %s/acclaim .*leads, seen", w.namespace)))
		lost := poll(w.named("lost"))
		lost.Spec.ExtensionRef.Name = "nobody"
		Expect(w.Create(ctx, lost)).To(Succeed())
		Eventually(ctx, func() string {
			tree, code := w.plugged(ctx, "status", "default")
			Expect(code).To(Equal(1))
			return tree
		}).Should(ContainSubstring("ExtensionNotFound"))
		tree, _ := w.plugged(ctx, "status", "default")
		lines := strings.Split(tree, "\n")
		Expect(lines[2]).To(HavePrefix("├─ Waiting Poll "+w.namespace+"/lost"), tree)
		Expect(lines[3]).To(MatchRegexp(`^│ +ExtensionNotFound: .*nobody`), tree)
		Expect(w.Delete(ctx, lost)).To(Succeed())
		w.gone(ctx, lost)
	}, SpecTimeout(3*time.Minute))

	It("votes and watches by kubectl acclaim until the poll ends", func(ctx SpecContext) {
		p := poll(w.named("plugged"))
		Expect(w.Create(ctx, p)).To(Succeed())
		w.pollReady(ctx, p.Name)
		for _, test := range []struct {
			option, output string
			code           int
		}{{"green", "2 of 2 votes accepted; the poll has 2\n", 0}, {"31", "0 of 2 votes accepted; the poll has 2\n", 1}} {
			output, code := w.plugged(ctx, "vote", p.Name, "--option", test.option, "--voters", "2")
			Expect(output).To(HavePrefix(test.output))
			Expect(code).To(Equal(test.code))
		}
		edit(ctx, w, p, func(p *v1alpha1.Poll) { p.Spec.EndsAt = new(metav1.NewTime(time.Now().Add(10 * time.Second))) })
		output, code := w.plugged(ctx, "poll", "watch", p.Name)
		Expect(code).To(BeZero())
		Expect(output).To(And(HavePrefix("Which colour?  active  votes: 2\n"), MatchRegexp(`(?s)Which colour\?  expired  votes: 2\n.*green +2  100\.0%`)))
		Expect(w.Delete(ctx, p)).To(Succeed())
		w.gone(ctx, p)
	}, SpecTimeout(3*time.Minute))

	It("collects a report by kubectl acclaim, without secrets", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "report.zip")
		output, code := w.plugged(ctx, "report", "--verify", "--output", file)
		Expect(code).To(BeZero(), output)
		archive, err := zip.OpenReader(file)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = archive.Close() }()
		files := map[string]string{}
		for _, f := range archive.File {
			content, err := f.Open()
			Expect(err).NotTo(HaveOccurred())
			text, err := io.ReadAll(content)
			Expect(err).NotTo(HaveOccurred())
			files[f.Name] = string(text)
			for _, key := range []string{firstKey, sandboxKey} {
				Expect(files[f.Name]).NotTo(Or(ContainSubstring(key), ContainSubstring(base64.StdEncoding.EncodeToString([]byte(key)))), f.Name)
			}
		}
		Expect(files["verify/"+w.namespace+"/default.json"]).To(ContainSubstring(`"problems":`))
		Expect(files["notes.txt"]).NotTo(ContainSubstring("verify"))
		Expect(files["objects/"+w.namespace+"/Backend/default.yaml"]).To(ContainSubstring("environment: production"))
		Expect(files["secrets.txt"]).To(ContainSubstring("/quiz: Opaque\n  first: "))
		logs := 0
		for name, text := range files {
			if strings.HasPrefix(name, "logs/"+w.namespace+"/default-voting") && text != "" {
				logs++
			}
		}
		Expect(logs).To(BeNumerically(">=", 1))
	}, SpecTimeout(2*time.Minute))
}
