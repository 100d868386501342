/** The broadcaster's view beside the live stream, `live_config`: polls and questions are made and changed here. */
import { type Acclaim, type AcclaimEvent, content, type Poll } from "acclaim-client";
import { render } from "preact";

import { Asking } from "./asking.js";
import { Banner } from "./banner.js";
import { connect, explain, type Connection, type Page } from "./connect.js";
import { DeskPoll, nameState } from "./deskpoll.js";
import { type Answer, DeskQuestion } from "./deskquestion.js";
import { type Draft, makeEmptyDraft, NewPoll, type PollConfig } from "./forms.js";
import { readPoll, readPolls } from "./live.js";
import { findHelper, followTheme, type Helper } from "./platform.js";
import { addressPictures } from "./poll.js";
import { readSettings } from "./settings.js";
import type { Statistics } from "./tally.js";
import { say } from "./texts.js";
import { Wait, WaitBar } from "./undo.js";

const shownPolls = 20;

class Desk implements Page {
  #acclaim: Acclaim | undefined;
  #connection: Connection = { state: "starting" };
  #polls = new Map<string, Poll>(); // by id
  #chosen = "";
  #stats: Statistics | undefined; // of the chosen poll
  #visibleBefore = new Map<string, Poll["resultsVisibility"]>(); // of polls whose results this page has hidden
  #emptyDraft = makeEmptyDraft();
  #draft = this.#emptyDraft; // what the form of a new poll begins with
  #makesPoll = false; // whether the form of a new poll is open
  #asking = new Asking({ draw: () => this.#draw(), followAgain: () => this.#followAgain(), fail: (error) => { this.#problem = explain(error); } });
  #wait: Wait | undefined;
  #said = "";
  #problem = "";
  #place = { clientId: "", channelId: "" };
  #skew = 0; // of the backend's clock, in milliseconds
  #heard = { polls: 0, votes: 0 }; // events, to find out whether one came while the page read
  #followAgain = () => {};

