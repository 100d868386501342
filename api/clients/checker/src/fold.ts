// The recount of a poll from the leaves of its tree, in order. An entry that breaks a rule is a
// finding and counts nothing.

import type { Ballot, Choice } from "./ballots.js";
import { type Bytes, equal } from "./bytes.js";
import { type Config, asksAnother, promisesAnother } from "./config.js";
import { type Entry, Kind, type Leaf, isVote, parseLeaf, saltAt, saltCommitment } from "./entry.js";
import { type FindingKind, Findings, reason } from "./finding.js";
import { NonceSet } from "./nonces.js";
import { Voters } from "./voters.js";

// LateClose is a close after the end of the poll.
export interface LateClose {
  end: number; // Unix milliseconds
  lastVote: number;
}

// closeDelay is the delay of a close, in milliseconds, from which on votes may have come too late.
export const closeDelay = 5000;

export class Fold {
  readonly findings = new Findings();
  settings?: Config; // the newest configuration
  tree?: Bytes;
  poll?: Bytes;
  closed = false;
  hidden = false;
  votes = 0; // entries that are votes, since the last reset
  byStaff = 0; // those of them that staff or the extension's own server submitted
  noNonce = 0; // those of them that no voter can recognize
  erasures = 0;
  reset = false; // no vote or weight came since the last reset
  late?: LateClose;

  #next = 0;
  #configIndex = -1;
  #voters = new Voters();
  #nonces = new NonceSet();
  #commitment: Bytes = new Uint8Array();
  #salts: { index: number; salt: Bytes }[] = [];
  #lastVote = 0;

  // apply counts the next leaf. It returns the entry unless it is a finding.
  apply(data: Uint8Array): Entry | undefined {
    const index = this.#next++;
    let leaf: Leaf;
    try {
      leaf = parseLeaf(data);
    } catch (error) {
      this.findings.add("entry-malformed", `entry ${index}: ${reason(error)}`);
      return undefined;
    }
    const e = leaf.entry;
    if ((e.kind === Kind.begin) !== (index === 0) || (index === 1 && e.kind !== Kind.config)) {
      this.findings.add("begin", `entry ${index} has the kind ${e.kind}`);
      return undefined;
    }
    this.#applySalt(index, leaf);
    if (isVote(e.kind) || e.kind === Kind.modifier) return this.#applyVoter(index, e) ? e : undefined;
    this.#applyEvent(index, e);
    return e;
  }

