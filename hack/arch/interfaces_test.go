package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxMethods limits the methods of an interface, those of embedded interfaces included:
// otherwise embedding would make a large interface look small. An interface belongs to its
// consumer and has the methods that the consumer calls; a consumer that needs more has
// several fields or parameters.
const maxMethods = 6

// largeInterfaces have more methods, as many as the number beside them says. The last column
// says why one is better large.
const largeInterfaces = `
interface    | methods | reason
app.Store    | 12      | commands hand the one store on to several packages, and each asks for the part that it calls
app.backend  | 20      | app.Store and eight methods of its own: apart, a process would hold one object in two fields that must agree
stream.Rules | 21      | a domain is one value with all of its rules; the engine needs every part, and each part is an interface of at most five
`

// libraryMethods are the methods of the libraries' interfaces that ours embed.
func libraryMethods() map[string]string { return map[string]string{"io.Writer": "Write"} }

func TestInterfaces(t *testing.T) {
	declared, err := readInterfaces("github.com/acclaim-dev/acclaim", "../..", "services", "operator", "api")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range declared.check(largeInterfaces) {
		t.Error(violation)
	}
}

// interfaces are the interface types of a module's code without tests and their support.
type interfaces struct {
	named     map[string]typeExpr // all named types by package and name
	literals  []typeExpr
	positions *token.FileSet
}

// typeExpr is a type as the code of a package writes it.
type typeExpr struct {
	ast.Expr

	pkg     string // path
	name    string // of the type, "" for one without
	imports map[string]string
}

// readInterfaces reads the folders of a module in the directory root.
func readInterfaces(module, root string, folders ...string) (*interfaces, error) {
	found := &interfaces{named: map[string]typeExpr{}, positions: token.NewFileSet()}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			below, err := filepath.Rel(root, file)
			if err != nil || isSupport("/"+filepath.ToSlash(below)) {
				return err
			}
			syntax, err := parser.ParseFile(found.positions, file, nil, parser.SkipObjectResolution)
			if err == nil {
				found.add(path.Join(module, path.Dir(filepath.ToSlash(below))), syntax)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f *interfaces) add(pkg string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = imported
	}
	names := map[ast.Expr]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			names[n.Type] = n.Name.Name
			f.named[pkg+"."+n.Name.Name] = typeExpr{n.Type, pkg, n.Name.Name, imports}
		case *ast.InterfaceType:
			f.literals = append(f.literals, typeExpr{n, pkg, names[n], imports})
		}
		return true
	})
}

// check returns the interfaces that have too many methods and the exceptions that are not needed.
func (f *interfaces) check(exceptions string) (violations []string) {
	allowed := map[string]string{}
	for _, row := range rows(exceptions) {
		allowed[row[0]] = row[1]
	}
	for _, declared := range f.literals {
		name := path.Base(declared.pkg) + "." + declared.name
		if declared.name == "" {
			at := f.positions.Position(declared.Pos())
			name = path.Base(declared.pkg) + "/" + path.Base(at.Filename)
		}
		methods := map[string]bool{}
		if unknown := f.collect(declared, methods); unknown != "" {
			violations = append(violations, fmt.Sprintf("%s embeds %s, whose methods this check cannot count", name, unknown))
		}
		limit, excepted := allowed[name]
		delete(allowed, name)
		switch size := strconv.Itoa(len(methods)); {
		case excepted && len(methods) <= maxMethods:
			violations = append(violations, fmt.Sprintf("%s has %s methods and is in the list of large interfaces", name, size))
		case excepted && limit != size:
			violations = append(violations, fmt.Sprintf("%s has %s methods, and %s in the list of large interfaces", name, size, limit))
		case !excepted && len(methods) > maxMethods:
			violations = append(violations, fmt.Sprintf("%s has %s methods, at most %d: %s", name, size, maxMethods,
				strings.Join(slices.Sorted(maps.Keys(methods)), " ")))
		}
	}
	for name := range allowed {
		violations = append(violations, name+" is in the list of large interfaces and does not exist")
	}
	slices.Sort(violations)
	return violations
}

