package supportreport

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redacted stands for what is left out.
const redacted = "(redacted)"

// shortestNeedle is the length in bytes from which on the value of a Secret is searched for.
// Shorter ones are in too many words.
const shortestNeedle = 6

// redactor removes secrets from objects and texts: those that it knows, and texts that look
// like one.
type redactor struct {
	known    *strings.Replacer
	patterns []pattern
}

type pattern struct {
	expression  *regexp.Regexp
	replacement string
}

// newRedactor returns a redactor that knows the values of Secrets.
func newRedactor(values [][]byte) *redactor {
	var needles []string
	for _, value := range values {
		needles = append(needles, forms(string(value))...)
	}
	slices.SortFunc(needles, func(a, b string) int { return len(b) - len(a) }) // the longest that matches wins
	var pairs []string
	for _, needle := range slices.Compact(needles) {
		if len(needle) >= shortestNeedle {
			pairs = append(pairs, needle, redacted)
		}
	}
	return &redactor{known: strings.NewReplacer(pairs...), patterns: []pattern{
		{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"'/]*@`), "${1}" + redacted + "@"},
		{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]*`), redacted}, // a token
		{regexp.MustCompile(`(?i)(authorization"?:\s*"?)[^"\n]+`), "${1}" + redacted},
		{regexp.MustCompile(`(?i)((?:passw(?:or)?d|secret|token|credential|api[_-]?key|access[_-]?key)["']?(?:=|":\s*"))[^\s"',&;]+`), "${1}" + redacted},
	}}
}

// forms returns the forms in which the value of a Secret may occur: as it is, each of its
// lines, encoded and decoded and, of a URI, its password.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	all := append([]string{value}, strings.Split(value, "\n")...)
	all = append(all, base64.StdEncoding.EncodeToString([]byte(value)), url.QueryEscape(value))
	if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
		all = append(all, string(decoded))
	}
	if uri, err := url.Parse(value); err == nil && uri.User != nil {
		if password, ok := uri.User.Password(); ok {
			all = append(all, password, url.QueryEscape(password), url.PathEscape(password))
		}
	}
	return all
}

// text returns a text without secrets.
func (r *redactor) text(s string) string {
	s = r.known.Replace(s)
	for _, p := range r.patterns {
		s = p.expression.ReplaceAllString(s, p.replacement)
	}
	return s
}

// object removes secrets from an object, in place: the values of annotations but those of
// Acclaim and Kubernetes, of environment variables, and the paths of URLs.
func (r *redactor) object(o map[string]any) {
	if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	r.members(o)
}

func (r *redactor) members(o map[string]any) {
	for name, value := range o {
		switch {
		case isAnnotations(name):
			redactAnnotations(value)
		case name == "env":
			redactEnv(value)
		case name == "url":
			o[name] = redactURL(value)
		}
		o[name] = r.value(o[name])
	}
}

// value returns a value without secrets.
func (r *redactor) value(value any) any {
	switch v := value.(type) {
	case string:
		return r.text(v)
	case map[string]any:
		r.members(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	}
	return value
}

func isAnnotations(name string) bool {
	return name == "annotations" || strings.HasSuffix(name, "Annotations")
}

func redactAnnotations(value any) {
	annotations, _ := value.(map[string]any)
	for name, text := range annotations {
		switch {
		case strings.HasSuffix(name, "/last-applied-configuration"):
			delete(annotations, name)
		case !strings.HasPrefix(name, "acclaim.dev/") && !strings.HasPrefix(name, "deployment.kubernetes.io/"):
			annotations[name] = describeSize(text)
		}
	}
}

func redactEnv(value any) {
	variables, _ := value.([]any)
	for _, v := range variables {
		if variable, ok := v.(map[string]any); ok && variable["value"] != nil {
			variable["value"] = describeSize(variable["value"])
		}
	}
}

// redactURL leaves scheme and host: the path of a webhook may be its only credential.
func redactURL(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	uri, err := url.Parse(text)
	if err != nil || uri.Host == "" {
		return describeSize(text)
	}
	return uri.Scheme + "://" + uri.Host + "/" + redacted
}

func describeSize(value any) string {
	return fmt.Sprintf("(redacted, %d bytes)", len(fmt.Sprint(value)))
}
