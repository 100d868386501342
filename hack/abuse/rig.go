package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// rigCases are the attacks on `acclaim rig`, which signs tokens for the developer of an extension.
func rigCases() []attackCase {
	return []attackCase{
		{name: "rig", what: "pages of other sites and names ask the rig for tokens and for files beside the extension, then hold 3,500 connections", run: attackRig, rig: writeFolder, buildUp: 2 * time.Second},
		{name: "rig-archive", what: "the same, and the extension is an archive with files that grow", run: attackRig, rig: writeArchive, buildUp: 2 * time.Second},
	}
}

// The sizes of two files of the extension. The rig serves the first.
const (
	largeFile = 60 << 20
	bombFile  = 128 << 20
)

// rigFiles returns the sizes of the extension's files, which hold zeros.
func rigFiles() map[string]int64 {
	return map[string]int64{"panel.html": 1, "large.js": largeFile, "bomb.js": bombFile, "bomb.html": largeFile}
}

// writeFolder writes an extension's folder, with links that lead out of it.
func writeFolder(folder string) (string, error) {
	name := filepath.Join(folder, "extension")
	if err := os.MkdirAll(name, 0o700); err != nil {
		return "", err
	}
	for file, size := range rigFiles() {
		path := filepath.Join(name, file)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			return "", err
		}
	}
	return name, errors.Join(os.Symlink("../extensions.yaml", filepath.Join(name, "linked.yaml")), os.Symlink("..", filepath.Join(name, "outside")))
}

// writeArchive writes an extension's archive, which is a thousandth of its files.
func writeArchive(folder string) (name string, err error) {
	name = filepath.Join(folder, "extension.zip")
	file, err := os.Create(name)
	if err != nil {
		return "", err
	}
	archive := zip.NewWriter(file)
	defer func() { err = errors.Join(err, archive.Close(), file.Close()) }()
	zeros := make([]byte, 1<<20)
	for name, size := range rigFiles() {
		w, err := archive.Create(name)
		for ; err == nil && size > 0; size -= int64(len(zeros)) {
			_, err = w.Write(zeros[:min(size, int64(len(zeros)))])
		}
		if err != nil {
			return "", err
		}
	}
	return name, nil
}

// attackRig does what pages of other sites can have a developer's browser do, and more, while the
// developer's own page goes on.
func attackRig(ctx context.Context, a *attacker) {
	a.Address = a.Rig
	asking, stop := context.WithTimeout(ctx, a.Duration/2)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		a.repeatWell(asking, "a token of the page", func(ctx context.Context) int {
			return a.statusOfRig(ctx, forgery{method: http.MethodPost, path: "/token", body: `{"role":"viewer"}`, headers: []string{"Host", a.Rig, "Origin", "http://" + a.Rig, "Sec-Fetch-Site", "same-origin"}})
		})
	})
	all.Go(func() {
		a.repeatWell(asking, "a file of the extension", func(ctx context.Context) int {
			return a.statusOfRig(ctx, forgery{method: http.MethodGet, path: "/panel.html", headers: []string{"Host", a.extensionOrigin(), "Sec-Fetch-Site", "cross-site"}})
		})
	})
	for range 16 { // a page can name files of the extension, and does not need to read them
		all.Go(func() { a.ignoreFile(asking) })
	}
	forgeries := a.rigForgeries()
	a.flood(asking, 4, func(ctx context.Context, n int64) (string, error) {
		f := forgeries[n%int64(len(forgeries))]
		status, err := a.askRig(ctx, f)
		if status/100 == 2 || status/100 == 5 {
			a.breach(fmt.Sprintf("%s: %s %s is answered with %d", f.what, f.method, f.path, status))
		}
		return fmt.Sprint(status), err
	})
	all.Wait()
	a.flood(ctx, 3500, func(ctx context.Context, _ int64) (string, error) {
		conn, err := a.begin(ctx, "GET /v1/events HTTP/1.1\r\nHost: "+a.Rig+"\r\n")
		if err != nil {
			return "", err
		}
		return holdUntilClosed(ctx, conn, 0, 0)
	})
}

// extensionOrigin returns the host of the extension's files.
func (a *attacker) extensionOrigin() string {
	return "localhost" + a.Rig[strings.LastIndexByte(a.Rig, ':'):]
}

