// Ballots, and the Merkle sum tree over them.

import { type Bytes, Decoder, FormatError, block, concat, equal, u64 } from "./bytes.js";
import { sha256 } from "./sha256.js";
import { type Sums, addVotes, checkSums, encodeSums, equalSums, noSums, parseSums, plus } from "./sums.js";
import { split, turns } from "./tree.js";

export interface Choice {
  value: number;
  times: number;
}

// Ballot is all that counts of one voter.
export interface Ballot {
  voter: number;
  weight: bigint;
  choices: Choice[]; // by rising value
}

// Memory that every digest uses again, for a ballot of the most choices.
const ballotBuffer = new Uint8Array(1 + 18 + 4 * 258), ballotView = new DataView(ballotBuffer.buffer, 1);

function ballotHash(b: Ballot): Bytes {
  ballotBuffer[0] = 0x10;
  ballotView.setUint32(0, Math.floor(b.voter / 2 ** 32));
  ballotView.setUint32(4, b.voter % 2 ** 32);
  ballotView.setBigUint64(8, b.weight);
  ballotView.setUint16(16, b.choices.length);
  let at = 18;
  for (const { value, times } of b.choices) {
    ballotView.setInt16(at, value);
    ballotView.setUint16(at + 2, times);
    at += 4;
  }
  return sha256(ballotBuffer, 1 + at);
}

export function parseBallot(data: Uint8Array): Ballot {
  const d = new Decoder(data);
  const b: Ballot = { voter: d.index(), weight: d.u64(), choices: [] };
  const n = d.u16();
  if (n === 0 || n > 258 || d.left !== 4 * n) throw new FormatError("ballot: its number of choices is out of range");
  for (let i = 0, least = -128; i < n; i++) {
    const choice = { value: d.i16(), times: d.u16() };
    if (choice.value < least || choice.value > 128 || choice.times === 0) throw new FormatError("ballot: a choice is out of range");
    b.choices.push(choice);
    least = choice.value + 1;
  }
  d.end();
  return b;
}

// EncodedSums are sums with their encoding. Nothing changes them.
interface EncodedSums {
  sums: Sums;
  encoded: Bytes;
}

// Node is a node of a ballot tree.
interface Node extends EncodedSums {
  hash: Bytes;
}

function sumsOf(b: Ballot): EncodedSums {
  const sums = noSums();
  for (const choice of b.choices) addVotes(sums, b.weight, choice.value, choice.times);
  checkSums(sums);
  return { sums, encoded: encodeSums(sums) };
}

// Memory that every digest uses again, for two nodes of the longest sums.
const joinBuffer = new Uint8Array(1 + 2 * (32 + 2 + 52 + 16 * 32));

function joinNodes(l: Node, r: Node): Node {
  joinBuffer[0] = 0x11;
  let at = 1;
  for (const { hash, encoded } of [l, r]) {
    joinBuffer.set(hash, at);
    joinBuffer[at + 32] = encoded.length >> 8;
    joinBuffer[at + 33] = encoded.length;
    joinBuffer.set(encoded, at + 34);
    at += 34 + encoded.length;
  }
  const sums = plus(l.sums, r.sums);
  checkSums(sums);
  return { hash: sha256(joinBuffer, at), sums, encoded: encodeSums(sums) };
}

function ballotRoot(n: number, top: Node): Bytes {
  return sha256(concat(Uint8Array.of(0x12), u64(n), top.hash, block(top.encoded)));
}

// BallotTotal has the root of a ballot tree and the sums of its ballots.
export interface BallotTotal {
  root: Bytes;
  sums: Sums;
}

// totalOf throws when sums are out of bounds.
export function totalOf(ballots: Ballot[]): BallotTotal {
  const ordinary = new Map<number, EncodedSums>(); // of ballots with one vote of weight 1, by its value
  const leaf = (b: Ballot): Node => {
    const { value, times } = b.choices[0]!;
    if (b.weight !== 1n || b.choices.length > 1 || times > 1) return { hash: ballotHash(b), ...sumsOf(b) };
    const known = ordinary.get(value) ?? sumsOf(b);
    ordinary.set(value, known);
    return { hash: ballotHash(b), sums: known.sums, encoded: known.encoded };
  };
  const node = (from: number, to: number): Node => {
    if (to - from === 1) return leaf(ballots[from]!);
    const middle = from + split(to - from);
    return joinNodes(node(from, middle), node(middle, to));
  };
  const top = ballots.length > 0 ? node(0, ballots.length) : { hash: sha256(new Uint8Array()), sums: noSums(), encoded: encodeSums(noSums()) };
  return { root: ballotRoot(ballots.length, top), sums: top.sums };
}

// checkBallotProof returns the ballot of a voter that a proof shows in a tree of n ballots, or throws.
export function checkBallotProof(proof: Uint8Array, voter: number, n: number, total: BallotTotal): Ballot {
  const position = new Decoder(proof).index();
  if (position >= n) throw new FormatError("the position is out of range");
  const positions = [position, position - 1, position + 1].filter((p) => p >= 0 && p < n);
  const d = new Decoder(proof);
  const ballots = positions.map((p) => {
    if (d.index() !== p || d.index() !== n) throw new FormatError("the paths are not those of neighbors");
    const { ballot, top } = readPath(d, p, n);
    if (!equal(ballotRoot(n, top), total.root) || !equalSums(top.sums, total.sums)) throw new FormatError("the path does not lead to the signed root");
    if (Math.sign(ballot.voter - voter) !== Math.sign(p - position)) throw new FormatError("the ballots are not in order");
    return ballot;
  });
  d.end();
  return ballots[0]!;
}

function readPath(d: Decoder, position: number, n: number): { ballot: Ballot; top: Node } {
  const ballot = parseBallot(d.block());
  let top: Node = { hash: ballotHash(ballot), ...sumsOf(ballot) };
  for (const right of turns(position, n).reverse()) {
    const hash = d.bytes(32), encoded = d.block();
    const sibling = { hash, sums: parseSums(encoded), encoded };
    top = right ? joinNodes(sibling, top) : joinNodes(top, sibling);
  }
  return { ballot, top };
}
