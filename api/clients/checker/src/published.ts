// The result that a site shows of a poll, checked against the log, and its recount.

import { sumsOfBallots, treeOfBallots } from "./ballots.js";
import { type Bytes, equal, hex, text } from "./bytes.js";
import { type Config, leastVoters } from "./config.js";
import type { Entry } from "./entry.js";
import { type Findings, reason } from "./finding.js";
import { Fold, closeDelay } from "./fold.js";
import { type LogLeaf, type PollLeaf, Status, noLeaf, parseLogLeaf } from "./logleaf.js";
import { pollKey } from "./name.js";
import type { Keys } from "./note.js";
import { checkProof, parseProof } from "./proof.js";
import { type Result, isOfSums, parseResult } from "./result.js";
import { MissingFile, type Source, TreeFiles, isAbsent, readFile } from "./source.js";
import { type Sums, equalSums, isTied } from "./sums.js";
import { Frontier, type Tree, equalTrees } from "./tree.js";

// lateLeaf is the age of the newest leaf of a moving poll, in milliseconds, from which on it is a finding.
const lateLeaf = 10_000;

// treeFolder is the folder of the files of a poll's tree.
export const treeFolder = (tree: Bytes): string => `log/t/${hex(tree)}/`;

// readPublished reads the log's checkpoint and the result at a path. It returns undefined, with a
// finding, when they contradict each other or the keys.
export async function readPublished(source: Source, keys: Keys, path: string, found: Findings): Promise<Published | undefined> {
  const shown = readFile(source, path);
  shown.catch(() => {}); // reported below
  const checkpoint = text(await readFile(source, "log/checkpoint"));
  let log: Tree;
  try {
    log = await keys.open(checkpoint, keys.origin);
  } catch (error) {
    found.add("signature", `log/checkpoint: ${reason(error)}`);
    return undefined;
  }
  const result = parseResult(await shown);
  const proof = { ...parseProof(result.proof), extra: result.leaf };
  const checked = await checkProof(proof, keys, keys.origin);
  if ("wrong" in checked) {
    found.add(checked.wrong.kind, `${path}: ${checked.wrong.detail}`);
    return undefined;
  }
  let leaf: LogLeaf;
  try {
    leaf = parseLogLeaf(result.leaf);
  } catch (error) {
    found.add("log-leaf", `leaf ${proof.index}: ${reason(error)}`);
    return undefined;
  }
  if (leaf.kind !== "poll" || !equal(leaf.poll, pollKey(result.name))) {
    found.add("other-poll", `${path} shows the log's leaf ${proof.index}`);
    return undefined;
  }
  const published = new Published(source, log, result, leaf, proof.index, found);
  await published.join(checked.tree, "the proof of the result");
  return published;
}

export class Published {
  readonly logFiles: TreeFiles;
  readonly files: TreeFiles; // of the poll's tree

  // leaf is the newest one of the poll that the site shows.
  constructor(
    readonly source: Source,
    public log: Tree,
    readonly result: Result,
    readonly leaf: PollLeaf,
    readonly leafIndex: number,
    readonly found: Findings,
  ) {
    this.logFiles = new TreeFiles(source, "log/");
    this.files = new TreeFiles(source, treeFolder(leaf.tree));
  }

  // join compares a signed tree of the log with the newest one, and keeps the larger.
  async join(tree: Tree, what: string): Promise<void> {
    const [older, newer] = tree.size > this.log.size ? [this.log, tree] : [tree, this.log];
    let continues: boolean;
    try {
      continues = await this.logFiles.contains(newer, older);
    } catch (error) {
      if (newer.size === this.log.size || !isAbsent(error)) throw error;
      this.found.add("log-rewound", `${what}: size ${newer.size}, now the log has ${older.size}`);
      return;
    }
    if (!continues) this.found.add("log-forked", `${what}: sizes ${older.size} and ${newer.size}`);
    this.log = newer;
  }

  // checkShown compares the results on display with the signed one.
  checkShown(): void {
    const { sums } = this.leaf, { now } = this.result;
    if (!sums) return;
    if (!this.result.sums || !equalSums(this.result.sums, sums)) this.found.add("shown-result-differs", "the sums of result.json");
    if (!now) return;
    if (this.leaf.final && now.votes.count !== undefined && !isOfSums(now.votes, sums)) {
      this.found.add("shown-result-differs", `the newest votes of result.json: ${now.votes.count}, signed are ${sums.count}`);
    }
    if (now.size > this.leaf.entries.size && now.at - this.leaf.at > lateLeaf) {
      this.found.add("leaf-late", `${now.size} entries, ${this.leaf.entries.size} of them signed`);
    }
  }