// rigForgeries returns what the rig must refuse, by what is wrong. The header Host is always there.
func (a *attacker) rigForgeries() (all []forgery) {
	port, files := a.Rig[strings.LastIndexByte(a.Rig, ':'):], a.extensionOrigin()
	const own, receipt = `{"role":"broadcaster","user":"1","shared":true}`, `{"user":"1","product":{"sku":"s","cost":{"amount":1,"type":"bits"}}}`
	for _, host := range []string{"rebound.example" + port, "127.0.0.1.rebound.example" + port, "localhost.rebound.example" + port, "127.0.0.1", "127.0.0.2" + port, "0.0.0.0" + port, "[::1]" + port, "LOCALHOST" + port + ".", ""} {
		same := []string{"Host", host, "Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}
		all = append(all, forgery{what: "a foreign name", body: own, headers: same}.of("POST /token", "GET /settings", "GET /", "GET /panel.html", "GET /v1/events")...)
		all = append(all, forgery{what: "a foreign name", body: receipt, headers: same}.of("POST /receipt")...)
	}
	for _, headers := range [][]string{
		{"Origin", "https://foreign.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "https://foreign.example", "Content-Type", "text/plain"}, {"Sec-Fetch-Site", "cross-site"},
		{"Origin", "null"}, {"Origin", "null", "Sec-Fetch-Site", "cross-site"}, {"Origin", "http://" + files, "Sec-Fetch-Site", "cross-site"}, {"Origin", "http://" + files},
		{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, {"Origin", "http://127.0.0.1:1"}, {"Origin", "http://" + a.Rig + ".foreign.example"},
	} {
		headers = append(headers, "Host", a.Rig)
		all = append(all, forgery{what: "a page of another origin", body: own, headers: headers}.of("POST /token")...)
		all = append(all, forgery{what: "a page of another origin", body: receipt, headers: headers}.of("POST /receipt")...)
	}
	for _, body := range []string{`{"role":"admin"}`, `{"role":"backend"}`, `{"role":"external"}`, `{"role":"viewer","channel":"2"}`, `{"role":"viewer","extension":"` + otherExtension + `"}`, `{"role":"staff_key"}`, `{}`} {
		all = append(all, forgery{what: "more than the page may have", body: body, headers: []string{"Host", a.Rig}}.of("POST /token")...)
	}
	all = append(all, forgery{what: "no request of the page", body: own, headers: []string{"Host", a.Rig}}.
		of("GET /token", "PUT /token", "OPTIONS /token", "GET /panel.html", "POST /v1/vote?id="+mainPoll, "GET /v1/vote", "GET /v1/events/../vote", "GET /metrics")...)
	all = append(all, forgery{what: "the extension's origin", body: own, headers: []string{"Host", files}}.of("POST /token", "POST /receipt", "GET /settings", "GET /v1/events")...)
	return append(all, forgery{what: "a file beside the extension", headers: []string{"Host", files}}.
		of("GET /../extensions.yaml", "GET /%2e%2e/extensions.yaml", "GET /..%2fextensions.yaml", `GET /..\extensions.yaml`, "GET /..%5cextensions.yaml", "GET /panel.html/../../extensions.yaml",
			"GET /linked.yaml", "GET /outside/extensions.yaml", "GET //etc/hostname", "GET /panel.html%00.yaml", "GET /.", "GET /", "GET /bomb.js", "GET /bomb.html")...)
}

// askRig sends a request as it is written, over a connection of its own, and returns the status. An answer that pages of other origins may read, or show in a frame, is a breach.
func (a *attacker) askRig(ctx context.Context, f forgery) (status int, err error) {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n", f.method, f.path, len(f.body))
	for i := 0; i < len(f.headers); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", f.headers[i], f.headers[i+1])
	}
	conn, err := a.begin(ctx, head.String()+"\r\n"+f.body)
	if err != nil {
		return 0, err
	}
	defer conn.end()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 1<<20) // the head is the answer
	if allowed := response.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
		a.breach(f.path + " may be read by " + allowed)
	}
	return response.StatusCode, nil
}

// statusOfRig is askRig, with the status 0 where there is none.
func (a *attacker) statusOfRig(ctx context.Context, f forgery) int {
	status, _ := a.askRig(ctx, f)
	return status
}

// ignoreFile asks for a large file of the extension and reads no more than its head.
func (a *attacker) ignoreFile(ctx context.Context) {
	conn, err := a.begin(ctx, "GET /large.js HTTP/1.1\r\nHost: "+a.extensionOrigin()+"\r\n\r\n")
	if err != nil {
		return
	}
	defer conn.end()
	line, _ := bufio.NewReaderSize(conn, 16).ReadString('\n')
	a.count("a large file: " + strings.TrimSpace(line))
	<-ctx.Done()
}
