/** A question that viewers answer in their own words. */
import { type Acclaim, type components, content } from "acclaim-client";

import { number, say } from "./texts.js";

/** The named document of the channel in which the broadcaster's page says what is asked. */
export const questionDocument = "question";

/** Its content. It is empty while nothing is asked. */
export interface Question {
  /** Of the ranking. */
  id: string;
  prompt: string;
  /** The best answers; null where viewers may not see them. */
  shown: { key: string; score: number }[] | null;
}

/** Returns the question that a document has, if it has one. */
export function findQuestion(document: unknown): Question | undefined {
  const { id, prompt, shown } = Object(document);
  return typeof id === "string" && typeof prompt === "string" ? { id, prompt, shown: Array.isArray(shown) ? shown : null } : undefined;
}

/** Reads the question of the channel, or undefined while nothing is asked. */
export async function readQuestion(acclaim: Acclaim, signal: AbortSignal): Promise<Question | undefined> {
  const answer = await acclaim.api.GET("/json_store", { params: { query: { id: questionDocument } }, signal });
  return answer.response.status === 404 ? undefined : findQuestion(await content(Promise.resolve(answer)));
}

interface Props {
  question: Question;
  /** What became of the last answer. */
  message: string;
  onAnswer(answer: string): void;
}

export function QuestionCard({ question, message, onAnswer }: Props) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    onAnswer(String(new FormData(form).get("answer")).trim());
    form.reset();
  };
  return (
    <section class="card" aria-labelledby="question">
      <h1 id="question" dir="auto">{question.prompt}</h1>
      <form class="answer" onSubmit={submit}>
        <label>{say("yourAnswer")} <input name="answer" maxLength={64} autocomplete="off" required /></label>
        <button type="submit">{say("send")}</button>
      </form>
      <p class="message" role="status">{message}</p>
      {question.shown && <h2>{say("ranking")}</h2>}
      {question.shown && <Ranking answers={question.shown} />}
    </section>
  );
}

export function Ranking({ answers }: { answers: { key: string; score: number }[] }) {
  return <ol class="ranking">{answers.map(({ key, score }) => <li key={key}><bdi>{key}</bdi> <span class="figure">{number.format(score)}</span></li>)}</ol>;
}

/** Returns what a viewer reads after an answer. */
export function explainAnswer({ accepted, held, reason }: components["schemas"]["Answered"]): string {
  if (accepted) return held ? say("answerWaits") : say("answerCounted");
  if (reason === "The question is closed") return say("questionClosed");
  if (reason === "The answer is too short") return say("answerTooShort");
  return reason === "The answer is not allowed" ? say("answerNotAllowed") : say("answerTooLong");
}
