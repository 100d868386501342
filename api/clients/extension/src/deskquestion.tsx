/** What the broadcaster asks the viewers in their own words, and what they answer. */
import type { components } from "acclaim-client";

import type { Question } from "./question.js";
import { number, say } from "./texts.js";

export type Answer = components["schemas"]["Rank"];

interface Props {
  question: Question | undefined;
  answers: Answer[];
  /** Whether the page has reached the backend, so that it can ask. */
  connected: boolean;
  onAsk(prompt: string): void;
  onStop(): void;
  onShow(shown: boolean): void;
  onHide(answer: Answer): void;
}

export function DeskQuestion({ question, answers, connected, onAsk, onStop, onShow, onHide }: Props) {
  return (
    <section class="card" aria-labelledby="answers">
      <h2 id="answers">{say("answers")}</h2>
      {question ? <Asked question={question} answers={answers} onStop={onStop} onShow={onShow} onHide={onHide} /> : <AskForm connected={connected} onAsk={onAsk} />}
    </section>
  );
}

function AskForm({ connected, onAsk }: Pick<Props, "connected" | "onAsk">) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onAsk(String(new FormData(event.target as HTMLFormElement).get("prompt")).trim());
  };
  return (
    <form onSubmit={submit}>
      <label>{say("question")} <input name="prompt" maxLength={128} required /></label>
      <button type="submit" disabled={!connected}>{say("ask")}</button>
    </form>
  );
}

function Asked({ question, answers, onStop, onShow, onHide }: Omit<Props, "question" | "connected" | "onAsk"> & { question: Question }) {
  return (
    <>
      <p dir="auto"><strong>{question.prompt}</strong></p>
      <label class="check"><input type="checkbox" checked={question.shown !== null} onChange={(event) => onShow(event.currentTarget.checked)} /> {say("showRanking")}</label>
      {answers.length === 0 && <p class="hint">{say("noAnswers")}</p>}
      <ol class="ranking">
        {answers.map((answer) => (
          <li key={answer.key}>
            <bdi>{answer.key}</bdi> <span class="figure">{number.format(answer.score)}</span>
            <button type="button" class="quiet" aria-label={`${say("hideAnswer")}: ${answer.key}`} onClick={() => onHide(answer)}>{say("hideAnswer")}</button>
          </li>
        ))}
      </ol>
      <div class="buttons"><button type="button" class="quiet" onClick={onStop}>{say("stopAsking")}</button></div>
    </>
  );
}
