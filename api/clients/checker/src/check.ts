// The check of a receipt, in five steps. api/verifiable/README.md, "Checks", specifies them.

import { type Ballot, checkBallotProof } from "./ballots.js";
import { type Bytes, equal, hex, text } from "./bytes.js";
import { type Config, optionText } from "./config.js";
import { type Entry, Kind, isVote, parseLeaf } from "./entry.js";
import { type Finding, Findings, reason, sentences } from "./finding.js";
import type { Fold } from "./fold.js";
import { type PollLeaf, Status, parseLogLeaf } from "./logleaf.js";
import type { MonitorState } from "./monitor.js";
import { type PollName, nonceHash, pollKey, resultPath, treeOrigin } from "./name.js";
import type { Keys } from "./note.js";
import type { Policy } from "./policy.js";
import { checkProof } from "./proof.js";
import { type Published, readPublished, treeFolder } from "./published.js";
import type { Receipt } from "./receipt.js";
import { MissingFile, type Source, isAbsent, readFile } from "./source.js";
import type { Tree } from "./tree.js";

export type Answer = "yes" | "no" | "unknown";

// Verdict answers a question about a vote, with the reason in plain words.
export interface Verdict {
  answer: Answer;
  text: string;
}

// Recount has what counting all votes of the poll gave.
export interface Recount {
  entries: number;
  votes: number;
  byStaff: number; // submitted by the extension's own server or staff
  noNonce: number; // without a secret by which their voters recognize them
  ballots: number;
  erasures: number;
}

// OptionCount has the weighted votes for an option in the signed result.
export interface OptionCount {
  option: string;
  count: bigint;
}

export interface ReceiptReport {
  name: PollName;
  question?: string; // absent until the proofs hold, like the next six
  vote?: string; // the option, and how many times
  value?: number; // of the option
  index?: number; // of the entry
  voter?: number;
  at?: number; // when the log had it, Unix milliseconds
  weight?: bigint; // in the final result

  recorded: Verdict;
  counted: Verdict;
  same: Verdict; // the same for all
  findings: Finding[];

  missing?: string; // a file that the check needs and did not get
  result?: OptionCount[]; // as signed, once the poll has a final result
  recount?: Recount; // where the list of votes is public
}

export interface ReceiptCheck {
  keys: Keys;
  source?: Source; // without it the check finds only whether the vote is recorded
  policy?: Policy; // of witnesses
  monitor?: MonitorState; // of a monitor that the viewer trusts
  noRecount?: boolean;
  beforeRecount?: (report: ReceiptReport) => void;
  progress?: (done: number, all: number) => void; // of a recount, in entries
}

export async function verifyReceipt(r: Receipt, check: ReceiptCheck): Promise<ReceiptReport> {
  const unchecked = (): Verdict => ({ answer: "unknown", text: "Not checked." });
  const found = new Findings();
  const report: ReceiptReport = { name: r.name, recorded: unchecked(), counted: unchecked(), same: unchecked(), findings: found.list };
  const recorded = await checkRecorded(r, check.keys, found);
  if (!recorded) {
    report.recorded = refusal(found);
    return report;
  }
  describeVote(r, recorded, report);
  report.recorded = judgeNonce(r, recorded.vote, found);
  if (found.any) return report;
  if (!check.source) {
    report.counted.text = report.same.text = "Not checked: this needs the address of the site.";
    return report;
  }
  const site = new SiteCheck(r, recorded, check, check.source, found, report);
  try {
    await site.run();
  } catch (error) {
    report.missing = reason(error); // a file, or the form of one that nothing has signed
  }
  if (found.any && !site.compared) report.counted = report.same = refusal(found);
  return report;
}

const refusal = (found: Findings): Verdict => ({ answer: "no", text: found.list[0]!.sentence });

// Recorded has what the proofs of a receipt show.
interface Recorded {
  log: Tree;
  poll: PollLeaf;
  vote: Entry;
  config: Config;
}

