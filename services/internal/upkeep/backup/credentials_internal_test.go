package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// silent is a source that never answers.
type silent struct{ credentials.Provider }

func (silent) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	<-cc.Context.Done()
	return credentials.Value{}, context.Cause(cc.Context)
}

// brief is a source whose credentials expire at once.
type brief struct {
	credentials.Provider
	value credentials.Value
	asked int
}

func (b *brief) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	b.asked++
	return b.value, nil
}

func (*brief) IsExpired() bool { return true }

// Credentials that have expired are asked for again.
func TestExpiredCredentials(t *testing.T) {
	source := &brief{value: credentials.Value{AccessKeyID: "id", SecretAccessKey: "secret"}}
	c := credentials.New(&credentialChain{sources: []credentialSource{{"a", source}}})
	for n := 1; n <= 2; n++ {
		if _, err := c.GetWithContext(nil); err != nil || source.asked != n {
			t.Errorf("request %d: the source was asked %d times, %v", n, source.asked, err)
		}
	}
}

// A source without a secret has no credentials.
func TestKeyWithoutSecret(t *testing.T) {
	half := &brief{value: credentials.Value{AccessKeyID: "id"}}
	_, err := (&credentialChain{sources: []credentialSource{{"a", half}}}).Retrieve()
	if !errors.Is(err, errNoCredentials) {
		t.Errorf("the error is %v", err)
	}
}

// A source that never answers is given up after 10 seconds, and the next one asked; all of them
// are when the command ends.
func TestSilentSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := &credentials.Static{Value: credentials.Value{AccessKeyID: "id", SecretAccessKey: "secret"}}
		chain := &credentialChain{sources: []credentialSource{{"a", silent{}}, {"b", known}}}
		began := time.Now()
		if value, err := chain.Retrieve(); err != nil || value.AccessKeyID != "id" || chain.IsExpired() {
			t.Errorf("credentials are %+v, %v", value, err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&credentialChain{sources: chain.sources[:1]}).RetrieveWithCredContext(&credentials.CredContext{Context: ctx})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "; a: ") {
			t.Errorf("after the end of the command: %v", err)
		}
	})
}
