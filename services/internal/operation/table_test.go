package operation_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

var update = flag.Bool("update", false, "write what is generated from the table of operations")

const (
	root         = "../../../"
	documentFile = root + "api/openapi.yaml"
)

// The files that are generated from the table of operations agree with it.
func TestGenerated(t *testing.T) {
	for file, content := range map[string][]byte{
		root + "api/operations.md":                               operationsPage(),
		root + "api/reference.md":                                referencePage(t),
		root + "operator/internal/desired/zz_generated.paths.go": pathsOfServices(t),
		documentFile: namedOperations(t),
	} {
		if *update {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(content), string(got)); diff != "" {
			t.Errorf("%s is not what go test ./services/internal/operation -run TestGenerated -update writes (-):\n%s", file, diff)
		}
	}
}

// operationsPage returns the page that lists the operations.
func operationsPage() []byte {
	var page bytes.Buffer
	page.WriteString(`# Operations

An operation is one thing that a caller can ask for. Its name is the same in the log (` + "`operation`" + `), in traces
(` + "`acclaim.operation`" + `) and in [openapi.yaml](openapi.yaml) (` + "`x-operation`" + `). Over HTTP an operation has one route or several; a game
asks for the same operations over [GameLink](contract.md#411-games). Who gets which answer is in
[rights.md](rights.md), what the routes do in [the contract](contract.md).

This page is written from the table of operations: ` + "`go test ./services/internal/operation -run TestGenerated -update`" + `.

| operation | route | service | for |
|---|---|---|---|
`)
	for _, o := range operation.Table() {
		routes := make([]string, len(o.Paths))
		for i, path := range o.Paths {
			routes[i] = "`" + o.Method + " " + path + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", o.Name, strings.Join(routes, ", "), o.Service, o.Audience())
	}
	return page.Bytes()
}

// pathsOfServices returns the Go file with the paths that lead to each service.
func pathsOfServices(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	file.WriteString(`// Code generated from the table of operations; DO NOT EDIT.
// go test ./services/internal/operation -run TestGenerated -update

package desired

// servicePaths returns the paths below the base path that lead to a service. Those of the state
// service, and all that no service has, go to the fallback service.
func servicePaths(service string) []string {
	return map[string][]string{
`)
	for _, s := range [][2]string{
		{"Voting", operation.VotingService}, {"Accumulation", operation.AccumulationService},
		{"Ranking", operation.RankingService}, {"Sandbox", operation.SandboxService},
	} {
		fmt.Fprintf(&file, "%s: {\"%s\"},\n", s[0], strings.Join(operation.Paths(s[1]), `", "`))
	}
	file.WriteString("}[service]\n}\n")
	formatted, err := format.Source(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return formatted
}

// namedOperations returns the API's description with the name of each operation and the roles that
// may ask for it.
func namedOperations(t *testing.T) []byte {
	t.Helper()
	document, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	names, roles := map[string]string{}, map[string][]string{}
	for _, o := range operation.Table() {
		for _, path := range o.Paths {
			names[o.Method+" "+path], roles[o.Method+" "+path] = o.Name, rolesOf(&o)
		}
	}
	var out []string
	path, method := "", ""
	atPath, atMethod := regexp.MustCompile(`^  (/\S*):$`), regexp.MustCompile(`^    (get|post|patch|delete):$`)
	for line := range strings.SplitSeq(string(document), "\n") {
		switch found := atPath.FindStringSubmatch(line); {
		case found != nil:
			path = found[1]
		case atMethod.MatchString(line):
			method = strings.ToUpper(strings.TrimRight(strings.TrimSpace(line), ":"))
		case strings.HasPrefix(line, "      x-operation: "), strings.HasPrefix(line, "      x-roles: "):
			continue // written below
		}
		out = append(out, line)
		if strings.HasPrefix(line, "      operationId: ") {
			name, known := names[method+" "+path]
			if !known {
				t.Errorf("%s %s is no operation", method, path)
			}
			delete(names, method+" "+path)
			out = append(out, "      x-operation: "+name)
			if own := roles[method+" "+path]; own != nil {
				out = append(out, "      x-roles: ["+strings.Join(own, ", ")+"]")
			}
		}
	}
	for route := range names {
		t.Errorf("%s is not described", route)
	}
	return []byte(strings.Join(out, "\n"))
}

// rolesOf returns the roles of an operation as the API's description has them, nil where it needs
// no credential. There, a validated admin is another role.
func rolesOf(o *operation.Definition) []string {
	if o.Public {
		return nil
	}
	named := strings.Split(o.Audience(), ", ")
	for i, name := range named {
		switch name {
		case "admin":
			named = append(named, "validatedAdmin")
		case "validated admin":
			named[i] = "validatedAdmin"
		case "staff key for polls":
			named[i] = "staffPolls"
		case "staff key for answers":
			named[i] = "staffAnswers"
		}
	}
	all := []string{"viewer", "broadcaster", "admin", "validatedAdmin", "backend", "overlay", "staffPolls", "staffAnswers", "device"}
	return slices.DeleteFunc(all, func(role string) bool { return !slices.Contains(named, role) })
}

// Names and routes are those of one operation each.
func TestTable(t *testing.T) {
	var names, routes []string
	for _, o := range operation.Table() {
		names = append(names, o.Name)
		for _, path := range o.Paths {
			routes = append(routes, o.Method+" "+path)
		}
		if o.Service == "" {
			t.Errorf("%s belongs to no service", o.Name)
		}
	}
	for _, list := range [][]string{names, routes} {
		slices.Sort(list)
		if unique := slices.Compact(slices.Clone(list)); len(unique) != len(list) {
			t.Errorf("several operations share one of %v", list)
		}
	}
}
