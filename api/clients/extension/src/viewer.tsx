/** The views of viewers: panel, video overlay and mobile. All show the live poll and the question. */
import { AcclaimError, type Acclaim, type AcclaimEvent, content, type Poll } from "acclaim-client";
import { render } from "preact";

import { Banner } from "./banner.js";
import { type Place, type Verdict, VoteChecks } from "./checking.js";
import { connect, explain, type Connection, type Page } from "./connect.js";
import { LivePoll, readPoll, readPolls } from "./live.js";
import { findHelper, followTheme, type Helper } from "./platform.js";
import { addressPictures, describe, PollCard } from "./poll.js";
import { explainAnswer, findQuestion, type Question, QuestionCard, questionDocument, readQuestion } from "./question.js";
import { readLogKey, readSettings } from "./settings.js";
import { say } from "./texts.js";
import type { Statistics } from "./tally.js";

const isOverlay = document.documentElement.dataset.view === "video_overlay";
const seconds = 1000; // milliseconds
/** A result leaves the video after this time. Beside the video it stays until the next poll opens. */
const resultStaysFor = isOverlay ? 15 * seconds : Infinity;
/** All viewers learn of a new poll at one moment. They read their votes spread over this time. */
const readsSpreadOver = 2 * seconds;
/** No events tell a viewer who has voted of results that the others do not see yet. */
const hiddenResultsReadEvery = 15 * seconds;

class ViewerPage implements Page {
  readonly topics = ["poll_update:*", "vote_update:*", "vote_delete:*", `json_store_update:${questionDocument}`];
  #live = new LivePoll(resultStaysFor);
  #acclaim: Acclaim | undefined;
  #connection: Connection = { state: "starting" };
  #poll: Poll | undefined;
  #stats: Statistics | undefined; // of the poll
  #chosen = new Set<number>(); // the values that the viewer has voted for, as far as this page knows
  #votes = false; // whether a vote is under way
  #place: Place | undefined;
  #checks = new VoteChecks();
  #checking = false; // whether a check is under way
  #verdict: Verdict | undefined; // on the viewer's vote
  #question: Question | undefined;
  #said = { vote: "", answer: "" }; // what became of the last ones
  #spoken = "";
  #collapsed = false;
  #skew = 0; // of the backend's clock, in milliseconds
  #statsRead = 0; // when, in milliseconds
  #heard = { polls: 0, votes: 0, questions: 0 }; // events, to find out whether one came while the page read

