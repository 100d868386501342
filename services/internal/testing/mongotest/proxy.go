package mongotest

import (
	"cmp"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
)

// StartProxy returns a proxy in front of the server of a URI and the URI of the same
// database through it. The proxy ends with the test. It forwards to the first of
// several hosts alone, and cannot read TLS.
func StartProxy(t testing.TB, uri string) (*faultproxy.Proxy, string) {
	t.Helper()
	head, hosts, tail := splitURI(uri)
	host, _, _ := strings.Cut(hosts, ",")
	if !strings.Contains(host, ":") {
		host += ":27017"
	}
	proxy, err := faultproxy.Start(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() }) // a listener
	uri = head + proxy.Address() + tail
	if strings.Contains(tail, "?") {
		return proxy, uri + "&directConnection=true"
	}
	return proxy, uri + "?directConnection=true"
}

// WithLongTimeouts returns a URI with time-outs long enough for any machine, for
// tests of something else.
func WithLongTimeouts(uri string) string {
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	return uri + separator + "timeoutMS=120000&serverSelectionTimeoutMS=120000&connectTimeoutMS=120000"
}

// splitURI cuts a URI at its hosts. What follows them begins with a slash.
func splitURI(uri string) (head, hosts, tail string) {
	begin := strings.Index(uri, "://") + len("://")
	if at := strings.LastIndex(uri, "@"); at >= begin {
		begin = at + 1
	}
	end := len(uri)
	if i := strings.IndexAny(uri[begin:], "/?"); i >= 0 {
		end = begin + i
	}
	tail = uri[end:]
	if !strings.HasPrefix(tail, "/") {
		tail = "/" + tail
	}
	return uri[:begin], uri[begin:end], tail
}

// inDatabase returns the URI of a database on a server. The database that
// authenticates the user stays that of the given URI.
func inDatabase(server, name string) string {
	head, hosts, tail := splitURI(server)
	before, options, asked := strings.Cut(tail[1:], "?")
	if strings.HasSuffix(head, "@") && !strings.Contains(strings.ToLower(options), "authsource=") {
		options = strings.TrimSuffix("authSource="+cmp.Or(before, "admin")+"&"+options, "&")
		asked = true
	}
	if asked {
		options = "?" + options
	}
	return head + hosts + "/" + name + options
}
