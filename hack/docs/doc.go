// Package docs has only tests: every command in a `sh` block of the repository's
// Markdown files is one that exists, with the flags it has, on files and routes
// that exist. A block after the line
//
//	<!-- run -->
//
// runs for real against a program that serves, which has the addresses that the
// block names replaced by its own. It can use $API and the tokens $VIEWER, $BACKEND
// and $BROADCASTER.
package docs