  constructor(readonly helper: Helper) {
    helper.onAuthorized((place) => {
      this.#place = place;
      this.#checks.turnTo(place);
    });
    setInterval(() => this.#tick(), 1 * seconds);
    setInterval(() => this.#speak(), 10 * seconds);
  }

  report(connection: Connection): void {
    this.#connection = connection;
    this.#draw();
  }

  async read(acclaim: Acclaim, signal: AbortSignal): Promise<void> {
    this.#acclaim = acclaim;
    const { server_time } = await content(acclaim.api.GET("/user_info", { signal }));
    this.#skew = server_time - Date.now();
    let polls, shown, before;
    do {
      before = this.#heard.polls;
      polls = await readPolls(acclaim, signal, "active");
      shown = this.#live.shown && !polls.some((poll) => poll.id === this.#live.shown) ? await readPoll(acclaim, this.#live.shown, signal) : undefined;
    } while (before !== this.#heard.polls);
    this.#live.replace(shown ? [...polls, shown] : polls);
    this.#turnTo(this.#live.pick());
    await this.#readVotes(signal);
    do {
      before = this.#heard.questions;
      this.#question = await readQuestion(acclaim, signal);
    } while (before !== this.#heard.questions);
    this.#draw();
  }

  async #readVotes(signal?: AbortSignal): Promise<void> {
    const id = this.#poll?.id, before = this.#heard.votes;
    if (id === undefined || !this.#acclaim) return;
    const stats = await content(this.#acclaim.api.GET("/vote", { params: { query: { id } }, ...(signal && { signal }) }));
    if (id !== this.#poll?.id) return;
    this.#keep(before === this.#heard.votes || !this.#stats ? stats : this.#stats, stats.vote); // what was heard is newer
  }

  /** Shows statistics, and which vote is the viewer's. */
  #keep(stats: Statistics, vote: number | undefined): void {
    this.#stats = stats;
    this.#statsRead = Date.now();
    if (vote !== undefined) this.#chosen = this.#poll?.totalVotesPerUser === 1 ? new Set([vote]) : this.#chosen.add(vote);
    this.#draw();
  }

  #readVotesSoon(): void {
    setTimeout(() => void this.#readVotes().catch(() => {}), Math.random() * readsSpreadOver); // else the next event shows them
  }

  hear({ name, data }: AcclaimEvent): void {
    const kind = name.slice(0, name.indexOf(":"));
    if (kind === "poll_update") this.#updatePoll(data as Poll);
    if (kind === "vote_update") this.#updateVotes(data as { id: string; stats: Statistics; status: Poll["status"] });
    if (kind === "vote_delete") this.#removePoll((data as { id: string }).id);
    if (kind === "json_store_update") this.#updateQuestion((data as { value: unknown }).value);
    this.#tick();
  }

  #updatePoll(poll: Poll): void {
    this.#heard.polls++;
    this.#live.update(poll);
    const before = this.#poll;
    if (before?.id !== poll.id) return; // #tick turns to it
    this.#poll = poll;
    if (poll.questionChanged !== before.questionChanged && this.#chosen.size > 0) this.#said.vote = say("corrected");
    if (poll.resultsVisibility === "afterVote" && before.resultsVisibility !== "afterVote") this.#readVotesSoon();
  }

  #removePoll(id: string): void {
    this.#heard.polls++;
    this.#live.remove(id);
  }

  #updateVotes({ id, stats, status }: { id: string; stats: Statistics; status: Poll["status"] }): void {
    if (id !== this.#poll?.id) return;
    const seesMore = this.#poll.resultsVisibility === "afterVote" && status !== "expired" && stats.hidden && this.#chosen.size > 0;
    if (seesMore) return;
    this.#heard.votes++;
    this.#keep(stats, undefined);
  }

  #updateQuestion(document: unknown): void {
    this.#heard.questions++;
    this.#question = findQuestion(document);
  }

  #turnTo(poll: Poll | undefined): boolean {
    const another = poll?.id !== this.#poll?.id;
    if (another) {
      [this.#stats, this.#chosen, this.#collapsed, this.#verdict] = [undefined, new Set(), false, undefined];
      this.#said.vote = "";
    }
    this.#poll = poll;
    return another;
  }

  #tick(): void {
    if (this.#turnTo(this.#live.pick())) this.#readVotesSoon();
    const { resultsVisibility, status } = this.#poll ?? {};
    const readsAgain = resultsVisibility === "afterVote" && status === "active" && this.#chosen.size > 0;
    if (readsAgain && Date.now() - this.#statsRead > hiddenResultsReadEvery) {
      this.#statsRead = Date.now();
      void this.#readVotes().catch(() => {}); // it tries again
    }
    this.#draw();
  }

  async #vote(value: number): Promise<void> {
    const poll = this.#poll;
    if (!poll || !this.#acclaim || this.#votes) return;
    if (poll.totalVotesPerUser > 1 && poll.votesPerOption === 1 && this.#chosen.has(value)) return; // it would be refused
    this.#votes = true;
    [this.#said.vote, this.#verdict] = ["", undefined];
    this.#draw();
    try {
      const stats = await this.#cast(this.#acclaim, poll, value);
      if (poll.id !== this.#poll?.id) return;
      this.#heard.votes++;
      this.#keep(stats, value);
      this.#said.vote = say("counted");
    } catch (error) {
      this.#said.vote = explainVote(error);
    } finally {
      this.#votes = false;
    }
    this.#draw();
  }

  async #cast(acclaim: Acclaim, poll: Poll, value: number): Promise<Statistics> {
    if (!poll.verifiable || poll.noReceipts) return content(acclaim.api.POST("/vote", { params: { query: { id: poll.id } }, body: { value } }));
    const stats = await this.#checks.cast(acclaim, poll, value);
    void this.#judge(poll, () => this.#checks.collect(acclaim, poll)).catch(() => {}); // a check reads the receipt again
    return stats;
  }

  async #check(): Promise<void> {
    const poll = this.#poll, acclaim = this.#acclaim;
    if (!poll || !acclaim) return;
    [this.#checking, this.#verdict] = [true, undefined];
    this.#draw();
    try {
      await this.#judge(poll, () => this.#checks.check(acclaim, poll, readSettings(this.helper).backend, readLogKey(this.helper)));
    } catch (error) {
      this.#verdict = { kind: "unknown", text: say("notChecked", { reason: error instanceof AcclaimError ? explain(error) : String(error) }), receipt: "" };
    }
    this.#checking = false;
    this.#draw();
  }

  /** Shows a verdict on the viewer's vote, unless the page has turned to another poll. */
  async #judge(poll: Poll, find: () => Promise<Verdict | undefined>): Promise<void> {
    const verdict = await find();
    if (verdict && poll.id === this.#poll?.id) this.#verdict = verdict;
    this.#draw();
  }

  async #answer(key: string): Promise<void> {
    if (!this.#question || !this.#acclaim || key === "") return;
    try {
      const query = { id: this.#question.id };
      this.#said.answer = explainAnswer(await content(this.#acclaim.api.POST("/rank", { params: { query }, body: { key } })));
    } catch (error) {
      this.#said.answer = explain(error);
    }
    this.#draw();
  }

  /** Tells screen readers of the results now and then. */
  #speak(): void {
    this.#spoken = this.#poll && this.#stats ? describe(this.#poll, this.#stats) : "";
    this.#draw();
  }

  #draw(): void {
    const nothing = !this.#poll && !this.#question, { clientId = "", channelId = "" } = this.#place ?? {};
    render(
      <main>
        {!(nothing && isOverlay) && <Banner {...this.#connection} />}
        {nothing && <h1 class={isOverlay ? "spoken" : "card empty"}>{say(this.#connection.state === "starting" ? "loading" : "noPoll")}</h1>}
        {!nothing && isOverlay && (
          <button type="button" class="quiet fold" aria-expanded={!this.#collapsed} onClick={() => { this.#collapsed = !this.#collapsed; this.#draw(); }}>
            {say(this.#collapsed ? "showPoll" : "hidePoll")}
          </button>
        )}
        {this.#poll && !this.#collapsed && (
          <PollCard poll={this.#poll} stats={this.#stats} chosen={this.#chosen} now={Date.now() + this.#skew} pictures={addressPictures(this.#poll, readSettings(this.helper).backend, clientId, channelId)} message={this.#said.vote}
            needsIdentity={this.#poll.userIDVoting && !this.helper.viewer.isLinked}
            check={this.#checks.knows(this.#poll) ? { checking: this.#checking, verdict: this.#verdict, sameServer: readLogKey(this.helper) === "", onCheck: () => void this.#check() } : undefined}
            onVote={(value) => void this.#vote(value)} onShare={() => this.helper.actions.requestIdShare()} />
        )}
        {this.#question && !this.#collapsed && <QuestionCard question={this.#question} message={this.#said.answer} onAnswer={(answer) => void this.#answer(answer)} />}
        <p class="spoken" role="status">{this.#spoken}</p>
      </main>,
      document.body,
    );
  }
}

/** Returns why a vote is not counted. */
function explainVote(error: unknown): string {
  const reason = error instanceof AcclaimError ? error.reason : "";
  if (reason === "poll is closed") return say("pollClosed");
  if (reason === "configuration changed") return say("lookAgain");
  if (reason === "unacceptable vote") return say("noVoteLeft");
  if (reason === "only logged-in viewers may vote") return say("logIn");
  return explain(error);
}

const helper = findHelper();
if (helper) {
  followTheme(helper);
  connect(helper, new ViewerPage(helper));
} else {
  render(<main><p class="card">{say("noPlatform")}</p></main>, document.body);
}
