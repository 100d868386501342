// The static files of a site, and the hashes and entries of trees in them.

import { type Bytes, Decoder, FormatError, equal } from "./bytes.js";
import { type Tree, emptyTree, leafHash, nodeHash, split } from "./tree.js";

// Source reads files by their paths below the site. It returns the reason for a file that does not
// exist, and throws when it cannot know.
export interface Source {
  read(path: string): Promise<Bytes | Absent>;
}

export interface Absent {
  absent: string;
}

// MissingFile is a file that a check needs and does not get. It says nothing about what was signed.
export class MissingFile extends Error {
  constructor(readonly path: string, detail: string, readonly absent: boolean) {
    super(`${path}: ${detail}`);
  }
}

export const isAbsent = (error: unknown): boolean => error instanceof MissingFile && error.absent;

export async function readFile(source: Source, path: string): Promise<Bytes> {
  const data = await source.read(path).catch((error: unknown) => {
    throw new MissingFile(path, error instanceof Error ? error.message : String(error), false);
  });
  if ("absent" in data) throw new MissingFile(path, data.absent, true);
  return data;
}

const tileWidth = 256;

// tilePath writes the number of a tile in groups of three digits, as tlog-tiles has it.
function tilePath(level: string, n: number, width: number): string {
  let path = String(n % 1000).padStart(3, "0");
  for (let rest = Math.floor(n / 1000); rest > 0; rest = Math.floor(rest / 1000)) path = `x${String(rest % 1000).padStart(3, "0")}/${path}`;
  return `tile/${level}/${path}${width < tileWidth ? `.p/${width}` : ""}`;
}

// parseBundle returns the data of the leaves in a bundle.
export function parseBundle(bundle: Bytes): Bytes[] {
  const d = new Decoder(bundle), leaves: Bytes[] = [];
  while (d.left > 0) {
    leaves.push(d.block());
    if (leaves.length > tileWidth) throw new FormatError("a bundle has at most 256 entries");
  }
  return leaves;
}

// inFlight bounds the bundles that are requested at once.
const inFlight = 16;

// TreeFiles reads the files of one tree.
export class TreeFiles {
  readonly #source: Source;
  readonly #folder: string;
  readonly #tiles = new Map<string, Promise<Bytes>>();

  constructor(source: Source, folder: string) {
    this.#source = source;
    this.#folder = folder;
  }

