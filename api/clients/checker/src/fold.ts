// The recount of a poll from the leaves of its tree, in order. An entry that breaks a rule is a
// finding and counts nothing.

import type { Ballot, Choice } from "./ballots.js";
import { type Bytes, equal } from "./bytes.js";
import { type Config, asksAnother } from "./config.js";
import { type Entry, Kind, type Leaf, isVote, parseLeaf, saltAt, saltCommitment } from "./entry.js";
import { type FindingKind, Findings, reason } from "./finding.js";

interface Voter {
  choices: Choice[]; // by rising value
  modifiers: bigint;
}

// LateClose is a close after the end of the poll.
export interface LateClose {
  end: number; // Unix milliseconds
  lastVote: number;
}

// closeDelay is the delay of a close, in milliseconds, from which on votes may have come too late.
export const closeDelay = 5000;

const maxWeight = 2n ** 64n - 1n;

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
  #voters = new Map<number, Voter>();
  #nonces = new Set<string>();
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
        this.#voters = new Map();
        this.#nonces = new Set();
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
    if (e.nonce) this.#seeNonce(index, e.nonce);
    const known = this.#voters.get(e.voter);
    const kind = this.#refusal(index, e, known);
    if (kind) {
      this.findings.add(kind, `entry ${index}`);
      return false;
    }
    const voter = known ?? { choices: [], modifiers: 0n };
    if (!known) this.#voters.set(e.voter, voter);
    this.reset = false;
    if (e.kind === Kind.modifier) {
      voter.modifiers += e.add!;
      return true;
    }
    this.votes++;
    this.#lastVote = index;
    if (e.byStaff) this.byStaff++;
    if (!e.nonce) this.noNonce++;
    cast(voter, e);
    return true;
  }

  #seeNonce(index: number, nonce: Bytes): void {
    const pair = (i: number): number => nonce[i]! * 256 + nonce[i + 1]!;
    const name = String.fromCharCode(pair(0), pair(2), pair(4), pair(6), pair(8), pair(10), pair(12), pair(14)); // which is the fastest name
    const before = this.#nonces.size;
    if (this.#nonces.add(name).size === before) this.findings.add("nonce-twice", `entry ${index}`);
  }

  // #refusal returns the rule that a vote or a weight breaks.
  #refusal(index: number, e: Entry, known: Voter | undefined): FindingKind | undefined {
    if (this.closed) return e.kind === Kind.modifier ? "weight-after-close" : "vote-after-close";
    if (!known && e.voter !== index) return "unknown-voter";
    if (!this.settings || e.config !== this.#configIndex) return "wrong-config";
    if (e.kind === Kind.modifier) return undefined;
    if (this.settings.disabled) return "vote-while-disabled";
    return allows(this.settings, e, known?.choices ?? []) ? undefined : "over-limit";
  }

  // ballotOf returns the ballot of a voter, if there is one.
  ballotOf(voter: number): Ballot | undefined {
    const known = this.#voters.get(voter);
    return known && known.choices.length > 0 ? { voter, weight: weightOf(known) & maxWeight, choices: known.choices } : undefined;
  }

  // ballots returns the ballots by rising voter number.
  ballots(): Ballot[] {
    const list: Ballot[] = [];
    for (const [voter, known] of this.#voters) {
      if (known.choices.length === 0) continue;
      const weight = weightOf(known);
      if (weight > maxWeight) this.findings.add("overflow", `the weight of voter ${voter}`);
      list.push({ voter, weight: weight & maxWeight, choices: known.choices });
    }
    return list; // new voters have rising numbers, and a map keeps their order
  }
}

function weightOf(voter: Voter): bigint {
  if (voter.modifiers === 0n) return 1n;
  const n = 1n + voter.modifiers;
  return n < 0n ? 0n : n;
}

// allows reports whether a voter with choices may cast a vote by the limits of the configuration.
function allows(c: Config, e: Entry, choices: Choice[]): boolean {
  if ((e.kind === Kind.add) !== c.totalVotesPerUser > 1 || e.times > c.totalVotesPerUser) return false;
  if (e.kind === Kind.set) return true;
  let total = e.times, same = e.times, distinct = 1;
  for (const choice of choices) {
    total += choice.times;
    if (choice.value === e.value) same += choice.times;
    else distinct++;
  }
  return total <= c.totalVotesPerUser && BigInt(same) <= c.votesPerOption && distinct <= c.distinctOptionsPerUser;
}

function cast(voter: Voter, e: Entry): void {
  const at = voter.choices.findIndex((choice) => choice.value >= e.value), known = voter.choices[at];
  if (e.kind === Kind.set) voter.choices = [{ value: e.value, times: e.times }];
  else if (known?.value === e.value) known.times += e.times;
  else voter.choices.splice(at < 0 ? voter.choices.length : at, 0, { value: e.value, times: e.times });
}
