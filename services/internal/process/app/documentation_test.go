package app

import "testing"

// Only a release has a site: a version after a tag, as git describes it, is a pre-release to semver.
func TestDocumentationOfAVersion(t *testing.T) {
	for build, want := range map[Build]string{
		{Version: "v1.2.3", Commit: "abc"}:                 "https://acclaim-dev.github.io/acclaim/v1.2.3/",
		{Version: "v1.2.3-4-gabcdef123456", Commit: "abc"}: "https://github.com/acclaim-dev/acclaim/blob/abc/README.md#pages",
		{Version: "v1.2.3+dirty", Commit: "abc"}:           "https://github.com/acclaim-dev/acclaim/blob/abc/README.md#pages",
		{Version: "abcdef123456", Commit: "abc"}:           "https://github.com/acclaim-dev/acclaim/blob/abc/README.md#pages",
		{Version: "dev", Commit: "unknown"}:                "https://github.com/acclaim-dev/acclaim/blob/main/README.md#pages",
		{}:                                                 "https://github.com/acclaim-dev/acclaim/blob/main/README.md#pages",
	} {
		if got := build.documentation(); got != want {
			t.Errorf("%+v: %s, want %s", build, got, want)
		}
	}
}
