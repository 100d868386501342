// The state of a monitor, as `acclaim monitor --state` writes it.

import { FormatError, fromBase64 } from "./bytes.js";
import type { Keys } from "./note.js";
import { type Tree, emptyTree, joinFrontier } from "./tree.js";

export interface MonitorState {
  log: Tree;
  findings: string[]; // the kind and the place of each
}

// parseMonitor reads the state of a monitor of the log with the given keys.
export function parseMonitor(text: string, keys: Keys): MonitorState {
  let state: { keys?: string[]; log?: { size?: number; hashes?: string[] | null }; findings?: { kind: string; detail: string }[] | null };
  try {
    state = JSON.parse(text);
  } catch {
    throw new FormatError("the state of the monitor is no JSON");
  }
  const size = state.log?.size ?? 0, hashes = (state.log?.hashes ?? []).map(fromBase64);
  const perfect = size.toString(2).replaceAll("0", "").length; // subtrees
  if (!Number.isSafeInteger(size) || size < 0 || hashes.length !== perfect || hashes.some((hash) => hash.length !== 32)) {
    throw new FormatError("the state of the monitor is damaged");
  }
  if (!keys.texts.every((key) => state.keys?.includes(key))) throw new FormatError("the state of the monitor is of a log with other keys");
  return {
    log: size === 0 ? emptyTree() : { size, root: joinFrontier(hashes) },
    findings: (state.findings ?? []).map((f) => `${f.kind} (${f.detail})`),
  };
}
