package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// pushNames returns the targets of what GameLink sends without a request. A target that the source
// computes in another place than those below appears as its expression, which no row has.
func pushNames(t *testing.T) (names []string) {
	t.Helper()
	constants := map[string]string{
		"contract.PushPoll": contract.PushPoll, "contract.PushMatchPoll": contract.PushMatchPoll, "contract.PushConfig": contract.PushConfig,
		"contract.PushPurchase": contract.PushPurchase, "contract.PushDatastream": contract.PushDatastream,
	}
	inspectSources(t, filepath.Join("internal", "face", "gamelink"), func(file string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return // a feed's own push takes more
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); !ok || method.Sel.Name != "push" {
			return
		}
		target := types.ExprString(call.Args[0])
		switch name, ok := constants[target]; {
		case ok:
			names = append(names, name)
		case file == "document.go" && target == "id": // statePath lets no other id through
			names = append(names, "channel", "extension")
		default:
			names = append(names, file+": "+target)
		}
	})
	return names
}

// peerMessageNames returns the kinds of frames between processes, by the names of their constants, and
// the kinds of streams that requests are for.
func peerMessageNames(t *testing.T) (names []string) {
	t.Helper()
	inspectSources(t, filepath.Join("internal", "cluster", "peer"), func(_ string, n ast.Node) {
		declaration, ok := n.(*ast.GenDecl)
		if !ok || declaration.Tok != token.CONST {
			return
		}
		for _, spec := range declaration.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names { //nolint:forcetypeassert // of a const
				if kind, ok := strings.CutPrefix(name.Name, "frame"); ok && kind != "Protocol" { // that names the frames to HTTP
					names = append(names, strings.ToLower(kind))
				}
			}
		}
	})
	for kind := range app.Domains(storetest.NewMemory()) {
		names = append(names, "request "+kind)
	}
	return names
}

// inspectSources visits the nodes of a package without its tests.
func inspectSources(t *testing.T, folder string, visit func(file string, n ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(filepath.Base(name), n)
			return true
		})
	}
}
