// Bytes, and the fields that encodings are made of: big-endian integers, and blocks behind their
// length. Decoding throws a FormatError wherever an encoding is not the only one of its content.

export type Bytes = Uint8Array<ArrayBuffer>;

export class FormatError extends Error {}

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

// text decodes UTF-8. It keeps a byte order mark, which no format allows.
export function text(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new FormatError("the text is not in UTF-8");
  }
}

export function concat(...parts: Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

export const hex = (data: Uint8Array): string => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function base64(data: Uint8Array): string {
  let binary = "";
  for (const byte of data) binary += String.fromCharCode(byte);
  return btoa(binary);
}

// fromBase64 decodes the only base64 of some bytes, with padding.
export function fromBase64(encoded: string): Bytes {
  let data: Bytes;
  try {
    data = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  } catch {
    throw new FormatError("the text is not in base64");
  }
  if (base64(data) !== encoded) throw new FormatError("the text is not in the only base64 of its bytes");
  return data;
}

// parseIndex reads the decimal digits of an index or a size. Larger numbers than 2^53 - 1, which
// JavaScript cannot hold, are those of no tree.
export function parseIndex(digits: string): number {
  const n = Number(digits);
  if (!/^(0|[1-9][0-9]{0,15})$/.test(digits) || !Number.isSafeInteger(n)) throw new FormatError("a number is out of range");
  return n;
}

export function u16(n: number): Bytes {
  return Uint8Array.of(n >> 8, n);
}

export function u64(n: number | bigint): Bytes {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, BigInt(n));
  return data;
}

// block returns bytes behind their length.
export const block = (data: Uint8Array): Bytes => concat(u16(data.length), data);

// Decoder reads fields one after the other.
export class Decoder {
  readonly #data: Uint8Array;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  get left(): number {
    return this.#data.length - this.#at;
  }

  #take(n: number): number {
    if (this.left < n) throw new FormatError("bytes are missing");
    const at = this.#at;
    this.#at += n;
    return at;
  }

  // bytes returns a copy.
  bytes(n: number): Bytes {
    const at = this.#take(n);
    return this.#data.slice(at, at + n) as Bytes;
  }

  u8(): number {
    return this.#data[this.#take(1)]!;
  }

  u16(): number {
    const at = this.#take(2);
    return this.#data[at]! * 2 ** 8 + this.#data[at + 1]!;
  }

  i16(): number {
    return (this.u16() << 16) >> 16;
  }

  u32(): number {
    return this.u16() * 2 ** 16 + this.u16();
  }

  u64(): bigint {
    return (BigInt(this.u32()) << 32n) | BigInt(this.u32());
  }

  i64(): bigint {
    return BigInt.asIntN(64, this.u64());
  }

  i128(): bigint {
    return (this.i64() << 64n) | this.u64();
  }

  // index reads an index, a size or a time.
  index(): number {
    const n = this.u32() * 2 ** 32 + this.u32();
    if (!Number.isSafeInteger(n)) throw new FormatError("a number is out of range");
    return n;
  }

  // block reads bytes behind their length.
  block(): Bytes {
    return this.bytes(this.u16());
  }

  // end throws where bytes are left.
  end(): void {
    if (this.left > 0) throw new FormatError("bytes follow");
  }
}
