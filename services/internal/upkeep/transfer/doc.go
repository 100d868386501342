// Package transfer exports the data of an extension as text and imports it again.
// Import stores, bit for bit, what Export read, hash chains and versions included.
// Export writes JSON Lines, which people and jq can read; ExportCSV writes a table
// for spreadsheets, which cannot be imported.
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
// # Exactness
//
//  1. Export reads every line back, with the code of Import, before it writes it.
//     Where that does not give the same bytes the line carries them too.
//
//  2. Import makes the bytes of a chunk from what the line says, and stores it only
//     if its digest, with that of the chunk before in it, is the sum of the line. So
//     an edited value, a line that is missing or one that moved are refused.
//
//  3. The footer counts the records and digests all sums in their order. A file
//     without one was cut off.
//
//  4. Import replaces nothing. It leaves equal content alone, so an import that
//     ended half-way can be repeated; different content ends it.
//
// Unknown members are ignored: the sum of a chunk covers its content, so an earlier
// version cannot store less than a later one wrote without noticing.
//
// Both read and write in bounded steps: Import keeps a batch of lines in memory.
// Neither holds a lock. Data written
// to the store during an export may be missing: each stream is exported up to some
// chunk, each document at some version.
//
// The package may not know HTTP, files or a database.
package transfer