  constructor(readonly helper: Helper) {
    setInterval(() => this.#draw(), 1000);
  }

  follow(): void {
    this.helper.onAuthorized((place) => { this.#place = place; });
    this.#followAgain = connect(this.helper, this);
  }

  get topics(): string[] {
    return ["poll_update:*", "vote_update:*", "vote_delete:*", ...this.#asking.topics];
  }

  report(connection: Connection): void {
    this.#connection = connection;
    this.#draw();
  }

  async read(acclaim: Acclaim, signal: AbortSignal): Promise<void> {
    this.#acclaim = acclaim;
    const { server_time } = await content(acclaim.api.GET("/user_info", { signal }));
    this.#skew = server_time - Date.now();
    let polls, before;
    do {
      before = this.#heard.polls;
      polls = await readPolls(acclaim, signal);
    } while (before !== this.#heard.polls);
    this.#polls = new Map(polls.filter((poll) => !poll.global).map((poll) => [poll.id, poll]));
    if (!this.#polls.has(this.#chosen)) [this.#chosen, this.#stats] = [this.#newestFirst().find((poll) => poll.status === "active")?.id ?? "", undefined];
    await this.#readVotes(signal);
    await this.#asking.read(acclaim, signal);
    this.#draw();
  }

  async #readVotes(signal?: AbortSignal): Promise<void> {
    const id = this.#chosen, before = this.#heard.votes;
    if (id === "" || !this.#acclaim) return;
    const stats = await content(this.#acclaim.api.GET("/vote", { params: { query: { id } }, ...(signal && { signal }) }));
    if (id === this.#chosen && (before === this.#heard.votes || !this.#stats)) this.#stats = stats; // what was heard is newer
    this.#draw();
  }

  hear({ name, data }: AcclaimEvent): void {
    const kind = name.slice(0, name.indexOf(":")), { id } = data as { id: string };
    if (kind === "poll_update" && !(data as Poll).global) this.#updatePoll(data as Poll);
    if (kind === "vote_update" && id === this.#chosen) this.#updateVotes((data as { stats: Statistics }).stats);
    if (kind === "vote_delete") this.#removePoll(id);
    if (kind === "json_store_update") this.#asking.hearQuestion((data as { value: unknown }).value);
    if (kind === "rank_update" && this.#acclaim) this.#asking.hearAnswers(this.#acclaim, (data as { data: Answer[] }).data);
    this.#draw();
  }

  /** Takes a poll over. Where none is chosen, one that opens is. */
  #updatePoll(poll: Poll): void {
    this.#heard.polls++;
    this.#polls.set(poll.id, poll);
    if (!this.#polls.has(this.#chosen) && poll.status === "active") [this.#chosen, this.#stats] = [poll.id, undefined];
    if (poll.id === this.#chosen && !this.#stats) void this.#readVotes().catch(() => {}); // else the next event has them
  }

  #updateVotes(stats: Statistics): void {
    this.#heard.votes++;
    this.#stats = stats;
  }

  #removePoll(id: string): void {
    this.#heard.polls++;
    this.#polls.delete(id);
    if (id === this.#chosen) this.#stats = undefined;
  }

  /** Does what a person wants, says what became of it, and returns whether it succeeded. */
  async #attempt(action: (acclaim: Acclaim) => Promise<void>): Promise<boolean> {
    [this.#said, this.#problem] = ["", ""];
    this.#draw();
    try {
      if (!this.#acclaim) throw new TypeError("there is no connection yet");
      await action(this.#acclaim);
      this.#said = say("saved");
      return true;
    } catch (error) {
      this.#problem ||= explain(error);
      return false;
    } finally {
      this.#draw();
    }
  }

  #newestFirst(): Poll[] {
    const order = ["active", "pending", "expired"];
    return [...this.#polls.values()].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || b.version - a.version);
  }

  /** Returns what a new poll can begin with: nothing, the templates of the settings, or an earlier poll. */
  #drafts(): Draft[] {
    const templates = readSettings(this.helper).templates
      .map(({ prompt, options }, n) => ({ id: `template ${n}`, name: say("template", { name: prompt }), prompt, options, choices: 1 }));
    const earlier = this.#newestFirst().slice(0, shownPolls)
      .map(({ id, prompt, options, totalVotesPerUser }) => ({ id: `poll ${id}`, name: say("again", { name: prompt || id }), prompt, options, choices: totalVotesPerUser }));
    return [this.#emptyDraft, ...templates, ...earlier];
  }

  async #choose(id: string): Promise<void> {
    [this.#chosen, this.#stats, this.#said, this.#problem] = [id, undefined, "", ""];
    await this.#attempt(() => this.#readVotes());
    this.#said = "";
    this.#draw();
    document.getElementById("poll")?.focus();
  }

  async #start(config: PollConfig): Promise<void> {
    const id = `poll-${Date.now().toString(36)}`;
    const started = await this.#attempt(async (acclaim) => {
      await acclaim.configurePoll(id, config);
      const poll = await readPoll(acclaim, id);
      if (poll) this.#polls.set(id, poll);
    });
    if (!started) return;
    this.#draft = this.#emptyDraft = makeEmptyDraft();
    this.#makesPoll = false;
    await this.#choose(id);
  }

  async #change(changes: PollConfig): Promise<boolean> {
    if (Object.keys(changes).length === 0) {
      [this.#said, this.#problem] = [say("nothingChanged"), ""];
      this.#draw();
      return false;
    }
    const id = this.#chosen;
    return this.#attempt(async (acclaim) => {
      await acclaim.changePoll(id, changes, true);
      const poll = await readPoll(acclaim, id);
      if (poll) this.#polls.set(id, poll);
    });
  }

  #reveal({ id, hidden, resultsVisibility }: Poll): void {
    if (!hidden) this.#visibleBefore.set(id, resultsVisibility);
    void this.#change({ resultsVisibility: hidden ? this.#visibleBefore.get(id) ?? "always" : "staff" });
  }

  /** Deletes a poll's votes, and the poll unless it is to stay, after a wait. */
  #remove(poll: Poll, stays: boolean): void {
    const name = poll.prompt || poll.id, { id } = poll;
    const describe = (n: number) => say(stays ? "clearing" : "removing", { n, name });
    const action = async () => {
      await this.#attempt(async (acclaim) => {
        if (stays) await acclaim.clearVotes(id);
        else await content(acclaim.api.DELETE("/vote", { params: { query: { id } } }));
      });
    };
    this.#wait = new Wait(describe, action, () => this.#draw(), () => {
      this.#wait = undefined;
      this.#draw();
      document.getElementById("poll")?.focus();
    });
    this.#draw();
  }

  #draw(): void {
    const poll = this.#polls.get(this.#chosen), asking = this.#asking, { clientId, channelId } = this.#place;
    render(
      <main>
        <h1 class="spoken">{say("desk")}</h1>
        <Banner {...this.#connection} />
        <p class="message" role="status">{this.#said}</p>
        <p class="problem" role="alert">{this.#problem}</p>
        {this.#wait && <WaitBar wait={this.#wait} />}
        {poll && (
          <DeskPoll poll={poll} stats={this.#stats} now={Date.now() + this.#skew} waiting={this.#wait !== undefined}
            pictures={addressPictures(poll, readSettings(this.helper).backend, clientId, channelId)} onChange={(changes) => this.#change(changes)} onReveal={() => this.#reveal(poll)} onClear={() => this.#remove(poll, true)} onDelete={() => this.#remove(poll, false)} />
        )}
        <section class="card" aria-labelledby="polls">
          <h2 id="polls">{say("polls")}</h2>
          <details open={this.#makesPoll} onToggle={(event) => { this.#makesPoll = event.currentTarget.open; }}>
            <summary>{say("newPoll")}</summary>
            <NewPoll drafts={this.#drafts()} draft={this.#draft} onStart={(config) => void this.#start(config)}
              onDraft={(draft) => { this.#draft = draft; this.#draw(); }} />
          </details>
          {this.#polls.size === 0 && <p class="hint">{say("noPolls")}</p>}
          <ul class="list">
            {this.#newestFirst().slice(0, shownPolls).map((other) => (
              <li key={other.id}>
                <button type="button" class="quiet" aria-pressed={other.id === this.#chosen} onClick={() => void this.#choose(other.id)}>{other.prompt || other.id}</button>
                <span class="hint">{nameState(other)}</span>
              </li>
            ))}
          </ul>
        </section>
        <DeskQuestion question={asking.question} answers={asking.answers} connected={this.#acclaim !== undefined}
          onAsk={(prompt) => void this.#attempt((acclaim) => asking.start(acclaim, prompt))}
          onStop={() => void this.#attempt((acclaim) => asking.stop(acclaim))}
          onShow={(shown) => void this.#attempt((acclaim) => asking.show(acclaim, shown))}
          onHide={(answer) => void this.#attempt((acclaim) => asking.hide(acclaim, answer))} />
      </main>,
      document.body,
    );
  }
}

const helper = findHelper();
if (helper) {
  followTheme(helper);
  new Desk(helper).follow();
} else {
  render(<main><p class="card">{say("noPlatform")}</p></main>, document.body);
}
