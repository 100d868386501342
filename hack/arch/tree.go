package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// readTree returns the packages of a module in the directory root. It reads the
// files itself rather than through the go command, so that `go test` sees what
// the result rests on and does not answer from its cache.
func readTree(module, root string) ([]pkg, error) {
	var packages []pkg
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if dir != root && outside(dir) {
			return fs.SkipDir
		}
		p, err := readPackage(module, root, dir)
		if _, empty := errors.AsType[*build.NoGoError](err); empty {
			return nil
		}
		packages = append(packages, p)
		return err
	})
	return packages, err
}

// outside reports whether a directory is not a package of the module.
func outside(dir string) bool {
	name := filepath.Base(dir)
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func readPackage(module, root, dir string) (pkg, error) {
	built, err := build.ImportDir(dir, 0)
	if err != nil {
		return pkg{}, err
	}
	below, err := filepath.Rel(root, dir)
	if err != nil {
		return pkg{}, err
	}
	p := pkg{path: filepath.ToSlash(below), doc: built.Doc}
	p.imports, p.libraries = split(module, built.Imports)
	p.testImports, _ = split(module, slices.Concat(built.TestImports, built.XTestImports))
	for _, name := range built.GoFiles {
		calls, err := clockCalls(filepath.Join(dir, name))
		if err != nil {
			return pkg{}, err
		}
		p.clock = append(p.clock, calls...)
	}
	return p, nil
}

// split sorts import paths into those of the module, by short name, and others.
func split(module string, imports []string) (ours, others []string) {
	for _, imported := range imports {
		if strings.HasPrefix(imported, module+"/") {
			ours = append(ours, path.Base(imported))
		} else {
			others = append(others, imported)
		}
	}
	return ours, others
}

// clockCalls returns where a file uses what the time package knows of the
// machine's clock.
func clockCalls(file string) ([]string, error) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var calls []string
	ast.Inspect(syntax, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, selector.Sel.Name) {
			at := files.Position(selector.Pos())
			calls = append(calls, fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line))
		}
		return true
	})
	return calls, nil
}
