// Proofs that the tree of a checkpoint holds a leaf (c2sp.org/tlog-proof@v1).

import { type Bytes, FormatError, base64, fromBase64, parseIndex } from "./bytes.js";
import { type FindingKind, reason } from "./finding.js";
import type { Keys } from "./note.js";
import { type Tree, hasLeaf } from "./tree.js";

export interface Proof {
  extra: Bytes; // the leaf's data
  index: number;
  path: Bytes[]; // from the leaf up
  checkpoint: string;
}

const header = "c2sp.org/tlog-proof@v1\n";

export function formatProof(p: Proof): string {
  const extra = p.extra.length > 0 ? `extra ${base64(p.extra)}\n` : "";
  return `${header}${extra}index ${p.index}\n${p.path.map((hash) => base64(hash) + "\n").join("")}\n${p.checkpoint}`;
}

// parseProof reads what formatProof writes, and nothing else.
export function parseProof(text: string): Proof {
  const end = text.indexOf("\n\n");
  if (!text.startsWith(header) || end < 0) throw new FormatError("the text is no c2sp.org/tlog-proof@v1");
  const lines = text.slice(header.length, end).split("\n");
  const extra = lines[0]?.startsWith("extra ") ? fromBase64(lines.shift()!.slice("extra ".length)) : new Uint8Array();
  const index = parseIndex((lines.shift() ?? "").replace(/^index /, ""));
  const p = { extra, index, path: lines.map(fromBase64), checkpoint: text.slice(end + 2) };
  if (p.path.some((hash) => hash.length !== 32) || p.checkpoint === "" || formatProof(p) !== text) {
    throw new FormatError("the proof is not in its only form");
  }
  return p;
}

export interface Wrong {
  kind: FindingKind;
  detail: string;
}

// checkProof returns the tree in which the proof shows its leaf, or what is wrong.
export async function checkProof(p: Proof, keys: Keys, origin: string): Promise<{ tree: Tree } | { wrong: Wrong }> {
  let tree: Tree;
  try {
    tree = await keys.open(p.checkpoint, origin);
  } catch (error) {
    return { wrong: { kind: "signature", detail: `checkpoint of ${origin}: ${reason(error)}` } };
  }
  if (!hasLeaf(tree, p.index, p.extra, p.path)) return { wrong: { kind: "not-included", detail: `leaf ${p.index} of ${origin}` } };
  return { tree };
}
