//go:build tools

// Package etcd pins the etcd that tests run.
package etcd

import _ "go.etcd.io/etcd/server/v3"
