// Package document edits versioned JSON documents: it replaces them, applies
// JSON Patches and JSON Merge Patches to them, and makes sure that edits which
// come at the same time never lose one another.
//
// Edits of one document wait in one line. Those that arrived while the write
// before was under way are decided in order against one another and become one
// new version, so a hot document costs one write for many edits. The store's
// compare-and-set guards against writers in other processes.
//
// The package knows nothing of what the documents mean, of HTTP or of any
// database; it declares the store it needs.
package document