  // checkPromise compares what the site says about the list of votes of a final result with a signed
  // configuration of it. Few voters, and an erasure while there were few, keep the list secret.
  checkPromise(c: Config): void {
    const { ballots, erasures } = this.leaf;
    if (this.result.entries !== "never" || c.entries === "never" || !ballots || erasures > 0) return;
    if (ballots.size >= leastVoters(c)) this.found.add("entries-withheld", `${ballots.size} voters`);
  }

  // recount folds all entries of the leaf's tree, and compares what they give with the leaf. It calls
  // visit with each entry, and progress now and then.
  async recount(visit: (index: number, e: Entry) => void, progress?: (done: number, all: number) => void): Promise<Fold | undefined> {
    const fold = new Fold(), frontier = new Frontier(), { size } = this.leaf.entries;
    try {
      await this.files.entries(size, 0, size, (index, data) => {
        if (index % 8192 === 0) progress?.(index, size);
        frontier.append(data);
        const e = fold.apply(data);
        if (e) visit(index, e);
      });
    } catch (error) {
      if (error instanceof MissingFile) throw error;
      this.found.add("root-differs", reason(error));
      return undefined;
    }
    progress?.(size, size);
    if (!equalTrees(frontier.tree(), this.leaf.entries)) this.found.add("root-differs", `${size} entries`);
    this.#compare(fold);
    await this.#checkClose(fold);
    return fold;
  }

  // #compare compares the recount with the leaf.
  #compare(fold: Fold): void {
    const { leaf, found } = this;
    if (!fold.tree || !fold.poll || !equal(fold.tree, leaf.tree) || !equal(fold.poll, leaf.poll)) found.add("begin", "entry 0");
    if (fold.erasures !== leaf.erasures) found.add("erasures-differ", `${fold.erasures} are listed, ${leaf.erasures} are signed`);
    fold.checkWeights();
    found.addAll(fold.findings.list);
    let sums: Sums;
    try {
      sums = sumsOfBallots(fold.ballots());
    } catch (error) {
      found.add("overflow", `${fold.ballotCount} ballots: ${reason(error)}`);
      return;
    }
    if (leaf.sums && !equalSums(leaf.sums, sums)) {
      found.add("sums-differ", `counted: ${sums.count} votes with the sum ${sums.sum}; signed: ${leaf.sums.count} votes with the sum ${leaf.sums.sum}`);
    }
    const c = fold.settings;
    if (fold.closed && !fold.reset && c?.tieBreak !== undefined && !isTied(sums, c.tieBreak, c.options.length)) found.add("tie-break", `option ${c.tieBreak}`);
    if (leaf.ballots && !equalTrees(leaf.ballots, treeOfBallots(fold, sums))) found.add("ballot-root-differs", `${fold.ballotCount} ballots`);
    this.#compareStatus(fold);
  }

  // #compareStatus compares the status of the leaf with the entries. A tree ends in any status.
  #compareStatus(fold: Fold): void {
    const { status, final } = this.leaf;
    const fits =
      status === Status.open ? !fold.closed : status === Status.closed ? fold.closed && !(final && fold.hidden) : status === Status.reset ? fold.reset : true;
    if (!fits) this.found.add("status-differs", `leaf ${this.leafIndex}`);
  }

  // #checkClose looks for votes between the end of a poll and its late close: those that the log had
  // only in a leaf from after the end.
  async #checkClose(fold: Fold): Promise<void> {
    if (!fold.late) return;
    let first = this.leaf; // with the last vote
    while (first.prev !== noLeaf) {
      const before = await this.#leafBefore(first);
      if (!before) {
        this.found.add("log-leaf", `leaf ${first.prev} is not of the tree`);
        return;
      }
      if (before.entries.size <= fold.late.lastVote) break;
      first = before;
    }
    const delay = first.at - fold.late.end;
    if (delay > closeDelay) this.found.add("late-close", `entry ${fold.late.lastVote}, in the log ${delay} ms after the end`);
  }

  // #leafBefore returns the leaf of the tree before another one, undefined where the log has none.
  async #leafBefore(leaf: PollLeaf): Promise<PollLeaf | undefined> {
    let before: PollLeaf | undefined;
    try {
      await this.logFiles.provenEntries(this.log, leaf.prev, leaf.prev + 1, (data) => {
        const l = parseLogLeaf(data);
        if (l.kind === "poll" && equal(l.tree, this.leaf.tree) && l.entries.size <= leaf.entries.size && l.prev < leaf.prev) before = l;
      });
    } catch (error) {
      if (error instanceof MissingFile) throw error;
    }
    return before;
  }
}
