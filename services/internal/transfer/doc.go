// Package transfer takes what a store holds of an extension out as text and back
// in again. What Import stores is, bit for bit, what Export read, hash chains and
// versions included, whether it went through JSON Lines, which people and jq can read,
// or CSV, which is for spreadsheets.
//
// An export is a header, for each stream its chunks and an end, the documents and
// a footer, one JSON object on each line:
//
//	{"record":"header","format":"acclaim-export","version":1,"extension":…,"environments":[…],"kinds":[…]}
//	{"record":"chunk","kind":"votes",…,"id":…,"seq":1,"at":…,"chunk":…,"entries":[…],"sum":…}
//	{"record":"end","kind":"votes",…,"id":…,"chunks":1,"entries":…,"head":…}
//	{"record":"document",…,"key":[…],"version":…,"write":…,"body":{…},"sum":…}
//	{"record":"footer","streams":…,"chunks":…,"entries":…,"documents":…,"digest":…}
//
// As CSV, which holds one kind, the same records are rows below a heading. What all
// have in common is in columns, the rest of it an object in the last one. Each entry has
// a row, on which its chunk's place is repeated; the last row of a chunk has its sum.
// The rows are read by making lines of them again, so that one code checks both.
//
// # Exactness
//
//  1. Export reads every line back, with the code of Import, before it writes it.
//     Where that does not give the same bytes the line carries them too.
//
//  2. Import makes the bytes of a chunk from what the line says, and stores it only
//     if its digest, with that of the chunk before in it, is the sum of the line. So
//     an edited value, a line that is missing or one that moved are refused.
//
//  3. The footer counts what was written and digests all sums in their order. A
//     file without one was cut off.
//
//  4. Import replaces nothing. What is there and the same is left alone, so an
//     import that ended half-way can be repeated; what is there and differs ends it.
//
// Members that are not known are ignored: what a chunk says is in its sum, so a
// later version may add to a record without an earlier one storing less unnoticed.
//
// Both read and write in bounded steps. Export keeps the names of the streams of
// one kind in memory, Import a batch of lines. Neither holds anything locked. What
// is written to the store while it is exported may be missing: each stream is
// exported up to some chunk, each document at some version.
//
// The package may not know HTTP, files or a database.
package transfer
