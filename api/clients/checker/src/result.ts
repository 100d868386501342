// The result of a poll as a site shows it, in result.json.

import { type Bytes, FormatError, fromBase64, parseIndex, text } from "./bytes.js";
import type { PollName } from "./name.js";
import { type Sums, sumsOfJSON } from "./sums.js";

// Result has what a check needs. Numbers of the shown votes are in the digits of the file.
export interface Result {
  name: PollName;
  now?: { votes: { count?: string; sum?: string; specific: string[] }; size: number; at: number };
  leaf: Bytes;
  proof: string;
  sums?: Sums; // absent while results are hidden
  entries: string; // when the list of votes is public: live, close or never
}

type Members = Record<string, unknown>;

// parseNumbers parses JSON whose numbers become texts: JavaScript would round those beyond 2^53.
function parseNumbers(json: string): unknown {
  JSON.parse(json); // refuses what is no JSON
  return JSON.parse(json.replace(/"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

export function parseResult(data: Uint8Array): Result {
  try {
    return readResult(parseNumbers(text(data)) as Members);
  } catch (error) {
    throw new FormatError(`result.json: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readResult(value: Members): Result {
  const proved = value["proved"] as Members | null | undefined, name = value["name"] as Members, now = value["now"] as Members | null | undefined;
  if (!proved) throw new FormatError("the poll has no signed result");
  const result: Result = {
    name: { client: String(name["client"] ?? ""), channel: String(name["channel"] ?? ""), poll: String(name["poll"] ?? "") },
    leaf: fromBase64(String(proved["leaf"])),
    proof: String(proved["proof"]),
    entries: String(value["entries"] ?? ""),
  };
  if (proved["sums"]) result.sums = sumsOfJSON(proved["sums"] as Members);
  if (now) {
    const votes = (now["votes"] ?? {}) as Members, shown: NonNullable<Result["now"]>["votes"] = { specific: (votes["specific"] ?? []) as string[] };
    if (votes["count"]) shown.count = String(votes["count"]);
    if (votes["sum"]) shown.sum = String(votes["sum"]);
    result.now = { votes: shown, size: parseIndex(String(now["size"] ?? 0)), at: parseIndex(String(now["at"] ?? 0)) };
  }
  return result;
}

// isOfSums reports whether the shown votes are those of the sums.
export function isOfSums(votes: NonNullable<Result["now"]>["votes"], s: Sums): boolean {
  if (votes.count !== String(s.count) || (votes.sum !== undefined && votes.sum !== String(s.sum))) return false;
  return votes.specific.every((n, i) => i < 32 && n === String(s.slots[i] ?? 0n));
}
