package mongostore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Nothing that is secret in a URI is in an error, whatever is wrong with it, and
// the error says what that is.
func TestErrorsKeepSecrets(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no server is waited for
	for _, secret := range []string{"hunter2", "s3cr@t", "s3cr/t", "s3:cr?t", "s3cr%zzt", "a b+c&d=e", "pass[word]#1", "ünïcödé", "1234567", "true"} {
		escaped := url.QueryEscape(secret)
		for uri, want := range map[string]string{
			"mongodb://u:" + escaped + "@127.0.0.1:1/acclaim":                           "",
			"mongodb://u:" + escaped + "@127.0.0.1:1/?connectTimeoutMS=x":               "option 1, connectTimeoutMS,",
			"mongodb://u:" + escaped + "@127.0.0.1:1/?w=1&maxPoolSize=" + escaped + "x": "option 2, maxPoolSize,",
			"mongodb://u:" + escaped + "@[127.0.0.1/acclaim":                            "",
			"mongodb://u:" + escaped + "@":                                              "hosts",
			"mongodb://u:" + escaped + "@/db":                                           "",
			"mongodb://u:" + escaped + "@a:1,b:2/?directConnection=true":                "do not go together",
			"mongodb://u:" + escaped + "@a:0x1/":                                        "hosts",
			"mongodb://" + escaped + ":" + escaped + ":" + escaped + "@127.0.0.1:1/":    "user name or password",
			"mongodb://u:" + secret + "@127.0.0.1:1/":                                   "",
			"mongodb://u:" + secret + "@@127.0.0.1:1/?tls=maybe":                        "user name or password",
			"mongodb://u:" + secret + "@127.0.0.1:port/":                                "",
			"mongodb://u:" + secret + "x":                                               "",
			"mongodb://u:%zz" + escaped + "@127.0.0.1:1/":                               "user name or password",
			"mongodb+srv://u:" + secret + "@..":                                         "",
			"mongodb+srv://u:" + escaped + "@..":                                        "looked up",
			"mongodb+srv://u:" + escaped + "@a.b:1/":                                    "",
			"mongo://u:" + secret + "@127.0.0.1:1/":                                     "begin with",
			"u:" + secret + "@127.0.0.1:1/":                                             "begin with",
			secret:                                                                      "begin with",
			"mongodb://127.0.0.1:1/?" + secret:                                          "",
			"mongodb://127.0.0.1:1/?" + escaped + "=%zz":                                "option 1 cannot",
			"mongodb://127.0.0.1:1/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:" + escaped + ",BAD": "option 2, authMechanismProperties,",
			"mongodb://u:p@127.0.0.1:1/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:" + escaped:      "",
			"mongodb://127.0.0.1:1/?authMechanism=" + escaped + "x":                                                          "",
			"mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=/nowhere.pem&tlsCertificateKeyFilePassword=" + escaped:    "no such file",
			"mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=uri_test.go&tlsCertificateKeyFilePassword=" + escaped:     "certificate",
			"mongodb://127.0.0.1:1/?tls=x&tlsCertificateKeyFilePassword=" + escaped:                                          "option 1, tls,",
			"mongodb://127.0.0.1:1/?proxyHost=h&proxyPassword=" + escaped + "&zlibCompressionLevel=x":                        "zlibCompressionLevel",
			"mongodb://127.0.0.1:1/?w=" + escaped + "&journal=" + escaped + "&readPreference=" + escaped:                     "",
			"mongodb://127.0.0.1:1/?readPreferenceTags=" + escaped:                                                           "",
			"mongodb://127.0.0.1:1/?compressors=" + escaped + "&appName=" + strings.Repeat(escaped, 40):                      "",
		} {
			s, err := Open(ctx, uri)
			if err == nil {
				mustClose(t, s)
				t.Errorf("%s: no error", uri)
				continue
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error says %q, not %q", uri, err, want)
			}
			for _, form := range []string{secret, escaped, url.PathEscape(secret)} {
				if strings.Contains(err.Error(), form) {
					t.Errorf("%s: the error says %q", uri, err)
				}
			}
		}
	}
}

