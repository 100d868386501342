package mongostore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// A URI may hold secrets in its user information and in any of its options, and one
// that is malformed may hold them anywhere. So no error of the driver about a URI
// that it cannot use is returned. The code tries the parts of the URI one by one
// and reports the faulty one in its own words.

// parseURI reads a URI.
func parseURI(uri string) (*connstring.ConnString, error) {
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, parseError(uri)
	}
	return parsed, nil
}

// parseError returns why a URI cannot be parsed.
func parseError(uri string) error {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found || scheme != connstring.SchemeMongoDB && scheme != connstring.SchemeMongoDBSRV {
		return errors.New("the URI does not begin with mongodb:// or mongodb+srv://")
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if !isReadable(rest[:at+1] + "localhost/") {
			return errors.New("the URI's user name or password cannot be read: characters like : / ? # [ ] @ % must be percent-encoded")
		}
		rest = rest[at+1:]
	}
	place, query, _ := strings.Cut(rest, "?")
	if !isReadable(place) {
		return errors.New("the URI's hosts or database cannot be read")
	}
	for i, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		if !isReadable("localhost/?" + pair) {
			name, _, _ := strings.Cut(pair, "=")
			return fmt.Errorf("the URI's option %d%s cannot be read", i+1, knownOption(name))
		}
	}
	if scheme == connstring.SchemeMongoDBSRV {
		return errors.New("the URI's host cannot be looked up, or its parts do not go together")
	}
	return errors.New("the URI's parts do not go together")
}

// isReadable reports whether the driver can parse the part of a URI after its
// scheme. It does not check that the parts fit together.
func isReadable(rest string) bool {
	_, err := connstring.Parse(connstring.SchemeMongoDB + "://" + rest)
	return err == nil
}

// knownOption returns the name of an option for an error text if the driver knows
// it.
func knownOption(name string) string {
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

// connectError returns why a URI that can be parsed cannot be used.
func connectError(err error) error {
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("a file that the URI's options name cannot be read: %w", failure.Err)
	}
	return errors.New("the URI's options do not go together, or a certificate, its key and its password do not")
}

// redacted replaces the secrets of a URI.
const redacted = "xxxxx"

// redactSecrets removes the secrets of a URI from an error of a server or a
// connection.
func redactSecrets(uri *connstring.ConnString, err error) error {
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
