package language

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// readGo reads the comments, the messages and the names of a Go file; a generated
// file has none.
func readGo(name string, content []byte) (source, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(syntax) {
		return source{}, err
	}
	var g source
	indirect := regexp.MustCompile(indirectBeginning)
	for _, group := range syntax.Comments {
		prose := commentText(group)
		line := files.Position(group.Pos()).Line
		g.texts = append(g.texts, text{comment, line, prose})
		g.comments++
		if beginning := indirect.FindString(strings.TrimSpace(prose)); beginning != "" {
			g.indirect = append(g.indirect, declared{beginning, line})
		}
	}
	if !strings.HasSuffix(name, "_test.go") {
		ast.Inspect(syntax, func(n ast.Node) bool { return g.readNode(files, n) })
	}
	return g, nil
}

// readNode notes the names and the messages, and reports whether to descend.
func (s *source) readNode(files *token.FileSet, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Name.Name != "main" {
			s.functions = append(s.functions, declared{n.Name.Name, files.Position(n.Name.Pos()).Line})
		}
	case *ast.TypeSpec:
		s.types = append(s.types, declared{n.Name.Name, files.Position(n.Name.Pos()).Line})
	case *ast.CallExpr:
		return !isReason(n)
	case *ast.ImportSpec:
		return false
	case *ast.BasicLit:
		value, err := strconv.Unquote(n.Value)
		if isMetric(value) {
			value = strings.ReplaceAll(value, "_", " ")
		}
		if n.Kind == token.STRING && err == nil && strings.Contains(value, " ") {
			s.texts = append(s.texts, text{message, files.Position(n.Pos()).Line, value})
		}
	}
	return true
}

// isMetric reports whether a string can be the name of a metric.
func isMetric(s string) bool {
	return strings.Contains(s, "_") && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// isReason reports whether a call makes an error that a client reads: its words
// are the contract's.
func isReason(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "fault"
}

// commentText returns a comment without its markers, one line for each of its
// lines. Directives and indented code are left empty.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, c := range group.List {
		body, block := strings.CutPrefix(c.Text, "/*")
		if block {
			body = strings.TrimSuffix(body, "*/")
		}
		for line := range strings.SplitSeq(body, "\n") {
			line, _ = strings.CutPrefix(line, "//")
			if !block && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")) || isDirective(line) {
				line = ""
			}
			lines = append(lines, line)
		}
	}
	return withoutCode(strings.Join(lines, "\n"))
}

// isDirective reports whether a comment is for a tool, such as "go:embed" and
// "nolint:rule".
func isDirective(line string) bool {
	word, rest, found := strings.Cut(line, ":")
	return strings.HasPrefix(line, "+") || found && rest != "" && rest[0] != ' ' && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

// isOneWord reports whether a name has one word: "look" and "ID" have, "lookUp"
// and "parseID" have not.
func isOneWord(name string) bool {
	for i := 1; i < len(name); i++ {
		newWord := unicode.IsUpper(rune(name[i])) && (!unicode.IsUpper(rune(name[i-1])) || i+1 < len(name) && unicode.IsLower(rune(name[i+1])))
		if newWord || name[i] == '_' {
			return false
		}
	}
	return true
}
