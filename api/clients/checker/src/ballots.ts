// Ballots, and the Merkle sum tree over them.

import { type Bytes, Decoder, FormatError, block, concat, equal, u64 } from "./bytes.js";
import { digest, sha256 } from "./sha256.js";
import { type Sums, addVotes, checkSums, encodeSums, equalSums, noSums, parseSums, plus } from "./sums.js";
import { type Tree, split, turns } from "./tree.js";

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
  const hash = new Uint8Array(32);
  putBallotHash(b, hash, 0);
  return hash;
}

function putBallotHash(b: Ballot, out: Uint8Array, outAt: number): void {
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
  digest(ballotBuffer, 1 + at, out, outAt);
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
const joinBuffer = new Uint8Array(1 + 2 * (32 + 2 + 52 + 16 * 32)), joinView = new DataView(joinBuffer.buffer);

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

// sumsOfBallots throws when sums are out of bounds. Those of fewer ballots are then in bounds, too.
export function sumsOfBallots(ballots: Iterable<Ballot>): Sums {
  const ordinary = new Float64Array(257), sums = noSums(); // how many votes of weight 1 each value has
  for (const { weight, choices } of ballots) {
    for (const { value, times } of choices) {
      if (weight === 1n) ordinary[value + 128]! += times;
      else addVotes(sums, weight, value, times);
    }
  }
  ordinary.forEach((times, i) => addVotes(sums, 1n, i - 128, times));
  checkSums(sums);
  return sums;
}

// Ballots are by rising voter number.
export interface Ballots {
  ballotCount: number;
  ballots(): Iterable<Ballot>;
}

// treeOfBallots returns the tree of ballots with these sums.
export function treeOfBallots(all: Ballots, sums: Sums): Tree {
  const size = all.ballotCount, encoded = encodeSums(sums);
  if (size === 0) return { size, root: ballotRoot(0, { hash: sha256(new Uint8Array()), sums, encoded }) };
  const small = sums.squares <= Number.MAX_SAFE_INTEGER && sums.count <= Number.MAX_SAFE_INTEGER; // no sum exceeds the squares
  const hash = small ? hashSmall(all.ballots(), sums.slots.length) : hashLarge([...all.ballots()]);
  return { size, root: ballotRoot(size, { hash, sums, encoded }) };
}

// hashLarge returns the hash over ballots, at least one.
export function hashLarge(ballots: Ballot[]): Bytes {
  const node = (from: number, to: number): Node => {
    if (to - from === 1) return { hash: ballotHash(ballots[from]!), ...sumsOf(ballots[from]!) };
    const middle = from + split(to - from);
    return joinNodes(node(from, middle), node(middle, to));
  };
  return node(0, ballots.length).hash;
}

// hashSmall returns the hash over ballots whose sums a number holds exactly. It takes a tenth of the time.
export function hashSmall(ballots: Iterable<Ballot>, slots: number): Bytes {
  const stack = new SmallNodes(slots);
  let size = 0;
  for (const b of ballots) {
    stack.push(b);
    for (let n = size++; n % 2 === 1; n = (n - 1) / 2) stack.join();
  }
  return stack.top();
}

// SmallNodes has the perfect subtrees of a growing ballot tree, the largest first.
class SmallNodes {
  #depth = 0;
  readonly #hashes = new Uint8Array(64 * 32);
  readonly #sums: Float64Array; // of each node count, sum, squares and slots
  readonly #width: number;

  constructor(slots: number) {
    this.#width = 3 + slots;
    this.#sums = new Float64Array(64 * this.#width);
  }

  push(b: Ballot): void {
    const sums = this.#sums, at = this.#width * this.#depth, weight = Number(b.weight);
    putBallotHash(b, this.#hashes, 32 * this.#depth++);
    sums.fill(0, at, at + this.#width);
    for (const { value, times } of b.choices) {
      const n = weight * times;
      sums[at]! += n;
      sums[at + 1]! += n * value;
      sums[at + 2]! += n * value * value;
      if (value >= 0 && 3 + value < this.#width) sums[at + 3 + value]! += n;
    }
  }

  // join puts the parent of the last two nodes in their place.
  join(): void {
    const left = --this.#depth - 1, sums = this.#sums, width = this.#width;
    joinBuffer[0] = 0x11;
    const size = this.#put(left + 1, this.#put(left, 1));
    digest(joinBuffer, size, this.#hashes, 32 * left);
    for (let i = 0, at = left * width; i < width; i++, at++) sums[at]! += sums[at + width]!;
  }

  // #put writes a node as its parent hashes it, and returns where it ends.
  #put(node: number, at: number): number {
    const sums = this.#sums, first = this.#width * node, end = first + this.#width, view = joinView;
    for (let i = 0; i < 32; i++) joinBuffer[at + i] = this.#hashes[32 * node + i]!;
    const length = at + 32;
    at = length + 2;
    for (let i = first; i < first + 3; i++, at += 16) putSmall(view, at, sums[i]!);
    let mask = 0, slotAt = at + 4;
    for (let i = first + 3; i < end; i++) {
      if (sums[i] === 0) continue;
      mask |= 1 << (i - first - 3);
      putSmall(view, slotAt, sums[i]!);
      slotAt += 16;
    }
    view.setUint32(at, mask);
    view.setUint16(length, slotAt - length - 2);
    return slotAt;
  }

  top(): Bytes {
    while (this.#depth > 1) this.join();
    return this.#hashes.slice(0, 32);
  }
}

// putSmall writes 128 bits.
function putSmall(view: DataView, at: number, n: number): void {
  const sign = n < 0 ? -1 : 0;
  view.setInt32(at, sign);
  view.setInt32(at + 4, sign);
  view.setInt32(at + 8, Math.floor(n / 2 ** 32));
  view.setInt32(at + 12, n % 2 ** 32); // which takes the lower 32 bits
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