  #applySalt(index: number, { entry, salt }: Leaf): void {
    const mayHide = entry.kind !== Kind.reveal && entry.kind !== Kind.reset;
    if ((salt !== undefined) !== (this.hidden && mayHide)) this.findings.add("hiding", `entry ${index}`);
    if (salt) this.#salts.push({ index, salt });
  }

  // #applyEvent counts an entry that is about the whole poll.
  #applyEvent(index: number, e: Entry): void {
    switch (e.kind) {
      case Kind.begin:
        [this.tree, this.poll] = [e.tree!, e.poll!];
        return;
      case Kind.config:
        this.#configure(index, e.settings!);
        return;
      case Kind.reset:
        this.#voters = new Voters();
        this.#nonces = new NonceSet();
        [this.votes, this.byStaff, this.noNonce, this.reset] = [0, 0, 0, true];
        [this.hidden, this.#salts] = [false, []];
        return;
      case Kind.close:
      case Kind.open:
        this.#closeOrOpen(index, e);
        return;
      case Kind.erasure:
        this.erasures++;
        return;
      case Kind.hide:
        if (this.hidden) this.findings.add("order", `entry ${index} hides what is hidden`);
        [this.hidden, this.#commitment] = [true, e.salt!];
        return;
      case Kind.reveal:
        this.#reveal(index, e.salt!);
    }
  }

  #configure(index: number, c: Config): void {
    const old = this.settings;
    if (old && this.#voters.size > 0) {
      if (asksAnother(old, c)) {
        this.findings.add("question-changed", `entry ${index}, after ${this.votes} votes: ${JSON.stringify(c.prompt)} instead of ${JSON.stringify(old.prompt)}`);
      }
      if (old.userIDVoting !== c.userIDVoting) this.findings.add("identity-changed", `entry ${index}`);
      if (promisesAnother(old, c)) this.findings.add("rules-changed", `entry ${index}, after ${this.votes} votes`);
    }
    [this.settings, this.#configIndex] = [c, index];
  }

  #closeOrOpen(index: number, e: Entry): void {
    const closes = e.kind === Kind.close;
    if (closes === this.closed) this.findings.add("order", `entry ${index} closes or opens what is so already`);
    this.closed = closes;
    const end = Number(this.settings?.endsAt ?? 0n) * 1000;
    if (closes && end > 0 && e.at! - end > closeDelay && this.votes > 0) this.late = { end, lastVote: this.#lastVote };
  }

  #reveal(index: number, key: Bytes): void {
    if (!this.hidden) {
      this.findings.add("order", `entry ${index} reveals what is not hidden`);
      return;
    }
    if (!equal(saltCommitment(key), this.#commitment)) this.findings.add("wrong-salt-key", `entry ${index}`);
    for (const { index, salt } of this.#salts) {
      if (!equal(saltAt(key, index), salt)) this.findings.add("wrong-salt-key", `entry ${index}`);
    }
    [this.hidden, this.#salts] = [false, []];
  }

  // #applyVoter counts a vote or a weight.
  #applyVoter(index: number, e: Entry): boolean {
    if (e.nonce && !this.#nonces.add(e.nonce)) this.findings.add("nonce-twice", `entry ${index}`);
    const known = this.#voters.has(e.voter);
    const kind = this.#refusal(index, e, known);
    if (kind) {
      this.findings.add(kind, `entry ${index}`);
      return false;
    }
    if (!known) this.#voters.add(e.voter);
    this.reset = false;
    if (e.kind === Kind.modifier) {
      this.#voters.modify(e.voter, e.add!);
      return true;
    }
    this.votes++;
    this.#lastVote = index;
    if (e.byStaff) this.byStaff++;
    if (!e.nonce) this.noNonce++;
    if (e.kind === Kind.set) this.#voters.set(e.voter, e.value, e.times);
    else this.#voters.cast(e.voter, e.value, e.times);
    return true;
  }

  // #refusal returns the rule that a vote or a weight breaks.
  #refusal(index: number, e: Entry, known: boolean): FindingKind | undefined {
    if (this.closed) return e.kind === Kind.modifier ? "weight-after-close" : "vote-after-close";
    if (!known && e.voter !== index) return "unknown-voter";
    if (!this.settings || e.config !== this.#configIndex) return "wrong-config";
    if (e.kind === Kind.modifier) return undefined;
    if (this.settings.disabled) return "vote-while-disabled";
    return allows(this.settings, e, () => (known ? this.#voters.choicesOf(e.voter) : [])) ? undefined : "over-limit";
  }

  // ballotOf returns the ballot of a voter, if there is one.
  ballotOf(voter: number): Ballot | undefined {
    return this.#voters.ballotOf(voter);
  }

  // ballots returns the ballots by rising voter number, of weights that have at most 64 bits.
  ballots(): Iterable<Ballot> {
    return this.#voters.ballots();
  }

  get ballotCount(): number {
    return this.#voters.ballotCount;
  }

  // checkWeights names weights of more than 64 bits.
  checkWeights(): void {
    for (const voter of this.#voters.overflowing()) this.findings.add("overflow", `the weight of voter ${voter}`);
  }
}

// allows reports whether a voter with choices may cast a vote by the limits of the configuration.
function allows(c: Config, e: Entry, choices: () => Choice[]): boolean {
  if ((e.kind === Kind.add) !== c.totalVotesPerUser > 1 || e.times > c.totalVotesPerUser) return false;
  if (e.kind === Kind.set) return true;
  let total = e.times, same = e.times, distinct = 1;
  for (const choice of choices()) {
    total += choice.times;
    if (choice.value === e.value) same += choice.times;
    else distinct++;
  }
  return total <= c.totalVotesPerUser && BigInt(same) <= c.votesPerOption && distinct <= c.distinctOptionsPerUser;
}
