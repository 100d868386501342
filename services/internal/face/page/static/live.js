// Which poll of a channel is live: the one that became active last. A poll that has ended stays
// for some seconds, unless another one begins, and comes back for as long when staff decides its tie.
// The same for questions, which have no ties.

// LivePoll follows the polls of a channel. Polls of all channels are not among them: they may
// be active for months.
export class LivePoll {
  // linger is the time in seconds that a poll stays after its end.
  constructor(linger) {
    this.linger = linger;
    this.polls = new Map(); // by id: those that are active, and the one that is shown
    this.begun = 0; // polls that became active
    this.updates = 0; // events, to tell whether one came while the polls were read
    this.shown = null; // the id of the poll that is shown, null if none is
  }

  // read finds the polls that are active, and what became of the shown one.
  async read(client) {
    let before, found;
    do {
      before = this.updates;
      found = await readActive(client);
      const known = this.shown !== null && !found.some((p) => p.id === this.shown);
      if (known) found.push(...await readOne(client, this.shown));
    } while (before !== this.updates);
    const ids = new Set(found.map((p) => p.id));
    for (const id of this.polls.keys()) if (!ids.has(id)) this.polls.delete(id);
    found.sort((a, b) => (a.startsAt * 1000 || a.version) - (b.startsAt * 1000 || b.version)).forEach((p) => this.keep(p));
    return this.pick();
  }

  // update takes a poll over as an event has it.
  update(poll) {
    this.updates++;
    if (this.shown === null && poll.tieBreak !== undefined) this.shown = poll.id;
    this.keep(poll);
    return this.pick();
  }

  keep(poll) {
    const before = this.polls.get(poll.id);
    const active = poll.status === "active", goesOn = active && before?.poll.status === "active";
    const ended = poll.status === "expired" && poll.id === this.shown;
    if (poll.global || !(active || ended)) return void this.polls.delete(poll.id);
    const order = active && !goesOn ? ++this.begun : before?.order ?? 0;
    const since = before?.poll.tieBreak === poll.tieBreak ? before?.ended : null;
    this.polls.set(poll.id, { poll, order, ended: active ? null : since ?? Date.now() });
  }

  // pick chooses the poll to show, and returns it, or null.
  pick() {
    const stays = ({ poll, ended }) => poll.id === this.shown && (ended === null || Date.now() - ended < this.linger * 1000);
    const fitting = [...this.polls.values()].filter((known) => stays(known) || (known.ended === null && !known.poll.disabled));
    const best = fitting.sort((a, b) => b.order - a.order)[0]?.poll ?? null;
    this.shown = best?.id ?? null;
    for (const [id, { ended }] of this.polls) if (ended !== null && id !== this.shown) this.polls.delete(id);
    return best;
  }
}

async function readActive(client) {
  const found = [];
  let cursor = "";
  do {
    const page = await client.request("GET", `/polls?status=active&limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...page.polls.filter((p) => !p.global));
    cursor = page.next ?? "";
  } while (cursor);
  return found;
}

// readOne returns the poll of an id in a list, which is empty if there is none.
async function readOne(client, id) {
  try {
    return [await client.request("GET", `/poll?id=${encodeURIComponent(id)}`)];
  } catch (e) {
    if (e.status === 404) return [];
    throw e;
  }
}

// LiveQuestion follows questions by when they begin and end. One that has no beginning is never
// live: it takes answers at any time.
export class LiveQuestion {
  // linger is the time in seconds that a question stays after its end.
  constructor(linger) {
    this.linger = linger;
    this.schedules = new Map(); // by id
    this.shown = null; // the id of the question that is shown, null if none is
  }

  update(id, { startsAt = 0, endsAt = 0 }) { this.schedules.set(id, { startsAt, endsAt }); }

  // pick chooses the question to show at a time in seconds, and returns its id, or null.
  pick(now) {
    const live = [...this.schedules].filter(([id, { startsAt, endsAt }]) =>
      startsAt > 0 && startsAt <= now && (endsAt === 0 || now < endsAt + (id === this.shown ? this.linger : 0)));
    this.shown = live.sort(([, a], [, b]) => b.startsAt - a.startsAt)[0]?.[0] ?? null;
    return this.shown;
  }
}
