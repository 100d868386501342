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
