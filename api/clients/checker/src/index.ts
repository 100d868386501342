// checkReceipt checks the receipt of a vote in a verifiable poll. It uses the key that its caller
// gives, the files of the site, and nothing else: it stores nothing and asks no other server.

import { text } from "./bytes.js";
import { type ReceiptCheck, type ReceiptReport, verifyReceipt } from "./check.js";
import { parseMonitor } from "./monitor.js";
import { type PollName, siteOf } from "./name.js";
import { Keys } from "./note.js";
import { Policy } from "./policy.js";
import { logOrigin, parseReceipt } from "./receipt.js";
import { Site } from "./source.js";

export type { Answer, OptionCount, ReceiptReport, Recount, Verdict } from "./check.js";
export type { Finding, FindingKind } from "./finding.js";
export type { PollName } from "./name.js";
export { type Secret, addNonce, makeSecret } from "./secret.js";

export interface CheckOptions {
  // key is the verifier key of the log, from a source other than the site: more than one after a
  // rotation.
  key: string | string[];
  // site is the address of the files log and public. Without it it is that of the receipt's log; ""
  // checks only whether the vote is recorded.
  site?: string;
  fetch?: typeof fetch;
  policy?: string; // the text of a tlog-policy that names witnesses
  monitor?: string; // the state of a monitor that the viewer trusts, as JSON
  signal?: AbortSignal;
  // noRecount leaves the other votes out: the check needs little data, and shows only that the own
  // ballot is in the final result.
  noRecount?: boolean;
  // beforeRecount receives what the check has found before a recount that may take long.
  beforeRecount?: (report: ReceiptReport) => void;
  progress?: (done: number, all: number) => void; // of a recount, in entries
}

// checkReceipt throws an error about a receipt, a key, a policy or a state that is none. Everything
// else is in the report.
export async function checkReceipt(receipt: string | Uint8Array, options: CheckOptions): Promise<ReceiptReport> {
  const parsed = parseReceipt(typeof receipt === "string" ? receipt : text(receipt));
  const keys = new Keys([options.key].flat().map((key) => key.trim()));
  const check: ReceiptCheck = { keys };
  const site = options.site ?? siteOf(keys.origin);
  if (site !== "") check.source = new Site(site, options.fetch ?? fetch, options.signal);
  if (options.policy) check.policy = new Policy(options.policy);
  if (options.monitor) check.monitor = parseMonitor(options.monitor, keys);
  if (options.noRecount) check.noRecount = true;
  if (options.beforeRecount) check.beforeRecount = options.beforeRecount;
  if (options.progress) check.progress = options.progress;
  return verifyReceipt(parsed, check);
}

// describeReceipt returns what a receipt says of itself, which nothing has checked: its poll, the index
// of the vote, its log, and the address at which the files of the log are by default.
export function describeReceipt(receipt: string): { name: PollName; index: number; log: string; site: string } {
  const parsed = parseReceipt(receipt), log = logOrigin(parsed);
  return { name: parsed.name, index: parsed.vote.index, log, site: siteOf(log) };
}
