// Signed notes (c2sp.org/signed-note), the keys that sign them, and the checkpoints that they hold.

import { type Bytes, Decoder, FormatError, base64, concat, equal, fromBase64, hex, parseIndex, utf8 } from "./bytes.js";
import { verifyEd25519 } from "./ed25519.js";
import { checkOrigin } from "./name.js";
import { sha256 } from "./sha256.js";
import type { Tree } from "./tree.js";

const ed25519 = 1; // the type of a plain signature

// Verifier verifies the signatures under one name.
export interface Verifier {
  name: string;
  id: Bytes;
  verify(text: string, signature: Bytes): Promise<boolean>;
}

export const keyId = (name: string, typeAndKey: Bytes): Bytes => sha256(concat(utf8(name + "\n"), typeAndKey)).slice(0, 4);

const isName = (name: string): boolean => name !== "" && !/[\s+]/u.test(name);

// openNote returns the text of a note that at least one verifier has signed. Like the note of Go, it
// refuses a note with a wrong signature of a known verifier.
export async function openNote(note: string, verifiers: Verifier[]): Promise<{ text: string; signers: Set<Verifier> }> {
  const at = note.lastIndexOf("\n\n");
  if (at < 0 || !note.endsWith("\n") || at + 2 === note.length || /[\0-\x09\x0b-\x1f]/.test(note)) throw new FormatError("malformed note");
  const text = note.slice(0, at + 1), lines = note.slice(at + 2, -1).split("\n");
  if (lines.length > 100) throw new FormatError("malformed note");
  const signers = new Set<Verifier>();
  for (const line of lines) {
    const [dash, name = "", encoded = "", ...rest] = line.split(" ");
    const signature = fromBase64(encoded);
    if (dash !== "—" || !isName(name) || rest.length > 0 || signature.length < 5) throw new FormatError("malformed note");
    const verifier = verifiers.find((v) => v.name === name && equal(v.id, signature.subarray(0, 4)));
    if (!verifier || signers.has(verifier)) continue;
    if (!(await verifier.verify(text, signature.slice(4)))) throw new FormatError(`invalid signature of ${name}`);
    signers.add(verifier);
  }
  if (signers.size === 0) throw new FormatError("note has no verifiable signatures");
  return { text, signers };
}

// Key is a log's verifier key. The same key signs the log and the trees of its polls, each under its
// own origin.
export interface Key {
  origin: string;
  public: Bytes;
}

const keyText = (name: string, typeAndKey: Bytes): string => `${name}+${hex(keyId(name, typeAndKey))}+${base64(typeAndKey)}`;

export const formatKey = (k: Key): string => keyText(k.origin, concat(Uint8Array.of(ed25519), k.public));

// splitKey returns the name and the bytes of a verifier key of a type.
export function splitKey(vkey: string, type: number): { name: string; public: Bytes } {
  const [name = "", , ...rest] = vkey.split("+");
  const data = fromBase64(rest.join("+"));
  if (!isName(name) || data.length !== 33 || data[0] !== type || keyText(name, data) !== vkey) {
    throw new FormatError("the verifier key is malformed, of another type, or does not match its digest");
  }
  return { name, public: data.slice(1) };
}

export function parseKey(vkey: string): Key {
  const { name, public: key } = splitKey(vkey, ed25519);
  checkOrigin(name);
  return { origin: name, public: key };
}

function verifier(k: Key, name: string): Verifier {
  return {
    name,
    id: keyId(name, concat(Uint8Array.of(ed25519), k.public)),
    verify: (text, signature) => verifyEd25519(k.public, signature, utf8(text)),
  };
}

// Keys are those that a checker trusts for one log: more than one after a rotation.
export class Keys {
  readonly #keys: Key[];
  readonly origin: string;

  constructor(vkeys: string[]) {
    this.#keys = vkeys.map(parseKey);
    const first = this.#keys[0];
    if (!first) throw new FormatError("there is no verifier key");
    if (this.#keys.some((k) => k.origin !== first.origin)) throw new FormatError("the verifier keys are of different logs");
    this.origin = first.origin;
  }

  get texts(): string[] {
    return this.#keys.map(formatKey);
  }

  // open returns the tree of a checkpoint that one of the keys has signed under an origin.
  async open(checkpoint: string, origin: string): Promise<Tree> {
    const { text } = await openNote(checkpoint, this.#keys.map((k) => verifier(k, origin)));
    const [name, size = "", root = "", end, ...rest] = text.split("\n");
    if (name !== origin || end !== "" || rest.length > 0) throw new FormatError("the note is no checkpoint of this log");
    const tree = { size: parseIndex(size), root: fromBase64(root) };
    if (tree.root.length !== 32) throw new FormatError("the note is no checkpoint of this log");
    return tree;
  }
}

// witnessVerifier verifies cosignatures of checkpoints (c2sp.org/tlog-cosignature).
export function witnessVerifier(vkey: string): Verifier & { key: Bytes } {
  const cosignature = 4;
  const { name, public: key } = splitKey(vkey, cosignature);
  return {
    name,
    key,
    id: keyId(name, concat(Uint8Array.of(cosignature), key)),
    verify: async (text, signature) => {
      if (signature.length !== 8 + 64) return false;
      const time = new Decoder(signature).u64();
      return verifyEd25519(key, signature.slice(8), utf8(`cosignature/v1\ntime ${time}\n${text}`));
    },
  };
}
