// The nonces of votes that were seen, in one array: a table with open addressing. A Set of strings takes
// some five times as long and four times the memory.

import { word } from "./sha256.js";

const words = 4; // of a nonce

export class NonceSet {
  #table = new Int32Array(1024 * words); // a power of 2; zeros are an empty place
  #size = 0;
  #hasZero = false;
  readonly #key = crypto.getRandomValues(new Int32Array(words)).map((word) => word | 1); // a site cannot choose nonces that collide

  // add reports whether a nonce of 16 bytes is new.
  add(nonce: Uint8Array): boolean {
    return this.#add(word(nonce, 0), word(nonce, 4), word(nonce, 8), word(nonce, 12));
  }

  #add(a: number, b: number, c: number, d: number): boolean {
    if ((a | b | c | d) === 0) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    const table = this.#table;
    let at = this.#place(a, b, c, d);
    while ((table[at]! | table[at + 1]! | table[at + 2]! | table[at + 3]!) !== 0) {
      if (table[at] === a && table[at + 1] === b && table[at + 2] === c && table[at + 3] === d) return false;
      at = (at + words) & (table.length - 1);
    }
    table[at] = a;
    table[at + 1] = b;
    table[at + 2] = c;
    table[at + 3] = d;
    this.#size++;
    if (2 * words * this.#size > table.length) this.#grow();
    return true;
  }

  #place(a: number, b: number, c: number, d: number): number {
    const k0 = this.#key[0]!, k1 = this.#key[1]!, k2 = this.#key[2]!, k3 = this.#key[3]!;
    let mixed = Math.imul(a, k0) ^ Math.imul(b, k1);
    mixed = Math.imul(mixed ^ (mixed >>> 15), k2) ^ Math.imul(c, k3);
    mixed = Math.imul(mixed ^ (mixed >>> 13), k0) ^ Math.imul(d, k1);
    return (words * (mixed ^ (mixed >>> 16))) & (this.#table.length - 1);
  }

  #grow(): void {
    const old = this.#table;
    this.#table = new Int32Array(2 * old.length);
    this.#size = 0;
    for (let at = 0; at < old.length; at += words) {
      const a = old[at]!, b = old[at + 1]!, c = old[at + 2]!, d = old[at + 3]!;
      if ((a | b | c | d) !== 0) this.#add(a, b, c, d);
    }
  }
}
