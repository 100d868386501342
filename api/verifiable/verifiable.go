// Package verifiable has the formats of polls whose votes can be checked, and the checks: of a
// viewer's receipt, of a poll's result and of the log that holds all results. Servers build the
// formats with it; viewers, auditors and monitors check them. It may import nothing of the project,
// open no file and no connection: callers pass a [Source]. api/verifiable/README.md specifies the formats.
package verifiable

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// PollName names a poll. Channel is empty for a poll of all channels.
type PollName struct {
	Client  string `json:"client"`
	Channel string `json:"channel"`
	Poll    string `json:"poll"`
}

// PollKey stands for a poll's name in the log, which must hold no name.
type PollKey [sha256.Size]byte

// Key returns the digest of the name.
func (n PollName) Key() PollKey {
	buf := []byte("acclaim poll v1\n")
	for _, part := range []string{n.Client, n.Channel, n.Poll} {
		buf = appendBlock(buf, []byte(part))
	}
	return sha256.Sum256(buf)
}

// ResultPath returns the path of the poll's result.json below the site.
func (n PollName) ResultPath() string {
	channel := "-"
	if n.Channel != "" {
		channel = url.PathEscape(n.Channel)
	}
	return strings.Join([]string{"public", url.PathEscape(n.Client), channel, url.PathEscape(n.Poll), "result.json"}, "/")
}

// isAt reports whether a path is that of the poll's result.json, however it is percent-encoded.
func (n PollName) isAt(path string) bool {
	parts := strings.Split(path, "/")
	want := strings.Split(n.ResultPath(), "/")
	for i, part := range parts {
		got, errGot := url.PathUnescape(part)
		if i >= len(want) || errGot != nil {
			return false
		}
		if wanted, err := url.PathUnescape(want[i]); err != nil || got != wanted {
			return false
		}
	}
	return len(parts) == len(want)
}

// TreeID names one tree of a poll's entries. It is drawn at random when the tree begins.
type TreeID [16]byte

// String returns the id in hexadecimal digits.
func (t TreeID) String() string { return hex.EncodeToString(t[:]) }

// TreeOrigin returns the name under which a log's key signs checkpoints of a poll's tree.
func TreeOrigin(origin string, tree TreeID) string { return origin + "/t/" + tree.String() }

// maxOrigin bounds the origin of a log, in bytes.
const maxOrigin = 200

// CheckOrigin returns an error unless the name can be a log's: a setting such as
// example.com/acclaim, a slash and eight hexadecimal digits.
func CheckOrigin(origin string) error {
	setting, suffix, _ := cutLast(origin, "/")
	if setting == "" || len(suffix) != 8 || strings.Trim(suffix, "0123456789abcdef") != "" {
		return errors.New("an origin ends with a slash and 8 hexadecimal digits")
	}
	if len(origin) > maxOrigin {
		return fmt.Errorf("an origin has at most %d bytes", maxOrigin)
	}
	for _, c := range []byte(origin) {
		if c <= ' ' || c > '~' || c == '+' {
			return errors.New("an origin has only visible ASCII characters, without +")
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// Nonce is a secret of a client, drawn at random for each vote and kept until it shows a receipt.
type Nonce [16]byte

// NonceHash is the part of a nonce that an entry shows.
type NonceHash [16]byte

// HashNonce returns what the entry of a vote with the nonce shows.
func HashNonce(poll PollKey, nonce Nonce) NonceHash {
	buf := append([]byte("acclaim nonce v1\n"), poll[:]...)
	sum := sha256.Sum256(append(buf, nonce[:]...))
	return NonceHash(sum[:16])
}

// appendBlock appends bytes behind their length.
func appendBlock(buf, block []byte) []byte {
	return append(binary.BigEndian.AppendUint16(buf, uint16(len(block))), block...)
}