// An error of Open tells a server that does not answer, which is worth another try,
// from a URI that is wrong.
func TestOpenSaysWhetherToTryAgain(t *testing.T) {
	for uri, want := range map[string]fault.Kind{
		"mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1": fault.Unavailable,
		"mongodb://127.0.0.1:1/?connectTimeoutMS=x":         fault.Internal,
	} {
		s, err := Open(t.Context(), uri)
		if err == nil {
			mustClose(t, s)
		}
		if got := fault.KindOf(err); got != want {
			t.Errorf("%s: %v is of kind %d, want %d", uri, err, got, want)
		}
	}
}

// Only wrong credentials are an error that trying again does not change. A server that
// has lost its primary, starts, or cannot reach a majority says so in many ways.
func TestOnlyDeniedAccessIsPermanent(t *testing.T) {
	concern := mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 189}}
	for name, test := range map[string]struct {
		err    error
		denied bool
	}{
		"wrong password":             {mongo.CommandError{Code: 18, Name: "AuthenticationFailed"}, true},
		"no role":                    {mongo.CommandError{Code: 13, Name: "Unauthorized"}, true},
		"wrong password of Atlas":    {mongo.CommandError{Code: 8000, Message: "bad auth : authentication failed"}, true},
		"no role in Atlas":           {mongo.CommandError{Code: 8000, Message: "user is not allowed to do action [find]"}, true},
		"Atlas":                      {mongo.CommandError{Code: 8000, Message: "the cluster is paused"}, false},
		"not primary":                {mongo.CommandError{Code: 10107}, false},
		"not primary any more":       {concern, false},
		"not primary, not secondary": {mongo.CommandError{Code: 13436}, false},
		"shutting down":              {mongo.CommandError{Code: 91}, false},
		"interrupted":                {mongo.CommandError{Code: 11602}, false},
		"write concern":              {mongo.CommandError{Code: 64}, false},
		"a secondary":                {mongo.CommandError{Code: 13435}, false},
		"out of time":                {mongo.CommandError{Code: 50}, false},
		"no answer":                  {mongo.CommandError{Labels: []string{"NetworkError"}}, false},
		"no server":                  {topology.ServerSelectionError{Wrapped: errors.New("timeout")}, false},
	} {
		wrapped := fmt.Errorf("index of chunks: %w", test.err)
		want := map[bool]fault.Kind{true: fault.Internal, false: fault.Unavailable}[test.denied]
		if kind := fault.KindOf(openError(wrapped, wrapped)); kind != want {
			t.Errorf("%s: an error of Open has kind %d, want %d", name, kind, want)
		}
		want = map[bool]fault.Kind{true: fault.Storage, false: fault.Unavailable}[test.denied]
		if kind := fault.KindOf(unavailableError(wrapped)); kind != want {
			t.Errorf("%s: an error of a read has kind %d, want %d", name, kind, want)
		}
	}
}

// Errors of a server or a connection are shown without secrets.
func TestRedact(t *testing.T) {
	parsed, err := parseURI("mongodb://u:s3cr%40t@h/?tls=true&tlsCertificateKeyFilePassword=k3y%26&proxyPassword=pr0xy&authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:t0ken%2F")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cr@t", "s3cr%40t", "k3y&", "k3y%26", "pr0xy", "t0ken/", "t0ken%2F"} {
		got := redactSecrets(parsed, errors.New("the server at h says "+secret+" is wrong")).Error()
		if got != "the server at h says xxxxx is wrong" {
			t.Errorf("%s: %s", secret, got)
		}
	}
	if plain := errors.New("refused"); !errors.Is(redactSecrets(parsed, plain), plain) {
		t.Error("an error without secrets is not itself any more")
	}
}
