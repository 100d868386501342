package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/acclaim-dev/acclaim/hack/overlay"
)

// codeEdit replaces one expression, statement or value within a declaration. It names
// neither file nor line, so it survives all changes but those of this code.
type codeEdit struct {
	folder string // below the root
	in     string // the declaration: a function, Type.method, or constant
	from   string // the code that the declaration has once, however it is broken into lines
	to     string
}

// writeOverlay writes what a defect changes into dir, and returns the file for the flag
// -overlay of the go command.
func writeOverlay(root, dir string, edits []codeEdit) (string, error) {
	changed := map[string]string{} // text by path
	for _, e := range edits {
		if err := e.apply(root, changed); err != nil {
			return "", fmt.Errorf("%s, %s: %w", e.folder, e.in, err)
		}
	}
	return overlay.WriteFiles(dir, changed)
}

// errGone is the error of an edit whose code is not there once.
var errGone = errors.New("the defect no longer applies")

// apply makes the edit in the one file that has its declaration.
func (e codeEdit) apply(root string, changed map[string]string) error {
	folder := filepath.Join(root, e.folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !isSource(entry) {
			continue
		}
		text, ok := changed[path]
		if !ok {
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(source)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if node := findDeclaration(file, e.in); node != nil {
			changed[path], err = e.replaceIn(text, node)
			return err
		}
	}
	return fmt.Errorf("%w: there is no such declaration", errGone)
}

func isSource(entry fs.DirEntry) bool {
	return strings.HasSuffix(entry.Name(), ".go") && !strings.HasSuffix(entry.Name(), "_test.go")
}

// findDeclaration returns the declaration of that name in a file, nil when there is none.
func findDeclaration(file *ast.File, name string) (found ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.FuncDecl:
			if declaredName(d) == name {
				found = d
			}
			return false
		case *ast.ValueSpec:
			if d.Names[0].Name == name {
				found = d
			}
		}
		return true
	})
	return found
}

// declaredName returns the name of a function, or Type.method.
func declaredName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name + "." + d.Name.Name
}

// replaceIn replaces the code within a declaration of text.
func (e codeEdit) replaceIn(text string, declaration ast.Node) (string, error) {
	const base = 1 // of the positions of the only file of a set
	type span struct{ from, to int }
	spans := map[span]bool{} // an expression and the statement that it is have the same
	ast.Inspect(declaration, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		s := span{int(n.Pos()) - base, int(n.End()) - base}
		if sameCode(text[s.from:s.to], e.from) {
			spans[s] = true
		}
		return true
	})
	if len(spans) != 1 {
		return "", fmt.Errorf("%w: it has %q %d times", errGone, e.from, len(spans))
	}
	for s := range spans {
		text = text[:s.from] + e.to + text[s.to:]
	}
	return text, nil
}

// sameCode reports whether two pieces of code differ in white space only.
func sameCode(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
