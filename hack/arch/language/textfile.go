package language

import "strings"

// readMarkdown returns the prose of a document: what is in a code block is left
// empty.
func readMarkdown(_ string, content []byte) (source, error) {
	fenced := false
	var lines []string
	for line := range strings.SplitSeq(string(content), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = ""
		}
		if fenced {
			line = ""
		}
		lines = append(lines, line)
	}
	return source{texts: []text{{markdown, 1, withoutCode(strings.Join(lines, "\n"))}}}, nil
}

// readScript returns the comments of a file whose comments begin with "#", YAML,
// Makefiles and shell, and the help of a Makefile's targets.
func readScript(_ string, content []byte) (source, error) {
	var lines []string
	for line := range strings.SplitSeq(string(content), "\n") {
		_, prose, found := strings.Cut(line, "# ")
		if target, help, ok := strings.Cut(line, ": ## "); ok && !strings.Contains(target, " ") {
			prose, found = help, true
		}
		if !found {
			prose = ""
		}
		lines = append(lines, prose)
	}
	return source{texts: []text{{comment, 1, withoutCode(strings.Join(lines, "\n"))}}}, nil
}
