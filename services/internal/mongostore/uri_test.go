package mongostore

import (
	"context"
	"strings"
	"testing"
)

// Nothing that is secret in a URI is in an error, whatever is wrong.
func TestErrorsKeepSecrets(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody is waited for
	for name, uri := range map[string]string{
		"unreachable":  "mongodb://user:s3cr%40t-word@127.0.0.1:1/acclaim",
		"not a URI":    "mongodb://user:s3cr%40t-word@[127.0.0.1/acclaim",
		"bad option":   "mongodb://user:s3cr%40t-word@127.0.0.1/?w=s3cr%40t-word&maxPoolSize=s3cr%40t-word",
		"bad escaping": "mongodb://user:s3cr%zzt-word@127.0.0.1/",
		"key password": "mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=/nowhere.pem&tlsCertificateKeyFilePassword=s3cr%40t-word",
	} {
		s, err := Open(ctx, uri)
		if err == nil {
			mustClose(t, s)
			t.Errorf("%s: no error", name)
			continue
		}
		for _, secret := range []string{"s3cr%40t-word", "s3cr@t-word", "s3cr%zzt-word"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error says %q", name, err)
			}
		}
	}
}
