/** Which poll of the channel is live: of the open ones, the one that opened last. */
import { type Acclaim, content, type Poll } from "acclaim-client";

interface Known {
  poll: Poll;
  /** Rises with each poll that opens. */
  order: number;
  /** When the poll was seen to close, in milliseconds. */
  closed?: number;
}

export class LivePoll {
  #known = new Map<string, Known>(); // by id: the open polls, and the shown one
  #opened = 0;
  #shown = "";

  /** A closed poll stays for some time, unless another one opens, and comes back for as long when staff decides its tie. */
  constructor(readonly staysFor: number) {}

  /** Takes over which polls are open, and what became of the shown one. */
  replace(polls: Poll[]): void {
    const ids = new Set(polls.map((poll) => poll.id));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
    for (const poll of polls.sort((a, b) => (a.startsAt * 1000 || a.version) - (b.startsAt * 1000 || b.version))) this.update(poll);
  }

  /** Takes a poll over as an event has it. */
  update(poll: Poll): void {
    const before = this.#known.get(poll.id), open = poll.status === "active";
    if (this.#shown === "" && poll.tieBreak !== undefined) this.#shown = poll.id;
    if (poll.global || !(open || (poll.status === "expired" && poll.id === this.#shown))) return void this.#known.delete(poll.id);
    const goesOn = before !== undefined && before.closed === undefined;
    const order = open && !goesOn ? ++this.#opened : before?.order ?? 0;
    const since = before?.poll.tieBreak === poll.tieBreak ? before?.closed : undefined;
    this.#known.set(poll.id, open ? { poll, order } : { poll, order, closed: since ?? Date.now() });
  }

  remove(id: string): void {
    this.#known.delete(id);
  }

  get shown(): string {
    return this.#shown;
  }

  /** Returns the poll to show, if there is one. */
  pick(): Poll | undefined {
    const stays = ({ poll, closed }: Known) => poll.id === this.#shown && (closed === undefined || Date.now() - closed < this.staysFor);
    const fitting = [...this.#known.values()].filter((known) => stays(known) || (known.closed === undefined && !known.poll.disabled));
    const best = fitting.sort((a, b) => b.order - a.order)[0]?.poll;
    this.#shown = best?.id ?? "";
    return best;
  }
}

/** Reads the polls of the channel, all or those with a status. */
export async function readPolls(acclaim: Acclaim, signal: AbortSignal, status?: Poll["status"]): Promise<Poll[]> {
  const polls: Poll[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const query = { limit: 1000, ...(status && { status }), ...(cursor !== undefined && { cursor }) };
    const page = await content(acclaim.api.GET("/polls", { params: { query }, signal }));
    polls.push(...page.polls);
    cursor = page.next;
  }
  return polls;
}

/** Reads a poll, or undefined if there is none. */
export async function readPoll(acclaim: Acclaim, id: string, signal?: AbortSignal): Promise<Poll | undefined> {
  const answer = await acclaim.api.GET("/poll", { params: { query: { id } }, ...(signal && { signal }) });
  return answer.response.status === 404 ? undefined : content(Promise.resolve(answer));
}
