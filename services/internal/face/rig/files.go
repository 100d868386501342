package rig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxFile limits the size of a file of an extension, and maxPage that of a page, which the rig holds
// in memory while it serves it.
const (
	maxFile = 64 << 20
	maxPage = 1 << 20
)

// helperPath is the path of the helper at the extension's origin.
const helperPath = "/acclaim-rig/helper.js"

// Views has the file of each view that an extension has.
type Views map[string]string

// viewFiles returns the files that a view may be in, by the names that the platform proposes.
func viewFiles() map[string][]string {
	return map[string][]string{
		"panel":           {"panel.html", "index.html"},
		"video_overlay":   {"video_overlay.html"},
		"video_component": {"video_component.html"},
		"mobile":          {"mobile.html"},
		"config":          {"config.html"},
		"live_config":     {"live_config.html"},
	}
}

// FindViews returns the views of an extension: those that named has, and those that its files
// have by the names that the platform proposes.
func FindViews(files fs.FS, named map[string]string) (Views, error) {
	known := viewFiles()
	views := Views{}
	for view, name := range named {
		if known[view] == nil {
			return nil, fmt.Errorf("there is no view %q; the views are panel, video_overlay, video_component, mobile, config and live_config", view)
		}
		name = path.Clean(strings.TrimPrefix(name, "/"))
		if !isFile(files, name) {
			return nil, fmt.Errorf("the view %s: the extension has no file %q", view, name)
		}
		views[view] = name
	}
	for view, names := range known {
		if i := slices.IndexFunc(names, func(name string) bool { return isFile(files, name) }); i >= 0 && views[view] == "" {
			views[view] = names[i]
		}
	}
	if len(views) == 0 {
		return nil, fmt.Errorf("the extension has no panel.html, video_overlay.html, video_component.html, mobile.html, config.html or live_config.html; name a view's file, as in --view panel=dist/index.html")
	}
	return views, nil
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}

// fileHandler serves the extension's files, under a policy like the platform's, and the helper.
func (r *rig) fileHandler() http.Handler {
	helper, err := static.ReadFile("static/helper.js")
	if err != nil {
		panic(err) // it is embedded
	}
	policy := r.Domains.policy("http://"+r.page, r.API)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodGet && q.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		var content io.ReadSeeker = bytes.NewReader(helper)
		if q.URL.Path != helperPath {
			file, err := openFile(r.Files, strings.TrimPrefix(q.URL.Path, "/"))
			if err != nil {
				http.Error(w, err.Error(), http.StatusNotFound)
				return
			}
			defer file.Close() // it is only read
			content = file
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-store") // a change of a file is there after a reload
		http.ServeContent(w, q, path.Base(q.URL.Path), time.Time{}, content)
	})
}

// openFile opens a file of the extension. A page has the rig's helper in place of the platform's. Other
// files are not held in memory: any page of the browser can ask for them.
func openFile(files fs.FS, name string) (io.ReadSeekCloser, error) {
	if !fs.ValidPath(name) || !isFile(files, name) {
		return nil, fmt.Errorf("the extension has no file %q", name)
	}
	file, err := openSeekable(files, name)
	if err != nil {
		return nil, err
	}
	most := int64(maxFile)
	ext := path.Ext(name)
	isPage := ext == ".html" || ext == ".htm"
	if isPage {
		most = maxPage
	}
	if file.size > most {
		return nil, errors.Join(fmt.Errorf("%s has more than %d MiB", name, most>>20), file.Close())
	}
	if !isPage {
		return file, nil
	}
	defer file.Close() //nolint:errcheck // it is only read
	content, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, err
	}
	return page{bytes.NewReader(helperAddress().ReplaceAllLiteral(content, []byte(helperPath)))}, nil
}

// page is a page in memory.
type page struct{ *bytes.Reader }

func (page) Close() error { return nil }

// helperAddress matches the address of the platform's helper, of any version.
func helperAddress() *regexp.Regexp {
	return regexp.MustCompile(`(https?:)?//extension-files\.twitch\.tv/helper/v[0-9.]+/twitch-ext(\.min)?\.js`)
}
