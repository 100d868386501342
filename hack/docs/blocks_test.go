package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// root is the folder of the repository.
const root = "../.."

// block is a fenced block of shell commands.
type block struct {
	file string // below the root
	line int    // of the fence
	text string
	run  bool
}

// readBlocks returns the blocks of all documents.
func readBlocks(t *testing.T) []block {
	t.Helper()
	var blocks []block
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "bin"}, name)) {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		content, err := os.ReadFile(file)
		below, _ := filepath.Rel(root, file)
		blocks = append(blocks, parseBlocks(below, string(content))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func parseBlocks(file, content string) []block {
	var blocks []block
	var current *block
	previous := ""
	for i, line := range strings.Split(content, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case current == nil && trimmed == "```sh":
			current = &block{file: file, line: i + 1, run: previous == "<!-- run -->"}
		case current != nil && trimmed == "```":
			blocks = append(blocks, *current)
			current = nil
		case current != nil:
			current.text += line + "\n"
		case trimmed != "":
			previous = trimmed
		}
	}
	return blocks
}

// command is a call with its arguments; expansions stand there as "1".
type command struct {
	line      int
	arguments []string
}

// parseCommands returns all calls of a block, those of substitutions and functions
// included. For a call of a function of the block it returns the call in the
// function, with the arguments added.
func parseCommands(b block) ([]command, error) {
	script, err := syntax.NewParser().Parse(strings.NewReader(b.text), b.file)
	if err != nil {
		return nil, err
	}
	functions := map[string][]string{}
	var commands []command
	syntax.Walk(script, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			syntax.Walk(n.Body, func(node syntax.Node) bool {
				if call, ok := node.(*syntax.CallExpr); ok {
					functions[n.Name.Value] = words(call)
				}
				return true
			})
		case *syntax.CallExpr:
			arguments := words(n)
			if len(arguments) == 0 {
				return true
			}
			if body, ok := functions[arguments[0]]; ok {
				arguments = slices.Concat(body, arguments[1:])
			}
			commands = append(commands, command{line: b.line + int(n.Pos().Line()), arguments: arguments})
		}
		return true
	})
	return commands, nil
}

func words(call *syntax.CallExpr) []string {
	var all []string
	for _, w := range call.Args {
		if text := wordText(w.Parts); text != "$@" {
			all = append(all, text)
		}
	}
	return all
}

func wordText(parts []syntax.WordPart) string {
	var text strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text.WriteString(strings.ReplaceAll(p.Value, "\\\n", ""))
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			text.WriteString(wordText(p.Parts))
		case *syntax.ParamExp:
			switch p.Param.Value {
			case "@":
				text.WriteString("$@")
			case "API":
				text.WriteString(apiAddress)
			default:
				text.WriteString("1")
			}
		default:
			text.WriteString("1")
		}
	}
	return text.String()
}