// checkRecorded takes the steps 1 and 2, and those of step 3 that need no nonce. It returns undefined
// with a finding.
async function checkRecorded(r: Receipt, keys: Keys, found: Findings): Promise<Recorded | undefined> {
  const logged = await checkProof(r.poll, keys, keys.origin);
  if ("wrong" in logged) {
    found.add(logged.wrong.kind, `part poll: ${logged.wrong.detail}`);
    return undefined;
  }
  let poll: PollLeaf;
  try {
    const leaf = parseLogLeaf(r.poll.extra);
    if (leaf.kind !== "poll" || !equal(leaf.poll, pollKey(r.name))) {
      found.add("other-poll", "part poll");
      return undefined;
    }
    poll = leaf;
  } catch (error) {
    found.add("log-leaf", `part poll: ${reason(error)}`);
    return undefined;
  }
  const origin = treeOrigin(keys.origin, poll.tree);
  for (const part of ["vote", "config"] as const) {
    const proved = await checkProof(r[part], keys, origin);
    if ("wrong" in proved) found.add(proved.wrong.kind, `part ${part}: ${proved.wrong.detail}`);
    else if (proved.tree.size !== poll.entries.size || !equal(proved.tree.root, poll.entries.root)) {
      found.add("tree-forked", `part ${part}: the tree of ${proved.tree.size} entries is not that of the log's leaf`);
    }
  }
  const entries = readEntries(r, found);
  return entries && !found.any ? { log: logged.tree, poll, ...entries } : undefined;
}

// readEntries compares the entries that the proofs show.
function readEntries(r: Receipt, found: Findings): { vote: Entry; config: Config } | undefined {
  const read = (part: "vote" | "config", fits: (e: Entry) => boolean): Entry | undefined => {
    try {
      const { entry } = parseLeaf(r[part].extra);
      if (fits(entry)) return entry;
      found.add("entry-malformed", `part ${part}: its kind is ${entry.kind}`);
    } catch (error) {
      found.add("entry-malformed", `part ${part}: ${reason(error)}`);
    }
    return undefined;
  };
  const vote = read("vote", (e) => isVote(e.kind) && e.voter <= r.vote.index);
  const config = read("config", (e) => e.kind === Kind.config)?.settings;
  const named = vote?.config ?? 0;
  if (named !== r.config.index || named >= r.vote.index) {
    found.add("other-config", `the vote names entry ${named}, the receipt shows entry ${r.config.index}`);
  }
  return vote && config ? { vote, config } : undefined;
}

function describeVote(r: Receipt, { vote, config, poll }: Recorded, report: ReceiptReport): void {
  report.question = config.prompt;
  report.vote = optionText(config, vote.value) + (vote.times > 1 ? `, ${vote.times} times` : "");
  [report.value, report.index, report.voter, report.at] = [vote.value, r.vote.index, vote.voter, poll.at];
}

// judgeNonce ends step 3.
function judgeNonce(r: Receipt, vote: Entry, found: Findings): Verdict {
  if (!r.nonce) return { answer: "unknown", text: "This vote is recorded. The receipt lacks your secret: it does not show that the vote is yours." };
  if (!vote.nonce || !equal(nonceHash(pollKey(r.name), r.nonce), vote.nonce)) {
    found.add("other-vote", `entry ${r.vote.index}`);
    return { answer: "no", text: sentences["other-vote"] };
  }
  return { answer: "yes", text: "Your vote is recorded as shown, and carries your secret. Compare question and option with what you chose." };
}

// SiteCheck takes the steps that need the site.
class SiteCheck {
  compared = false; // step 4 is done without a finding
  #laterVotes = 0; // those with the voter's number after the receipt's
  #resetLater = false;
  readonly #vote: Entry;

  constructor(
    readonly receipt: Receipt,
    readonly recorded: Recorded,
    readonly check: ReceiptCheck,
    readonly source: Source,
    readonly found: Findings,
    readonly report: ReceiptReport,
  ) {
    this.#vote = recorded.vote;
  }

  async run(): Promise<void> {
    const p = await readPublished(this.source, this.check.keys, resultPath(this.receipt.name), this.found);
    if (p) await this.#checkCounted(p);
    if (!p || this.found.any) return;
    this.compared = true;
    await this.#checkSame(p);
  }

