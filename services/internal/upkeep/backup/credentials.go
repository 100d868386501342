package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// roleTimeout limits how long a source of credentials may take to answer.
const roleTimeout = 10 * time.Second

// errNoCredentials is the error of a source that is not configured.
var errNoCredentials = errors.New("none are set")

// credentialChain takes the credentials of the first of its sources that has any. Where none
// has, it says why. The chain of the library sends requests without credentials then, which
// the storage refuses without a reason.
type credentialChain struct {
	sources []credentialSource
	current credentials.Provider // nil before the first success
}

// credentialSource is a source of credentials and its name in messages.
type credentialSource struct {
	name string
	credentials.Provider
}

// newCredentials returns the credentials that the variables of the tools of AWS describe.
func newCredentials() *credentials.Credentials {
	return credentials.New(&credentialChain{sources: []credentialSource{
		{"the environment", &credentials.EnvAWS{}},
		{"the credentials file", &credentials.FileAWSCredentials{}},
		{"the role of the pod or the machine", &credentials.IAM{Endpoint: roleEndpoint()}},
	}})
}

// roleEndpoint returns the address that gives the credentials of a role, empty for the default
// of the way by which the role is given.
func roleEndpoint() string {
	isSet := func(name string) bool { return os.Getenv(name) != "" }
	switch {
	case isSet("AWS_WEB_IDENTITY_TOKEN_FILE"):
		return os.Getenv("AWS_ENDPOINT_URL_STS")
	case isSet("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), isSet("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
		return ""
	}
	return os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")
}

// RetrieveWithCredContext implements [credentials.Provider].
func (c *credentialChain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	failure := errors.New("no credentials for the object storage")
	for _, s := range c.sources {
		value, err := s.retrieve(cc)
		if err == nil {
			c.current = s
			return value, nil
		}
		failure = fmt.Errorf("%w; %s: %w", failure, s.name, err)
	}
	return credentials.Value{}, failure
}

// retrieve asks a source, for 10 seconds at most.
func (s credentialSource) retrieve(cc *credentials.CredContext) (credentials.Value, error) {
	limited := credentials.CredContext{Context: context.Background()}
	if cc != nil {
		limited.Client, limited.Endpoint = cc.Client, cc.Endpoint
		if cc.Context != nil {
			limited.Context = cc.Context
		}
	}
	var cancel context.CancelFunc
	limited.Context, cancel = context.WithTimeout(limited.Context, roleTimeout)
	defer cancel()
	value, err := s.RetrieveWithCredContext(&limited)
	if err == nil && (value.AccessKeyID == "" || value.SecretAccessKey == "") {
		err = errNoCredentials
	}
	return value, err
}

// Retrieve implements [credentials.Provider].
func (c *credentialChain) Retrieve() (credentials.Value, error) {
	return c.RetrieveWithCredContext(nil)
}

// IsExpired implements [credentials.Provider].
func (c *credentialChain) IsExpired() bool { return c.current == nil || c.current.IsExpired() }
