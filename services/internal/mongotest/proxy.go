package mongotest

import (
	"cmp"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/faultproxy"
)

// Through returns a proxy in front of the server of a URI and the URI of the
// same database through it. The proxy ends with the test. It sees the first of
// several hosts alone, and nothing of what TLS hides.
func Through(t testing.TB, uri string) (*faultproxy.Proxy, string) {
	t.Helper()
	head, hosts, tail := split(uri)
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

// Patient returns a URI with time-outs that no machine is too slow for, for tests
// that are not about them.
func Patient(uri string) string {
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	return uri + separator + "timeoutMS=120000&serverSelectionTimeoutMS=120000&connectTimeoutMS=120000"
}

// split cuts a URI at its hosts. What follows them begins with a slash.
func split(uri string) (head, hosts, tail string) {
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

// inDatabase returns the URI of a database on a server. A user is still looked
// for where the given URI says.
func inDatabase(server, name string) string {
	head, hosts, tail := split(server)
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
