package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteOverlay(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	source := filepath.Join(root, "limit.go")
	if err := os.WriteFile(source, []byte("const most = 8\nconst least = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := writeOverlay(root, dir, []sourceEdit{{"limit.go", "most = 8", "most = 9"}, {"limit.go", "least = 1", "least = 0"}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(content, &overlay); err != nil {
		t.Fatal(err)
	}
	edited, err := os.ReadFile(overlay.Replace[source])
	if diff := cmp.Diff("const most = 9\nconst least = 0\n", string(edited)); diff != "" || err != nil {
		t.Errorf("(-want +got), %v:\n%s", err, diff)
	}
	for _, from := range []string{"most = 7", "const"} {
		if _, err := writeOverlay(root, dir, []sourceEdit{{"limit.go", from, ""}}); err == nil {
			t.Errorf("%q, which the file does not have once, is no error", from)
		}
	}
}

// A defence that changes takes its edit along: this fails in `make test`, not only in
// CI's run of the attacks.
func TestDefencesAreInTheSource(t *testing.T) {
	for _, d := range defenceCases() {
		if _, err := writeOverlay("../..", t.TempDir(), d.off); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		if _, err := findAttack(d.attack); err != nil || d.shows == "" {
			t.Errorf("%s: %v", d.name, err)
		}
	}
}

func TestUndefendedRows(t *testing.T) {
	d := defenceCase{name: "a wall", attack: "whispers", shows: "victims"}
	for _, c := range []struct {
		problems []string
		want     bool
	}{
		{nil, false},
		{[]string{"attack: events take 6.0 times as long"}, false},
		{[]string{"attack: events take 6.0 times as long", "attack: 3 of 9 victims' requests and events failed"}, true},
	} {
		r := undefendedRow{d, c.problems}
		if err := writeUndefended(t.Output(), []undefendedRow{r}); r.isNeeded() != c.want || (err == nil) != c.want {
			t.Errorf("%q: needed %v, %v; want %v", c.problems, r.isNeeded(), err, c.want)
		}
	}
}
