/** What the broadcaster asks the viewers in their own words: the question, its answers, and which of them viewers see. */
import { type Acclaim, content } from "acclaim-client";

import type { Answer } from "./deskquestion.js";
import { findQuestion, type Question, questionDocument, readQuestion } from "./question.js";

const shownAnswers = 8; // to viewers: a named document has at most 4 KiB
const publishEvery = 3000; // milliseconds

/** What the page does when something has changed here. */
interface Listener {
  draw(): void;
  /** Another question's answers have a topic of their own. */
  followAgain(): void;
  fail(error: unknown): void;
}

export class Asking {
  question: Question | undefined;
  answers: Answer[] = [];
  #changes = 0; // to find out whether one came while the page read
  #publishing: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly listener: Listener) {}

  get topics(): string[] {
    return [`json_store_update:${questionDocument}`, ...(this.question ? [`rank_update:${this.question.id}`] : [])];
  }

  async read(acclaim: Acclaim, signal: AbortSignal): Promise<void> {
    let question, before;
    do {
      before = this.#changes;
      question = await readQuestion(acclaim, signal);
    } while (before !== this.#changes);
    this.#turnTo(question);
    if (this.question) this.answers = (await content(acclaim.api.GET("/rank", { params: { query: { id: this.question.id } }, signal }))).data;
  }

  hearQuestion(document: unknown): void {
    this.#changes++;
    this.#turnTo(findQuestion(document));
  }

  /** Shows new answers, here at once and to viewers soon. */
  hearAnswers(acclaim: Acclaim, answers: Answer[]): void {
    this.answers = answers;
    if (!this.question?.shown) return;
    this.#publishing ??= setTimeout(() => {
      this.#publishing = undefined;
      const { shown } = this.question ?? {};
      if (shown && JSON.stringify(shown) !== JSON.stringify(this.#best())) this.show(acclaim, true).catch(this.listener.fail);
    }, publishEvery);
  }

  async start(acclaim: Acclaim, prompt: string): Promise<void> {
    const id = `question-${Date.now().toString(36)}`;
    await content(acclaim.api.POST("/rank_config", { params: { query: { id } }, body: { normalization: "nfkc", maxLength: 64 } }));
    await this.#save(acclaim, { id, prompt, shown: null });
  }

  async stop(acclaim: Acclaim): Promise<void> {
    await this.#save(acclaim, undefined);
  }

  async show(acclaim: Acclaim, shown: boolean): Promise<void> {
    if (this.question) await this.#save(acclaim, { ...this.question, shown: shown ? this.#best() : null });
  }

  async hide(acclaim: Acclaim, answer: Answer): Promise<void> {
    if (!this.question) return;
    const query = { id: this.question.id }, key = answer.group ?? answer.key;
    await content(acclaim.api.POST("/rank_moderation", { params: { query }, body: { action: "hide", key } }));
  }

  async #save(acclaim: Acclaim, question: Question | undefined): Promise<void> {
    const before = this.question;
    this.#changes++;
    if (question?.id === before?.id) this.question = question; // else the page begins again, and reads
    this.listener.draw();
    try {
      const body = (question ?? {}) as Record<string, never>;
      await content(acclaim.api.POST("/json_store", { params: { query: { id: questionDocument } }, body }));
      this.#turnTo(question);
    } catch (error) {
      this.question = before;
      throw error;
    }
  }

  #turnTo(question: Question | undefined): void {
    const another = question?.id !== this.question?.id;
    this.question = question;
    if (!another) return;
    this.answers = [];
    this.listener.followAgain();
  }

  /** Returns the answers as viewers see them. */
  #best(): { key: string; score: number }[] {
    return this.answers.slice(0, shownAnswers).map(({ key, score }) => ({ key, score }));
  }
}
