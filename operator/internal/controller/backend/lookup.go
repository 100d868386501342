package backend

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"
)

// Resolver looks names of the database's servers up, as [net.Resolver] does.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// lookupTimeout limits the look-ups for one Backend.
const lookupTimeout = 3 * time.Second

// findUnknownHost returns the first host of a database's URI that DNS does not know, and its
// answer; "" without one. Programs wait for their database and write the cause into their log, which the
// operator may not read.
func (r *Reconciler) findUnknownHost(ctx context.Context, namespace, uri string) string {
	if r.Resolver == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	scheme, hosts := hostsOf(uri)
	for _, host := range hosts {
		if scheme == "mongodb+srv" {
			_, _, err := r.Resolver.LookupSRV(ctx, "mongodb", "tcp", host)
			if answer := refusalOf(err); answer != "" {
				return host + ": " + answer
			}
			continue
		}
		// A pod finds a Service of its own namespace by its name alone.
		_, err := r.Resolver.LookupHost(ctx, host)
		_, nearErr := r.Resolver.LookupHost(ctx, host+"."+namespace)
		if answer := refusalOf(err); answer != "" && refusalOf(nearErr) != "" {
			return host + ": " + answer
		}
	}
	return ""
}

// hostsOf returns the scheme of a MongoDB URI and its hosts without credentials and ports.
func hostsOf(uri string) (scheme string, hosts []string) {
	scheme, rest, _ := strings.Cut(uri, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	for host := range strings.SplitSeq(rest, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			hosts = append(hosts, host)
		}
	}
	return scheme, hosts
}

// refusalOf returns why DNS does not know a name, "" where it does or gives no answer.
func refusalOf(err error) string {
	found, ok := errors.AsType[*net.DNSError](err)
	if !ok || found.IsTimeout {
		return ""
	}
	return found.Err
}
