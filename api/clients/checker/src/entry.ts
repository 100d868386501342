// Entries of a poll's tree: votes, weights, configurations and events.

import { type Bytes, Decoder, FormatError, concat, u64, utf8 } from "./bytes.js";
import { type Config, parseConfig } from "./config.js";
import { hmacSha256, sha256 } from "./sha256.js";

export const Kind = { add: 1, set: 2, modifier: 3, config: 4, begin: 5, reset: 6, close: 7, open: 8, erasure: 9, hide: 10, reveal: 11 } as const;

// Fields that a kind does not use are 0 or absent.
export interface Entry {
  kind: number;
  byStaff: boolean; // submitted by staff or the extension's own server
  nonce?: Bytes; // the digest of the voter's secret
  voter: number; // index of the voter's first entry since the last reset
  value: number;
  times: number;
  config: number; // index of the newest configuration before the entry
  add?: bigint; // of a modifier
  settings?: Config; // of a configuration
  tree?: Bytes;
  poll?: Bytes;
  at?: number; // Unix milliseconds
  salt?: Bytes; // the digest of a salt key in the entry that hides, the key in the one that reveals
}

// Leaf is an entry, behind a salt while the results of its poll are hidden.
export interface Leaf {
  entry: Entry;
  salt?: Bytes;
}

const byStaff = 1, hasNonce = 2;

export const isVote = (kind: number): boolean => kind === Kind.add || kind === Kind.set;

export function parseEntry(data: Uint8Array): Entry {
  const d = new Decoder(data);
  const version = d.u8(), kind = d.u8(), flags = d.u8(), reserved = d.u8();
  if (version !== 1 || kind < Kind.add || kind > Kind.reveal || flags > (byStaff | hasNonce) || reserved !== 0) {
    throw new FormatError("entry: a version, a kind or a bit is unknown");
  }
  const e: Entry = { kind, byStaff: (flags & byStaff) !== 0, voter: d.index(), value: d.i16(), times: d.u16(), config: d.index() };
  const nonce = d.bytes(16);
  if (flags & hasNonce) e.nonce = nonce;
  else if (!isZero(nonce)) throw new FormatError("entry: it has a nonce without its flag");
  parseTail(e, d);
  checkFields(e);
  d.end();
  return e;
}

const isZero = (data: Bytes): boolean => data.every((byte) => byte === 0);

function parseTail(e: Entry, d: Decoder): void {
  switch (e.kind) {
    case Kind.modifier:
      e.add = d.i64();
      return;
    case Kind.config:
      e.settings = parseConfig(d.bytes(d.left));
      return;
    case Kind.begin:
      e.tree = d.bytes(16);
      e.poll = d.bytes(32);
      e.at = d.index();
      return;
    case Kind.reset:
    case Kind.close:
    case Kind.open:
    case Kind.erasure:
      e.at = d.index();
      return;
    case Kind.hide:
    case Kind.reveal:
      e.salt = d.bytes(32);
  }
}

// checkFields throws for a field out of range, or set where the kind does not use it.
function checkFields(e: Entry): void {
  if (isVote(e.kind)) {
    if (e.value < -128 || e.value > 128 || e.times < 1 || e.times > 30) throw new FormatError("entry: a number is out of range");
    return;
  }
  const votes = e.nonce !== undefined || e.value !== 0 || e.times !== 0;
  if (votes || (e.kind !== Kind.modifier && (e.byStaff || e.voter !== 0 || e.config !== 0))) {
    throw new FormatError("entry: a field that the kind does not use is not 0");
  }
}

export function parseLeaf(data: Uint8Array): Leaf {
  if (data[0] !== 2) return { entry: parseEntry(data) };
  const salt = new Decoder(data.subarray(1)).bytes(16);
  return { entry: parseEntry(data.subarray(17)), salt };
}

// saltAt is the salt before the hidden entry with an index.
export const saltAt = (key: Bytes, index: number): Bytes => hmacSha256(key, u64(index)).slice(0, 16);

// saltCommitment is the digest of a salt key that the hide entry shows.
export const saltCommitment = (key: Bytes): Bytes => sha256(concat(utf8("acclaim salt v1\n"), key));