// collect adds the names of a type's methods and returns the name of an embedded type that
// is not known, if there is one.
func (f *interfaces) collect(t typeExpr, methods map[string]bool) (unknown string) {
	switch e := t.Expr.(type) {
	case *ast.InterfaceType:
		for _, field := range e.Methods.List {
			for _, method := range field.Names {
				methods[method.Name] = true
			}
			if len(field.Names) == 0 {
				t.Expr = field.Type
				unknown = max(unknown, f.collect(t, methods))
			}
		}
		return unknown
	case *ast.IndexExpr:
		t.Expr = e.X
		return f.collect(t, methods)
	case *ast.IndexListExpr:
		t.Expr = e.X
		return f.collect(t, methods)
	case *ast.Ident:
		return f.collectNamed(t.pkg+"."+e.Name, methods)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return f.collectNamed(t.imports[x.Name]+"."+e.Sel.Name, methods)
		}
	}
	return "" // a union, which has no methods
}

func (f *interfaces) collectNamed(name string, methods map[string]bool) (unknown string) {
	if named, ok := f.named[name]; ok {
		return f.collect(named, methods)
	}
	method, ok := libraryMethods()[name]
	if !ok {
		return name
	}
	methods[method] = true
	return ""
}

// The rest of the file makes sure that the test above can fail.

func TestCheckInterfaces(t *testing.T) {
	root := t.TempDir()
	const six = "interface { A(); B(); C(); D(); E(); F() }"
	for name, source := range map[string]string{
		"app/parts/six.go":                      "package parts\n\ntype Six " + six + "\n\ntype List[T any] interface { Len() int }\n\ntype Number interface { ~int | ~uint }\n",
		"app/whole/whole.go":                    "package whole\n\nimport p \"mod/app/parts\"\n\ntype Seven interface { p.Six; p.List[int] }\n\ntype Again interface { p.Six; A() }\n\ntype Alias = p.Six\n",
		"app/whole/field.go":                    "package whole\n\ntype holder struct { it interface { Alias; G() } }\n",
		"app/whole/odd.go":                      "package whole\n\nimport \"io\"\n\ntype Odd interface { io.Closer }\n",
		"app/whole/x_test.go":                   "package whole\n\ntype test interface { Seven; H() }\n",
		"app/internal/testing/double/double.go": "package double\n\ntype test interface { A(); B(); C(); D(); E(); F(); G() }\n",
	} {
		writeFile(t, filepath.Join(root, name), source)
	}
	declared, err := readInterfaces("mod", root, "app")
	if err != nil {
		t.Fatal(err)
	}
	const (
		odd   = "whole.Odd embeds io.Closer, whose methods this check cannot count"
		seven = "whole.Seven has 7 methods, at most 6: A B C D E F Len"
		field = "whole/field.go has 7 methods, at most 6: A B C D E F G"
	)
	for exceptions, want := range map[string][]string{
		"interface | methods | reason": {odd, seven, field},
		"| | \nwhole.Seven | 7 | why":  {odd, field},
		"| | \nwhole.Seven | 8 | why\nwhole/field.go | 7 | why": {odd,
			"whole.Seven has 7 methods, and 8 in the list of large interfaces"},
		"| | \nwhole.Seven | 7 | why\nwhole/field.go | 7 | why\nwhole.Gone | 9 | why": {
			"whole.Gone is in the list of large interfaces and does not exist", odd},
		"| | \nparts.Six | 6 | why": {
			"parts.Six has 6 methods and is in the list of large interfaces", odd, seven, field},
	} {
		if diff := cmp.Diff(want, declared.check(exceptions)); diff != "" {
			t.Errorf("violations with %q (-want +got):\n%s", exceptions, diff)
		}
	}
}
