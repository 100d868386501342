package arch

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// Every relative link and anchor in the repository's Markdown, and in the OpenAPI
// document, must resolve.
func TestLinks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "screenshots"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md" && entry.Name() != "openapi.yaml":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, link := range linksOf(string(source)) {
			if problem := checkLink(path, link); problem != "" {
				name, _ := filepath.Rel(root, path)
				t.Errorf("%s: %s: %s", name, link, problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d documents found", files)
	}
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)|externalDocs: \{url: '([^']+)'`)
	headingPattern = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
)

// linksOf returns the targets of relative links, without those in code.
func linksOf(markdown string) (links []string) {
	for _, line := range proseOf(markdown) {
		for _, match := range linkPattern.FindAllStringSubmatch(regexp.MustCompile("`[^`]*`").ReplaceAllString(line, "code"), -1) {
			link := match[1] + match[2] + match[3]
			if u, err := url.Parse(link); err != nil || u.Scheme == "" {
				links = append(links, link)
			}
		}
	}
	return links
}

// proseOf returns the lines outside of fenced code.
func proseOf(markdown string) (lines []string) {
	fenced := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			lines = append(lines, line)
		}
	}
	return lines
}

// checkLink returns why a link of a document leads nowhere, or nothing.
func checkLink(document, link string) string {
	name, anchor, _ := strings.Cut(link, "#")
	target := document
	if name != "" {
		target = filepath.Join(filepath.Dir(document), filepath.FromSlash(name))
	}
	info, err := os.Stat(target)
	if err != nil {
		return "does not exist"
	}
	if anchor == "" {
		return ""
	}
	if info.IsDir() || filepath.Ext(target) != ".md" {
		return "an anchor in something that has no headings"
	}
	source, err := os.ReadFile(target)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchorsOf(string(source)), anchor) {
		return "there is no such heading"
	}
	return ""
}

// anchorsOf returns the anchors that GitHub gives the headings of a document.
func anchorsOf(markdown string) (anchors []string) {
	seen := map[string]int{}
	for _, line := range proseOf(markdown) {
		match := headingPattern.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		anchor := slug(match[1])
		n := seen[anchor]
		seen[anchor]++
		if n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}

// slug is the anchor of a heading: lower-case letters, digits, hyphens for blanks.
func slug(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

func TestLinksOf(t *testing.T) {
	const document = "See [a](a.md#b-c) and [web](https://example.com).\n\n```sh\n[no](nowhere.md)\n```\n" +
		"`[code](nowhere.md)` ![picture](p.png)\n[ref]: r.md\n"
	if diff := cmp.Diff([]string{"a.md#b-c", "p.png", "r.md"}, linksOf(document)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestCheckLink(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "a.md")
	writeFile(t, document, "# The `GET /x_y` route\n\n## Again\n\n## Again\n")
	for link, sound := range map[string]bool{
		"a.md": true, "#the-get-x_y-route": true, "a.md#again-1": true, ".": true,
		"b.md": false, "#again-2": false, ".#again": false,
	} {
		if got := checkLink(document, link) == ""; got != sound {
			t.Errorf("%s is sound: %v, want %v", link, got, sound)
		}
	}
}
