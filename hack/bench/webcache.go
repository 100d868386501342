package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// cacheConfig has nginx obey the headers of the program, ask once for all that wait, and answer
// with what it has while it asks.
const cacheConfig = `daemon off;
user root;
pid %[1]s/pid;
error_log stderr;
worker_processes auto;
events {}
http {
	access_log off;
	keepalive_requests 1000000000;
	proxy_cache_path %[1]s/cache keys_zone=results:1m;
	proxy_temp_path %[1]s/proxy;
	client_body_temp_path %[1]s/body;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	upstream origin { server %[2]s; keepalive 2; }
	server {
		listen %[3]s;
		location /public/ {
			proxy_pass http://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header X-Forwarded-For $remote_addr;
			proxy_cache results;
			proxy_cache_lock on;
			proxy_cache_background_update on;
		}
	}
}
`

// webCache is a running nginx.
type webCache struct {
	address string // host:port
	process int
	stop    func() error
}

// startCache starts nginx before an address, with its files in a folder.
func startCache(ctx context.Context, folder, origin string) (*webCache, error) {
	address, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, cacheConfig, folder, origin, address), 0o600); err != nil {
		return nil, err
	}
	server := exec.Command("nginx", "-e", "stderr", "-c", file) //nolint:noctx // it ends by stop
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("Debian's package is nginx-light: %w", err)
	}
	c := &webCache{address, server.Process.Pid, func() error {
		return errors.Join(server.Process.Signal(syscall.SIGTERM), server.Wait())
	}}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		conn, err := dialConn(ctx, address)
		if err == nil {
			err = conn.tcp.Close()
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(10*time.Second))
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}
