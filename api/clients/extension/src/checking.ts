/**
 * Votes that their viewer can check: secrets and receipts, which this browser keeps, and the check. The
 * package acclaim-checker does it; it is loaded with the first such vote.
 */
import { type Acclaim, AcclaimError, content, type Poll } from "acclaim-client";
import type { ReceiptReport } from "acclaim-checker";

import { say } from "./texts.js";

/** Who votes where. */
export interface Place {
  clientId: string;
  channelId: string;
  userId: string;
}

/** A vote that this browser cast. */
interface KeptVote {
  poll: string;
  value: number;
  nonce: string;
  /** Its place in the poll's list. */
  index: number;
  /** Empty until the backend has signed the vote. */
  receipt: string;
}

/** What a check found. */
export interface Verdict {
  kind: "counted" | "recorded" | "wrong" | "unknown";
  text: string;
  /** The receipt, empty where there is none. */
  receipt: string;
}

const keptVotes = 20;
/** The backend signs a vote within some 2 seconds. The pages of all viewers ask spread over more. */
const receiptAfter = 3000, receiptSpread = 4000, receiptAttempts = 3; // milliseconds

export class VoteChecks {
  #place: Place | undefined;
  #votes: KeptVote[] = []; // for browsers that give the page no storage

  /** Turns to a viewer. Another viewer of this browser has other votes. */
  turnTo(place: Place): void {
    if (place.userId !== this.#place?.userId) this.#votes = [];
    this.#place = place;
  }

  /** Returns whether this browser knows a vote in a poll. */
  knows(poll: Poll): boolean {
    return poll.verifiable === true && this.#find(poll.id) !== undefined;
  }

  /** Casts a vote that can be checked. */
  async cast(acclaim: Acclaim, poll: Poll, value: number) {
    const { makeSecret } = await import("acclaim-checker");
    const { nonce, nonceHash } = makeSecret({ client: this.#place?.clientId ?? "", channel: this.#place?.channelId ?? "", poll: poll.id });
    const query = { id: poll.id }, body = { value, version: poll.version, nonceHash };
    const stats = await content(acclaim.api.POST("/vote", { params: { query }, body }));
    if (stats.listed) this.#keep({ poll: poll.id, value, nonce, index: stats.listed.index, receipt: "" });
    return stats;
  }

  /** Reads the receipt some seconds after a vote. It returns what is wrong where there is none. */
  async collect(acclaim: Acclaim, poll: Poll): Promise<Verdict | undefined> {
    let problem: Verdict | undefined = unsigned();
    for (let attempt = 0; attempt < receiptAttempts && problem?.kind === "unknown"; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, receiptAfter + receiptSpread * Math.random()));
      problem = await this.#readReceipt(acclaim, poll.id);
    }
    return problem;
  }

  /** Checks the vote that this browser cast last. The files of the log are at the backend. */
  async check(acclaim: Acclaim, poll: Poll, backend: string, key: string): Promise<Verdict> {
    const problem = await this.#readReceipt(acclaim, poll.id), vote = this.#find(poll.id);
    if (problem || !vote) return problem ?? unsigned();
    const { checkReceipt } = await import("acclaim-checker");
    const keys = (key || await readKeys(backend)).trim().split(/\s+/);
    const report = await checkReceipt(vote.receipt, { key: keys, site: backend, noRecount: true });
    return { ...judge(report, vote, poll), receipt: vote.receipt };
  }

  /** Reads the receipt of the viewer's latest vote. It returns what is wrong unless that is the kept one. */
  async #readReceipt(acclaim: Acclaim, poll: string): Promise<Verdict | undefined> {
    const vote = this.#find(poll);
    if (!vote) return undefined;
    const { addNonce, describeReceipt } = await import("acclaim-checker");
    let receipt;
    try {
      receipt = await content(acclaim.api.GET("/receipt", { params: { query: { id: poll } }, parseAs: "text" }));
    } catch (error) {
      if (error instanceof AcclaimError && error.status === 404) return vote.receipt === "" ? unsigned() : undefined;
      throw error;
    }
    const { index } = describeReceipt(receipt);
    if (index > vote.index) return { kind: "wrong", text: say("replaced"), receipt: vote.receipt };
    if (index < vote.index) return vote.receipt === "" ? unsigned() : undefined;
    if (vote.receipt === "") this.#keep({ ...vote, receipt: addNonce(receipt, vote.nonce) });
    return undefined;
  }

  get #item(): string {
    const { clientId, channelId, userId } = this.#place ?? {};
    return ["acclaim votes", clientId, channelId, userId].join(" ");
  }

  #find(poll: string): KeptVote | undefined {
    return this.#load().find((vote) => vote.poll === poll);
  }

  #keep(vote: KeptVote): void {
    this.#votes = [...this.#load().filter((other) => other.poll !== vote.poll), vote].slice(-keptVotes);
    try {
      localStorage.setItem(this.#item, JSON.stringify(this.#votes));
    } catch {
      // The browser gives the page no storage: the votes last as long as the page.
    }
  }

  /** Reads the votes again: another view of this browser may have cast one. */
  #load(): KeptVote[] {
    try {
      const stored = localStorage.getItem(this.#item);
      return stored === null ? this.#votes : (JSON.parse(stored) as KeptVote[]);
    } catch {
      return this.#votes;
    }
  }
}

const unsigned = (): Verdict => ({ kind: "unknown", text: say("notSigned"), receipt: "" });

async function readKeys(backend: string): Promise<string> {
  const answer = await fetch(`${backend}/log/vkeys`);
  if (!answer.ok) throw new AcclaimError(answer.status, answer.statusText);
  return answer.text();
}

/** Puts a report into plain words. */
function judge(report: ReceiptReport, vote: KeptVote, poll: Poll): Omit<Verdict, "receipt"> {
  const name = poll.options[vote.value] ?? String(vote.value), { recorded, counted, findings, missing } = report;
  if (findings.some(({ kind }) => kind === "ballot-differs" || kind === "vote-replaced")) return { kind: "wrong", text: say("replaced") };
  if (findings[0]) return { kind: "wrong", text: say("notAsVoted", { reason: findings[0].sentence }) };
  if (report.value !== vote.value) return { kind: "wrong", text: say("notAsVoted", { reason: report.vote ?? recorded.text }) };
  if (counted.answer === "yes") return { kind: "counted", text: say("isCounted", { name }) };
  if (counted.answer === "no") return { kind: "wrong", text: say("isCleared") };
  return { kind: "recorded", text: [say("isRecorded", { name }), missing ? say("notChecked", { reason: missing }) : ""].filter(Boolean).join(" ") };
}
