package main

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestVersion(t *testing.T) {
	g := NewWithT(t)
	command, output := newCommand(time.Minute), &bytes.Buffer{}
	command.SetArgs([]string{"version"})
	command.SetOut(output)
	g.Expect(command.ExecuteContext(t.Context())).To(Succeed())
	g.Expect(output.String()).To(MatchRegexp(`^operator \S+ \(commit \S+, go1\S*( \S+)*\)\n$`))
}
