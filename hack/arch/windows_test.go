package arch

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The release has programs for Windows, which no test here runs and which take minutes to compile. What
// keeps a package from being compiled there is mostly a name that its package syscall does not have.
func TestWindowsHasTheNamesOfSyscall(t *testing.T) {
	windows := build.Default
	windows.GOOS, windows.CgoEnabled = "windows", false
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	has := exported(t, windows, filepath.Join(strings.TrimSpace(string(root)), "src", "syscall"))
	if has["Flock"] || !has["SIGTERM"] {
		t.Fatal("the names that Windows has were not found")
	}
	for _, root := range []string{"../../api", "../../services", "../../operator/kubectl-acclaim"} {
		err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if outside(dir) || strings.HasSuffix(filepath.ToSlash(dir), "services/internal/testing") {
				return fs.SkipDir
			}
			for _, file := range goFiles(windows, dir) {
				for _, use := range usesOfSyscall(t, file) {
					if name, where, _ := strings.Cut(use, " "); !has[name] {
						t.Errorf("%s: Windows has no syscall.%s: a file for unix alone may use it", where, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// goFiles returns the files of a package that are compiled, without its tests.
func goFiles(system build.Context, dir string) (files []string) {
	found, err := system.ImportDir(dir, 0)
	if err != nil {
		return nil // there is no package
	}
	for _, name := range found.GoFiles {
		files = append(files, filepath.Join(dir, name))
	}
	return files
}

// exported returns the names that a package declares.
func exported(t *testing.T, system build.Context, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range goFiles(system, dir) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				names[d.Name.Name] = names[d.Name.Name] || d.Recv == nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// usesOfSyscall returns the names of package syscall that a file uses, each with its place.
func usesOfSyscall(t *testing.T, file string) (uses []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if from, ok := selector.X.(*ast.Ident); ok && from.Name == "syscall" {
				uses = append(uses, fmt.Sprint(selector.Sel.Name, " ", set.Position(selector.Pos())))
			}
		}
		return true
	})
	return uses
}
