// Package api holds the description of the HTTP API, for programs that serve it. It may not
// import anything of the project.
package api

import _ "embed"

// OpenAPI is the description for machines.
//
//go:embed openapi.yaml
var OpenAPI []byte
