// Leaves of the log, which holds the results of all polls.

import { type Bytes, Decoder, FormatError, text } from "./bytes.js";
import { checkOrigin } from "./name.js";
import { parseKey } from "./note.js";
import { type Sums, parseSums } from "./sums.js";
import type { Tree } from "./tree.js";

export const Status = { open: 1, closed: 2, reset: 3, ended: 4 } as const;

export const noLeaf = -1;

// PollLeaf is the state of a poll's tree.
export interface PollLeaf {
  kind: "poll";
  at: number; // Unix milliseconds
  poll: Bytes;
  tree: Bytes;
  status: number;
  entries: Tree;
  prev: number; // index of this tree's last leaf, noLeaf without one
  erasures: number;
  final: boolean;
  sums?: Sums;
  ballots?: Tree; // number and root of the ballots
}

// LogLeaf is the state of a poll, the beginning of the log, or a new key. A check of receipts uses
// only the first.
export type LogLeaf = PollLeaf | { kind: "begin" | "key"; at: number };

const hasSums = 1, isFinal = 2, hasBallots = 4;

const readTree = (d: Decoder): Tree => ({ size: d.index(), root: d.bytes(32) });

export function parseLogLeaf(data: Uint8Array): LogLeaf {
  const d = new Decoder(data);
  const version = d.u8(), kind = d.u8(), at = d.index();
  if (version !== 1 || kind < 1 || kind > 3) throw new FormatError("log leaf: a version or a kind is unknown");
  const leaf = kind === 1 ? readBegin(d, at) : kind === 2 ? readKey(d, at) : readPoll(d, at);
  d.end();
  return leaf;
}

function readBegin(d: Decoder, at: number): LogLeaf {
  checkOrigin(text(d.block()));
  const oldOrigin = text(d.block()), old = readTree(d);
  if (oldOrigin !== "") checkOrigin(oldOrigin);
  else if (old.size !== 0 || old.root.some((byte) => byte !== 0)) throw new FormatError("log leaf: a tree of no log");
  return { kind: "begin", at };
}

function readKey(d: Decoder, at: number): LogLeaf {
  parseKey(text(d.block()));
  return { kind: "key", at };
}

function readPoll(d: Decoder, at: number): PollLeaf {
  const poll = d.bytes(32), tree = d.bytes(16), status = d.u8(), flags = d.u8();
  if (status < Status.open || status > Status.ended || flags > (hasSums | isFinal | hasBallots)) throw new FormatError("log leaf: a status or a bit is unknown");
  const entries = readTree(d), prev = readPrev(d), erasures = d.index(), final = (flags & isFinal) !== 0;
  if (final && (status !== Status.closed || (flags & hasSums) === 0)) throw new FormatError("log leaf: a final result is of a closed poll and has sums");
  const leaf: PollLeaf = { kind: "poll", at, poll, tree, status, entries, prev, erasures, final };
  if (flags & hasSums) leaf.sums = parseSums(d.block());
  if (flags & hasBallots) leaf.ballots = readTree(d);
  return leaf;
}

function readPrev(d: Decoder): number {
  const prev = d.u64();
  if (prev === 2n ** 64n - 1n) return noLeaf;
  if (prev > BigInt(Number.MAX_SAFE_INTEGER)) throw new FormatError("log leaf: a number is out of range");
  return Number(prev);
}
