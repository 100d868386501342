//go:build tools

// Package apiserver pins the kube-apiserver that tests run.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
