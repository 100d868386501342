//go:build tools

// Package gateway pins the Gateway API, whose resource definitions tests of the
// operator install.
package gateway

import _ "sigs.k8s.io/gateway-api/pkg/consts"
