package backup_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// newRoleBucket starts an object storage that takes the credentials of a role only, and gives
// the process no credentials of its own.
func newRoleBucket(t *testing.T) (location string) {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	storage := gofakes3.New(objects).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=role-key/") || r.Header.Get("X-Amz-Security-Token") != "role-session" {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		storage.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL_S3",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL_STS", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	return "s3://" + bucketName + "/" + prefix
}

// startServer starts a server for a test and returns its address.
func startServer(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// newTokenFile returns a file with the token of a service account.
func newTokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-of-the-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// roleJSON are credentials as metadata services give them.
const roleJSON = `{"Code":"Success","AccessKeyId":"role-key","SecretAccessKey":"secret","Token":"role-session","Expiration":%q}`

// soon is a time at which credentials expire.
func soon() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

// A backup has the credentials of a role: of a service account by a web identity, of EKS Pod
// Identity, or of the machine.
func TestRoles(t *testing.T) {
	for name, test := range map[string]struct {
		handle    func(t *testing.T, w http.ResponseWriter, r *http.Request)
		configure func(t *testing.T, address string)
	}{
		"web identity": {
			func(t *testing.T, w http.ResponseWriter, r *http.Request) {
				want := url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {"arn:role"}, "WebIdentityToken": {"token-of-the-pod"}}
				for field := range want {
					if got := r.FormValue(field); got != want.Get(field) {
						t.Errorf("%s is %q, want %q", field, got, want.Get(field))
					}
				}
				_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
					<AccessKeyId>role-key</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>role-session</SessionToken><Expiration>%s</Expiration>
					</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, soon())
			},
			func(t *testing.T, address string) {
				t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", newTokenFile(t))
				t.Setenv("AWS_ROLE_ARN", "arn:role")
				t.Setenv("AWS_ENDPOINT_URL_STS", address)
			},
		},
		"pod identity": {
			func(t *testing.T, w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != "token-of-the-pod" {
					t.Errorf("the token is %q", got)
				}
				_, _ = fmt.Fprintf(w, roleJSON, soon())
			},
			func(t *testing.T, address string) {
				t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", newTokenFile(t))
				t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address+"/v1/credentials")
			},
		},
		"machine": {
			func(t *testing.T, w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/latest/api/token":
					_, _ = fmt.Fprint(w, "session")
				case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
					t.Error("a request has no token")
				case r.URL.Path == "/latest/meta-data/iam/security-credentials/":
					_, _ = fmt.Fprintln(w, "backups")
				case r.URL.Path == "/latest/meta-data/iam/security-credentials/backups":
					_, _ = fmt.Fprintf(w, roleJSON, soon())
				}
			},
			func(t *testing.T, address string) { t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			location := newRoleBucket(t)
			var asked atomic.Int64
			test.configure(t, startServer(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.handle(t, w, r)
			}))
			mustCreate(t, storeOf(t, "quiz"), location, begin)
			first := asked.Load()
			if names := mustList(t, location); !slices.Equal(names, []string{"20261123T031700Z"}) {
				t.Errorf("listed are %q", names)
			}
			if first == 0 || first > 3 {
				t.Errorf("a backup asks for credentials %d times", first)
			}
		})
	}
}

// Credentials of the environment go before those of a file, and these before those of a role.
func TestFirstSource(t *testing.T) {
	location := newRoleBucket(t)
	var used string
	t.Setenv("AWS_ENDPOINT_URL", startServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		used, _, _ = strings.Cut(after, "/")
		w.WriteHeader(http.StatusForbidden)
	}))
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = file-key\naws_secret_access_key = secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := func(key string) {
		t.Helper()
		if _, err := mustOpen(t, location).List(t.Context()); err == nil || used != key {
			t.Errorf("the storage received a request with %q, want %q: %v", used, key, err)
		}
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", startServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, roleJSON, soon()) }))
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://"+closedAddress(t)) // of the machine, which is not asked for the role of the pod
	want("role-key")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	want("file-key")
	t.Setenv("AWS_ACCESS_KEY_ID", "env-key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	want("env-key")
}

// Where no source has credentials, the error says what each has answered, and nothing is sent
// to the storage.
func TestNoCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		configure func(t *testing.T)
		want      string
	}{
		"no answer": {func(t *testing.T) { t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://"+closedAddress(t)) }, "connection refused"},
		"no token": {func(t *testing.T) {
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(t.TempDir(), "token"))
		}, "no such file"},
		"refused": {func(t *testing.T) {
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", newTokenFile(t))
			t.Setenv("AWS_ENDPOINT_URL_STS", startServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = fmt.Fprint(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>AccessDenied</Code><Message>Not authorized to perform sts:AssumeRoleWithWebIdentity</Message></Error></ErrorResponse>`)
			}))
		}, "Not authorized to perform"},
	} {
		t.Run(name, func(t *testing.T) {
			location := newRoleBucket(t)
			test.configure(t)
			_, err := mustOpen(t, location).List(t.Context())
			for _, want := range []string{location, "no credentials for the object storage", "the environment: none are set", "the credentials file: ", "the role of the pod or the machine: ", test.want} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, without %q", err, want)
				}
			}
		})
	}
}

// closedAddress returns an address without a listener.
func closedAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