  #count(answer: Answer, text: string): void {
    this.report.counted = { answer, text };
  }

  // #checkCounted takes step 4.
  async #checkCounted(p: Published): Promise<void> {
    const { found, recorded: { poll } } = this;
    await p.join(this.recorded.log, "the receipt");
    if (p.leafIndex < this.receipt.poll.index) found.add("log-rewound", `the result is of leaf ${p.leafIndex}, the receipt of leaf ${this.receipt.poll.index}`);
    if (found.any) return;
    if (!equal(p.leaf.tree, poll.tree)) {
      await this.#checkOtherTree(p);
      return;
    }
    const sizes = [poll.entries.size, p.leaf.entries.size] as const;
    if (sizes[1] < sizes[0]) {
      found.add("tree-rewound", `${sizes[0] - sizes[1]} entries that it had are missing`);
      return;
    }
    if (!(await p.files.contains(p.leaf.entries, poll.entries))) {
      found.add("tree-forked", `sizes ${sizes[0]} and ${sizes[1]}`);
      return;
    }
    p.checkShown();
    if (found.any) return;
    if (p.leaf.status === Status.reset) this.#count("no", "The poll was reset: no earlier vote counts. The list of votes says so publicly.");
    else if (!p.leaf.final) this.#count("unknown", "The poll has no final result yet. Check again after its close.");
    else {
      p.checkPromise(this.recorded.config);
      if (!found.any) await this.#checkBallot(p);
    }
  }

  // #checkOtherTree looks in the log whether the receipt's tree was reset or ended before the new one
  // began.
  async #checkOtherTree(p: Published): Promise<void> {
    const { tree } = this.recorded.poll;
    let ended = false;
    try {
      await p.logFiles.provenEntries(p.log, this.receipt.poll.index, p.leafIndex, (data) => {
        const status = statusIn(data, tree);
        if (status) ended = status === Status.reset || status === Status.ended;
      });
    } catch (error) {
      if (error instanceof MissingFile) throw error;
      ended = false;
    }
    if (ended) this.#count("no", "The poll was reset or deleted and begun again: your vote belongs to the earlier one. The log says so publicly.");
    else this.found.add("second-tree", `${hex(tree)} is on your receipt, ${hex(p.leaf.tree)} on display`);
  }

  // #checkBallot looks for the vote in a final result: by the proof of its ballot where the leaf has
  // ballots, and by a recount where the entries are public.
  async #checkBallot(p: Published): Promise<void> {
    this.report.result = this.recorded.config.options.slice(0, 32).map((option, i) => ({ option, count: p.leaf.sums?.slots[i] ?? 0n }));
    const proved = await this.#readBallot(p);
    if (this.found.any) return;
    if (this.check.noRecount) {
      if (proved) this.#judge(proved, false);
      else this.#count("unknown", "The site shows no proof of your ballot. Counting all votes would show it.");
      return;
    }
    if (proved && this.#holdsVote(proved)) {
      this.#judge(proved, false);
      this.check.beforeRecount?.({ ...this.report });
    }
    let fold: Fold | undefined;
    try {
      fold = await p.recount((index, e) => this.#seeLater(index, e), this.check.progress);
    } catch (error) {
      if (isAbsent(error) && proved) {
        this.#judge(proved, false);
        if (p.result.entries === "never" && !this.found.any) this.report.counted.text += " The list of votes is not public.";
        return;
      }
      this.#count("unknown", "The site shows neither the proof of your ballot nor the list of votes.");
      throw error;
    }
    if (!fold || this.found.any) return;
    const ballot = fold.ballotOf(this.#vote.voter);
    const { votes, byStaff, noNonce, erasures } = fold;
    this.report.recount = { entries: p.leaf.entries.size, votes, byStaff, noNonce, erasures, ballots: fold.ballotCount };
    if (this.#resetLater) this.#count("no", "The poll was reset after your vote. The list of votes says so publicly.");
    else if (!ballot) this.found.add("ballot-missing", `voter ${this.#vote.voter}`);
    else this.#judge(ballot, true); // a proof leads to the root that the recount gave: the two ballots are one
  }

  // #readBallot reads the proof of the voter's ballot, where the leaf has ballots.
  async #readBallot(p: Published): Promise<Ballot | undefined> {
    const { ballots, sums, entries, tree } = p.leaf, { voter } = this.#vote;
    if (!ballots) return undefined;
    let proof: Bytes;
    try {
      proof = await readFile(this.source, `${treeFolder(tree)}ballots/${entries.size}/${voter}`);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
    if (!sums) {
      this.found.add("log-leaf", `leaf ${p.leafIndex}`);
      return undefined;
    }
    try {
      return checkBallotProof(proof, voter, ballots.size, { root: ballots.root, sums });
    } catch (error) {
      this.found.add("ballot-proof", `voter ${voter}: ${reason(error)}`);
      return undefined;
    }
  }

  // #seeLater names votes that came under the viewer's number after the receipt's.
  #seeLater(index: number, e: Entry): void {
    if (index <= this.receipt.vote.index) return;
    this.#resetLater ||= e.kind === Kind.reset;
    if (this.#resetLater || !isVote(e.kind) || e.voter !== this.#vote.voter) return;
    this.#laterVotes++;
    if (e.kind === Kind.set) this.found.add("vote-replaced", `entry ${index}`);
  }

  #holdsVote(b: Ballot): boolean {
    const vote = this.#vote, own = b.choices.find((choice) => choice.value === vote.value);
    return vote.kind === Kind.set ? own?.times === vote.times && b.choices.length === 1 : own !== undefined && own.times >= vote.times;
  }

  // #judge compares the ballot that counts with the vote of the receipt.
  #judge(b: Ballot, recounted: boolean): void {
    if (!this.#holdsVote(b)) {
      const choices = b.choices.map((choice) => `${choice.times} × ${optionText(this.recorded.config, choice.value)}`).join(", ");
      this.found.add("ballot-differs", `the ballot of voter ${b.voter} is ${choices}`);
      return;
    }
    this.report.weight = b.weight;
    let text = "Your vote is in the final result, once.";
    if (recounted) text += " Counting all votes gives the result on display.";
    if (b.weight !== 1n) text += ` Staff set its weight to ${b.weight}.`;
    if (this.#laterVotes > 0) text += ` ${this.#laterVotes} later votes have your voter number: check that you cast them.`;
    this.#count("yes", text);
  }

  // #checkSame takes step 5.
  async #checkSame(p: Published): Promise<void> {
    const { keys, policy, monitor } = this.check, same = this.report.same;
    if (!policy?.asksWitnesses || !monitor) {
      same.text = "Not shown: this needs witnesses that signed the log, and a monitor that read it.";
      return;
    }
    let checkpoint: string;
    try {
      checkpoint = text(await readFile(this.source, "log/witnessed"));
    } catch (error) {
      if (!isAbsent(error)) throw error;
      same.text = "Not shown: the site has no checkpoint that witnesses signed.";
      return;
    }
    let witnessed: Tree;
    try {
      witnessed = await keys.open(checkpoint, keys.origin);
    } catch (error) {
      this.found.add("signature", `log/witnessed: ${reason(error)}`);
      return;
    }
    if (!(await policy.accepts(checkpoint)) || witnessed.size <= p.leafIndex) {
      same.text = "Not shown yet: too few witnesses have signed the log with this result.";
      return;
    }
    this.report.same = await this.#compareLogs(p, witnessed, monitor);
  }

  // #compareLogs compares the log of the site with those that witnesses and the monitor saw.
  async #compareLogs(p: Published, witnessed: Tree, monitor: MonitorState): Promise<Verdict> {
    await p.join(witnessed, "the witnesses' checkpoint");
    await p.join(monitor.log, "the monitor's state");
    if (this.found.any) return { answer: "no", text: "The log that this site shows is not the one that others saw." };
    if (monitor.findings[0] !== undefined) return { answer: "no", text: `The monitor found: ${monitor.findings[0]}` };
    if (monitor.log.size <= p.leafIndex) return { answer: "unknown", text: "Not shown yet: the monitor has not read the log up to this result." };
    return { answer: "yes", text: "Witnesses signed the log with this result, and the monitor found one result of this poll." };
  }
}

// statusIn returns the status of a tree in the data of a log leaf, 0 in a leaf that is not of it.
function statusIn(data: Bytes, tree: Bytes): number {
  try {
    const leaf = parseLogLeaf(data);
    return leaf.kind === "poll" && equal(leaf.tree, tree) ? leaf.status : 0;
  } catch {
    return 0;
  }
}