  // file reads a tile or a bundle, the full one where the partial one is gone.
  async #file(level: string, n: number, width: number): Promise<Bytes> {
    try {
      return await readFile(this.#source, this.#folder + tilePath(level, n, width));
    } catch (error) {
      if (width === tileWidth || !isAbsent(error)) throw error;
      return await readFile(this.#source, this.#folder + tilePath(level, n, tileWidth)).catch(() => {
        throw error;
      });
    }
  }

  async #tile(level: number, n: number, width: number): Promise<Bytes> {
    const name = `${level}/${n}/${width}`;
    const known = this.#tiles.get(name) ?? this.#file(String(level), n, width);
    this.#tiles.set(name, known);
    const data = await known;
    if (data.length < 32 * width) throw new FormatError("a tile is too short");
    return data;
  }

  // #subtree returns the hash that the tiles of a tree of a size have for some of its leaves, a
  // subtree of RFC 6962. What it returns is only a claim until it has led to a signed root.
  async #subtree(size: number, from: number, count: number): Promise<Bytes> {
    const k = count > 1 ? split(count) : 1;
    if (count !== 2 * k && count > 1) return nodeHash(await this.#subtree(size, from, k), await this.#subtree(size, from + k, count - k));
    let level = 0, unit = 1; // of the tile, and the leaves below each of its hashes
    for (; unit * tileWidth <= count; unit *= tileWidth) level++;
    const first = from / unit, n = Math.floor(first / tileWidth);
    const tile = await this.#tile(level, n, Math.min(tileWidth, Math.floor(size / unit) - n * tileWidth));
    const hashOf = (position: number, width: number): Bytes =>
      width === 1 ? tile.slice(32 * position, 32 * position + 32) : nodeHash(hashOf(position, width / 2), hashOf(position + width / 2, width / 2));
    return hashOf(first % tileWidth, count / unit);
  }

  // contains reports whether a signed tree continues an older one. It throws only when files are
  // missing.
  async contains(tree: Tree, older: Tree): Promise<boolean> {
    if (older.size > tree.size) return false;
    if (older.size === tree.size) return equal(older.root, tree.root);
    if (older.size === 0) return equal(older.root, emptyTree().root);
    try {
      // The roots of the leaves from one on, as far as the older tree has them and of all.
      const roots = async (from: number, count: number, old: number): Promise<[Bytes, Bytes]> => {
        if (old === count) {
          const hash = await this.#subtree(tree.size, from, count);
          return [hash, hash];
        }
        const k = split(count);
        if (old <= k) {
          const [before, left] = await roots(from, k, old);
          return [before, nodeHash(left, await this.#subtree(tree.size, from + k, count - k))];
        }
        const left = await this.#subtree(tree.size, from, k);
        const [before, right] = await roots(from + k, count - k, old - k);
        return [nodeHash(left, before), nodeHash(left, right)];
      };
      const [before, now] = await roots(0, tree.size, older.size);
      return equal(before, older.root) && equal(now, tree.root);
    } catch (error) {
      if (error instanceof FormatError) return false; // the tiles are not those of the root
      throw error;
    }
  }

  async #bundle(size: number, n: number): Promise<Bytes[]> {
    const width = Math.min(tileWidth, size - n * tileWidth);
    const leaves = parseBundle(await this.#file("entries", n, width));
    if (leaves.length < width) throw new FormatError(`bundle ${n} has too few entries`);
    return leaves.slice(0, width);
  }

  // entries calls visit with the data of each leaf from one index to another, in order, of a tree of
  // a size that the log has signed. Callers compare the root.
  async entries(size: number, from: number, to: number, visit: (index: number, data: Bytes) => void): Promise<void> {
    const first = Math.floor(from / tileWidth), end = Math.ceil(to / tileWidth);
    const requested: Promise<Bytes[]>[] = [];
    for (let n = first; n < end; n++) {
      for (let next = first + requested.length; next < Math.min(end, n + inFlight); next++) {
        const bundle = this.#bundle(size, next);
        bundle.catch(() => {}); // reported below, in order
        requested.push(bundle);
      }
      const leaves = await requested[n - first]!;
      requested[n - first] = Promise.resolve([]); // which frees the memory
      leaves.forEach((data, i) => {
        const index = n * tileWidth + i;
        if (index >= from && index < to) visit(index, data);
      });
    }
  }

  // provenEntries calls visit as entries does, with leaves that the signed tree has.
  async provenEntries(tree: Tree, from: number, to: number, visit: (data: Bytes) => void): Promise<void> {
    for (let n = Math.floor(from / tileWidth); n * tileWidth < to; n++) {
      const leaves = await this.#bundle(tree.size, n), start = n * tileWidth, hashes = leaves.map(leafHash);
      // The root of the tree in which the hashes of these leaves stand in place of those of the tiles.
      const rootOf = async (at: number, count: number): Promise<Bytes> => {
        if (at + count <= start || at >= start + hashes.length) return this.#subtree(tree.size, at, count);
        if (count === 1) return hashes[at - start]!;
        const k = split(count);
        return nodeHash(await rootOf(at, k), await rootOf(at + k, count - k));
      };
      if (!equal(await rootOf(0, tree.size), tree.root)) throw new FormatError(`bundle ${n} is not that of the signed tree`);
      leaves.forEach((data, i) => {
        if (start + i >= from && start + i < to) visit(data);
      });
    }
  }
}

// maxFile bounds the files of a site, in bytes: a full bundle of the longest leaves.
const maxFile = tileWidth * (2 + (1 << 16));

const withheld: Record<string, string> = {
  hidden: "the votes are hidden until they are revealed",
  small: "the poll has too few voters for a public list of votes",
  open: "the list of votes becomes public after the close",
};

// Site is the source of the files at an address.
export class Site implements Source {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;

  constructor(address: string, fetcher: typeof fetch, signal?: AbortSignal) {
    this.#base = address.replace(/\/+$/, "");
    this.#fetch = fetcher;
    this.#signal = signal;
  }

  async read(path: string): Promise<Bytes | Absent> {
    const options: RequestInit = { credentials: "omit", referrerPolicy: "no-referrer" };
    if (this.#signal) options.signal = this.#signal;
    const fetcher = this.#fetch; // which browsers refuse as a method
    const answer = await fetcher(`${this.#base}/${path}`, options);
    if (answer.status === 404) {
      const why = answer.headers.get("acclaim-withheld") ?? "", least = answer.headers.get("acclaim-minimum");
      return { absent: withheld[why] ?? (least ? `the site keeps entries from ${least} on` : "the site has no such file") };
    }
    if (!answer.ok) throw new Error(`the site answers ${answer.status}`);
    return readBounded(answer);
  }
}

async function readBounded(answer: Response): Promise<Bytes> {
  if (Number(answer.headers.get("content-length") ?? 0) > maxFile) throw new Error("the file is too long");
  const data = new Uint8Array(await answer.arrayBuffer());
  if (data.length > maxFile) throw new Error("the file is too long");
  return data;
}
