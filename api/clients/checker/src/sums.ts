// The tally of ballots.

import { type Bytes, Decoder, FormatError } from "./bytes.js";

// Sums has the weighted number of votes, the sum of their values and of the squares, and the number
// of votes for each option of 0 to 31. The last of the slots is not 0.
export interface Sums {
  count: bigint;
  sum: bigint;
  squares: bigint;
  slots: bigint[];
}

const slotCount = 32;
const limit = 1n << 126n, maxUint64 = 2n ** 64n - 1n;

export const noSums = (): Sums => ({ count: 0n, sum: 0n, squares: 0n, slots: [] });

// addVotes adds votes for a value, each of a weight.
export function addVotes(s: Sums, weight: bigint, value: number, times: number): void {
  const n = weight * BigInt(times), v = BigInt(value);
  s.count += n;
  s.sum += n * v;
  s.squares += n * v * v;
  if (value < 0 || value >= slotCount || n === 0n) return;
  while (s.slots.length <= value) s.slots.push(0n);
  s.slots[value]! += n;
}

export function plus(l: Sums, r: Sums): Sums {
  const [long, short] = l.slots.length >= r.slots.length ? [l.slots, r.slots] : [r.slots, l.slots];
  const slots = long.slice();
  for (let i = 0; i < short.length; i++) slots[i]! += short[i]!;
  return { count: l.count + r.count, sum: l.sum + r.sum, squares: l.squares + r.squares, slots };
}

// checkSums throws for sums that no ballots can have.
export function checkSums(s: Sums): void {
  let total = 0n, fits = s.count >= 0n && s.count < limit && s.squares >= 0n && s.squares < limit && s.sum > -limit && s.sum < limit;
  for (const n of s.slots) {
    fits &&= n >= 0n;
    total += n;
  }
  const most = s.count << 7n;
  if (!fits || total > s.count || s.sum > most || s.sum < -most || s.squares > s.count << 14n) throw new FormatError("the sums are out of bounds");
}

// isTied reports whether the option with a value leads, and another one has as many votes. In a poll
// with options only those count.
export function isTied(s: Sums, value: bigint, options: number): boolean {
  const slots = s.slots.slice(0, options || slotCount), votes = slots[Number(value)] ?? 0n;
  return votes > 0n && slots.every((n) => n <= votes) && slots.filter((n) => n === votes).length > 1;
}

export const equalSums = (s: Sums, t: Sums): boolean =>
  s.count === t.count && s.sum === t.sum && s.squares === t.squares && s.slots.length === t.slots.length && s.slots.every((n, i) => n === t.slots[i]);

export function encodeSums(s: Sums): Bytes {
  let mask = 0, used = 0;
  for (let i = 0; i < s.slots.length; i++) {
    if (s.slots[i] === 0n) continue;
    mask |= 1 << i;
    used++;
  }
  const data = new Uint8Array(52 + 16 * used), view = new DataView(data.buffer);
  putInteger(view, 0, s.count);
  putInteger(view, 16, s.sum);
  putInteger(view, 32, s.squares);
  view.setUint32(48, mask);
  let at = 52;
  for (const n of s.slots) {
    if (n === 0n) continue;
    putInteger(view, at, n);
    at += 16;
  }
  return data;
}

// putInteger writes 128 bits.
function putInteger(view: DataView, at: number, n: bigint): void {
  if (n < 0n || n > maxUint64) view.setBigInt64(at, n >> 64n); // else it stays 0
  view.setBigUint64(at + 8, n); // which takes the lower 64 bits
}

export function parseSums(data: Uint8Array): Sums {
  const d = new Decoder(data);
  const s: Sums = { count: d.i128(), sum: d.i128(), squares: d.i128(), slots: [] };
  const mask = d.u32();
  for (let i = 0; i < slotCount; i++) {
    if ((mask & (1 << i)) === 0) continue;
    while (s.slots.length < i) s.slots.push(0n);
    const n = d.i128();
    if (n === 0n) throw new FormatError("a slot is 0");
    s.slots.push(n);
  }
  d.end();
  checkSums(s);
  return s;
}

const decimal = (value: unknown): bigint => {
  if (typeof value !== "string" || !/^(0|-?[1-9][0-9]{0,38})$/.test(value)) throw new FormatError("the sums have a number that is none");
  return BigInt(value);
};

// sumsOfJSON reads sums as result.json has them.
export function sumsOfJSON(value: Record<string, unknown>): Sums {
  const s: Sums = { count: decimal(value["count"]), sum: decimal(value["sum"]), squares: decimal(value["squares"]), slots: [] };
  for (const [name, n] of Object.entries((value["slots"] ?? {}) as Record<string, unknown>)) {
    if (!/^(0|[1-9][0-9]?)$/.test(name) || Number(name) >= slotCount) throw new FormatError("the sums have a slot that is none");
    if (decimal(n) === 0n) continue;
    while (s.slots.length <= Number(name)) s.slots.push(0n);
    s.slots[Number(name)] = decimal(n);
  }
  checkSums(s);
  return s;
}
