package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// withoutRoots tells the test below that it runs without certificates of the
// machine, which a process looks for once.
const withoutRoots = "ACCLAIM_TEST_WITHOUT_ROOTS"

// The program trusts public certificate authorities on a machine without
// certificates.
func TestRootsOfItsOwn(t *testing.T) {
	if os.Getenv(withoutRoots) == "" {
		binary, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		again := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$")
		nowhere := t.TempDir()
		again.Env = append(os.Environ(), withoutRoots+"=1", "SSL_CERT_FILE="+nowhere+"/none", "SSL_CERT_DIR="+nowhere)
		if output, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(x509.VerifyOptions{CurrentTime: certificate.NotBefore}); err != nil {
			t.Errorf("%s: %v", certificate.Subject, err)
		}
	}
}
