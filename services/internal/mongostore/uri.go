package mongostore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// A URI may hold secrets in its user information and in any of its options, and
// one that is malformed may hold them anywhere. So nothing that the driver says of
// a URI that it cannot use is passed on. What is wrong is found by trying its parts
// one by one, and said in words of ours.

// parse reads a URI.
func parse(uri string) (*connstring.ConnString, error) {
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, misread(uri)
	}
	return parsed, nil
}

// misread says what is wrong with a URI that cannot be read.
func misread(uri string) error {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found || scheme != connstring.SchemeMongoDB && scheme != connstring.SchemeMongoDBSRV {
		return errors.New("the URI does not begin with mongodb:// or mongodb+srv://")
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if !readable(rest[:at+1] + "localhost/") {
			return errors.New("the URI's user name or password cannot be read: characters like : / ? # [ ] @ % must be percent-encoded")
		}
		rest = rest[at+1:]
	}
	place, query, _ := strings.Cut(rest, "?")
	if !readable(place) {
		return errors.New("the URI's hosts or database cannot be read")
	}
	for i, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		if !readable("localhost/?" + pair) {
			name, _, _ := strings.Cut(pair, "=")
			return fmt.Errorf("the URI's option %d%s cannot be read", i+1, nameOf(name))
		}
	}
	if scheme == connstring.SchemeMongoDBSRV {
		return errors.New("the URI's host cannot be looked up, or its parts do not go together")
	}
	return errors.New("the URI's parts do not go together")
}

// readable reports whether the driver can read what follows the scheme of a URI.
// Whether its parts go together is another question.
func readable(rest string) bool {
	_, err := connstring.Parse(connstring.SchemeMongoDB + "://" + rest)
	return err == nil
}

// nameOf returns the name of an option for an error text if it is one that the
// driver knows.
func nameOf(name string) string {
	for _, r := range name {
		if r < 'A' || r > 'z' {
			return ""
		}
	}
	parsed, err := connstring.Parse(connstring.SchemeMongoDB + "://localhost/?" + name + "=x")
	if name == "" || err == nil && len(parsed.UnknownOptions) > 0 {
		return ""
	}
	return ", " + name + ","
}

// unusable says what is wrong with a URI that can be read but not used.
func unusable(err error) error {
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("a file that the URI's options name cannot be read: %w", failure.Err)
	}
	return errors.New("the URI's options do not go together, or a certificate, its key and its password do not")
}

// redacted stands for what is secret in a URI.
const redacted = "xxxxx"

// redact takes the secrets of a URI out of an error that servers or connections
// gave.
func redact(uri *connstring.ConnString, err error) error {
	text := err.Error()
	for _, secret := range secretsIn(uri) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func secretsIn(uri *connstring.ConnString) []string {
	secrets := []string{uri.Original, uri.Password}
	if uri.SSLClientCertificateKeyPassword != nil {
		secrets = append(secrets, uri.SSLClientCertificateKeyPassword())
	}
	for _, value := range uri.AuthMechanismProperties {
		secrets = append(secrets, value)
	}
	for _, values := range uri.UnknownOptions {
		secrets = append(secrets, values...)
	}
	for _, secret := range secrets {
		secrets = append(secrets, url.QueryEscape(secret), url.PathEscape(secret))
	}
	return secrets
}
