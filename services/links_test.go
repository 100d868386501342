package main

import (
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// An erasure of one id of a viewer also erases the viewer's other ids, in both
// stores.
func TestEraseFollowsLinks(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]func() []string{
		"embedded": func() []string { return []string{"--data-dir", t.TempDir()} },
		"database": func() []string { return []string{"--mongodb-uri", mongotest.WithLongTimeouts(mongotest.Start(t))} },
	} {
		for given, found := range map[string]string{"--user=" + leavingUser: leavingOpaque, "--opaque=" + leavingOpaque: leavingUser} {
			t.Run(name+" "+given, func(t *testing.T) {
				t.Parallel()
				store := flags()
				p := startProgram(t, t.TempDir(), "serve", store...)
				populate(t, p)
				before := answers(t, p)
				p.end(t)
				out, status := runErase(t, append(store, given)...)
				if status != 0 || !strings.Contains(out, `Other ids of the viewer, which are erased as well: ["`+found+`"]`) {
					t.Errorf("status %d, want that %s is named\n%s", status, found, out)
				}
				for _, id := range []string{leavingOpaque, leavingUser} {
					if store[0] == "--data-dir" && holds(t, store[1], id) ||
						store[0] == "--mongodb-uri" && len(collectionsWith(t, strings.Split(store[1], "?")[0], id)) > 0 {
						t.Errorf("%s is stored still", id)
					}
				}
				if out, status := runVerify(t, store...); status != 0 {
					t.Errorf("verify: status %d\n%s", status, out)
				}
				wantGone(t, startProgram(t, t.TempDir(), "serve", store...), before)
			})
		}
	}
}
