// Package backup keeps exports of a whole store in a folder, and reads them again.
//
// A backup is a subfolder that is named by the time at which it began, and has an
// export for each extension and the checksums of these files:
//
//	20261123T031700Z/
//	  quiz.jsonl.gz       the export of the extension "quiz", as package transfer writes it
//	  erasures.jsonl      the records of erasures that the store had, if any
//	  SHA256SUMS          as `sha256sum --check` reads it
//
// The subfolder gets its name when all of it is on the disk: a process that ends
// early leaves nothing that looks like a backup. What it does leave is removed a day
// later.
//
// One process at a time may create backups in a folder.
package backup
