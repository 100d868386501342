// Merkle trees of RFC 6962.

import { type Bytes, equal } from "./bytes.js";
import { digest, sha256 } from "./sha256.js";

export interface Tree {
  size: number;
  root: Bytes;
}

export const emptyTree = (): Tree => ({ size: 0, root: sha256(new Uint8Array()) });

export const equalTrees = (a: Tree, b: Tree): boolean => a.size === b.size && equal(a.root, b.root);

// Memory that every digest uses again.
const leafBuffer = new Uint8Array(1 + (1 << 16)), nodeBuffer = Uint8Array.of(1, ...new Uint8Array(64));

export function leafHash(data: Uint8Array): Bytes {
  leafBuffer.set(data, 1);
  return sha256(leafBuffer, 1 + data.length);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Bytes {
  nodeBuffer.set(left, 1);
  nodeBuffer.set(right, 33);
  return sha256(nodeBuffer);
}

// split returns the number of leaves in the left half of a tree of n > 1.
export function split(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

// turns returns the turns from the top of a tree down to a leaf: true is right.
export function turns(index: number, size: number): boolean[] {
  const list: boolean[] = [];
  while (size > 1) {
    const k = split(size), right = index >= k;
    list.push(right);
    if (right) index -= k;
    size = right ? size - k : k;
  }
  return list;
}

// hasLeaf reports whether a path of hashes, from the leaf up, leads to the root of a tree.
export function hasLeaf(tree: Tree, index: number, data: Uint8Array, path: Bytes[]): boolean {
  if (index >= tree.size) return false;
  const rights = turns(index, tree.size).reverse();
  if (path.length !== rights.length) return false;
  const root = path.reduce((hash, sibling, i) => (rights[i] ? nodeHash(sibling, hash) : nodeHash(hash, sibling)), leafHash(data));
  return equal(root, tree.root);
}

// Frontier has the hashes of a growing tree that its later roots depend on: at most 64.
export class Frontier {
  #size = 0;
  #depth = 0; // how many hashes there are
  readonly #hashes = new Uint8Array(64 * 32); // of perfect subtrees, the largest first

  append(data: Uint8Array): void {
    leafBuffer.set(data, 1);
    digest(leafBuffer, 1 + data.length, this.#hashes, 32 * this.#depth++);
    for (let n = this.#size++; n % 2 === 1; n = (n - 1) / 2) this.#join();
  }

  // #join puts the parent of the last two hashes in their place.
  #join(): void {
    const at = 32 * (--this.#depth - 1), hashes = this.#hashes;
    for (let i = 0; i < 64; i++) nodeBuffer[1 + i] = hashes[at + i]!; // faster than a subarray
    digest(nodeBuffer, 65, hashes, at);
  }

  tree(): Tree {
    if (this.#size === 0) return emptyTree();
    const hashes = Array.from({ length: this.#depth }, (_, i) => this.#hashes.slice(32 * i, 32 * i + 32));
    return { size: this.#size, root: joinFrontier(hashes) };
  }
}

// joinFrontier returns the root over the hashes of perfect subtrees, at least one, the largest first.
export const joinFrontier = (hashes: Bytes[]): Bytes => hashes.reduceRight((right, left) => nodeHash(left, right));
