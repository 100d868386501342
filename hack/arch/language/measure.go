package language

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Measure holds the counts of a folder and all below it.
type Measure struct {
	CommentWords     int
	CommentPhrases   int // listed phrases in comments
	Findings         []Finding
	Comments         int
	IndirectComments []Name // comments that begin "X is how", "X tells which" and the like
	Functions        int    // methods included, tests left out
	OneWordFunctions []Name
	Types            int
	OneWordTypes     []Name
}

// Name is a name of one word, or the beginning of a comment, and its place.
type Name struct {
	File string
	Line int
	Name string
}

// PhrasesPerThousand returns the listed phrases in 1,000 words of comment.
func (m Measure) PhrasesPerThousand() float64 { return ratio(1000*m.CommentPhrases, m.CommentWords) }

// Indirect returns the percentage of comments that begin "X is how" and the like.
func (m Measure) Indirect() float64 { return ratio(100*len(m.IndirectComments), m.Comments) }

// OneWordFunctionShare returns the percentage of functions whose name is one word.
func (m Measure) OneWordFunctionShare() float64 {
	return ratio(100*len(m.OneWordFunctions), m.Functions)
}

// OneWordTypeShare returns the percentage of types whose name is one word.
func (m Measure) OneWordTypeShare() float64 { return ratio(100*len(m.OneWordTypes), m.Types) }

func ratio(part, whole int) float64 {
	return float64(part) / float64(max(whole, 1))
}

// Plus returns the sum of two measures.
func (m Measure) Plus(other Measure) Measure {
	return Measure{
		CommentWords:     m.CommentWords + other.CommentWords,
		CommentPhrases:   m.CommentPhrases + other.CommentPhrases,
		Findings:         slices.Concat(m.Findings, other.Findings),
		Comments:         m.Comments + other.Comments,
		IndirectComments: slices.Concat(m.IndirectComments, other.IndirectComments),
		Functions:        m.Functions + other.Functions,
		OneWordFunctions: slices.Concat(m.OneWordFunctions, other.OneWordFunctions),
		Types:            m.Types + other.Types,
		OneWordTypes:     slices.Concat(m.OneWordTypes, other.OneWordTypes),
	}
}

// Read measures every file below a folder, by the folder that the file is in.
func Read(root string) (map[string]Measure, error) {
	r, err := parseRules(phrases, formerTerms)
	if err != nil {
		return nil, err
	}
	folders := map[string]Measure{}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && isIgnored(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		measure, err := readFile(r, file)
		folder := filepath.Dir(file)
		folders[folder] = folders[folder].Plus(measure)
		return err
	})
	return folders, err
}

// isIgnored reports whether a folder has nothing that was written here.
func isIgnored(name string) bool {
	hidden := strings.HasPrefix(name, ".") && name != ".ci" && name != ".github"
	return hidden || slices.Contains([]string{"testdata", "node_modules", "bin", "acclaim-data"}, name)
}

func readFile(r rules, file string) (Measure, error) {
	read := readerOf(filepath.ToSlash(file))
	if read == nil {
		return Measure{}, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return Measure{}, err
	}
	g, err := read(file, content)
	return g.measure(r, file), err
}

// readerOf returns the function that reads a file, nil when its words are not
// checked.
func readerOf(file string) func(string, []byte) (source, error) {
	switch {
	case strings.HasSuffix(file, "language/words.go"):
		return nil
	case path.Ext(file) == ".go":
		return readGo
	case path.Ext(file) == ".md", path.Base(file) == "openapi.yaml":
		return readMarkdown
	case slices.Contains([]string{".yaml", ".yml", ".sh"}, path.Ext(file)),
		slices.Contains([]string{"Makefile", "Dockerfile", "run"}, path.Base(file)):
		return readScript
	}
	return nil
}

func (s source) measure(r rules, file string) Measure {
	m := Measure{
		Comments: s.comments, IndirectComments: namesIn(file, s.indirect),
		Functions: len(s.functions), OneWordFunctions: namesIn(file, oneWord(s.functions)),
		Types: len(s.types), OneWordTypes: namesIn(file, oneWord(s.types)),
	}
	for _, t := range s.texts {
		findings := r.find(file, t)
		m.Findings = append(m.Findings, findings...)
		if t.kind == comment {
			m.CommentWords += len(strings.Fields(t.prose))
			m.CommentPhrases += len(findings)
		}
	}
	if isUserPage(filepath.ToSlash(file)) {
		for _, t := range s.texts {
			m.Findings = append(m.Findings, readUserPage(file, t.prose)...)
		}
	}
	slices.SortFunc(m.Findings, func(a, b Finding) int { return a.Line - b.Line })
	return m
}

func oneWord(all []declared) []declared {
	return slices.DeleteFunc(slices.Clone(all), func(d declared) bool { return !isOneWord(d.name) })
}

func namesIn(file string, all []declared) []Name {
	var names []Name
	for _, d := range all {
		names = append(names, Name{File: file, Line: d.line, Name: d.name})
	}
	return names
}
