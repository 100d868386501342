/** The forms in which the broadcaster makes and corrects a poll. */
import type { components, Poll } from "acclaim-client";

import { say } from "./texts.js";

export type PollConfig = components["schemas"]["PollConfig"];

/** What a form can begin with: a template, or an earlier poll. */
export interface Draft {
  /** Another draft fills the form anew. */
  id: string;
  /** For the list to choose from. */
  name: string;
  prompt: string;
  options: string[];
  choices: number;
}

export function makeEmptyDraft(): Draft {
  return { id: crypto.randomUUID(), name: say("emptyForm"), prompt: "", options: [], choices: 1 };
}

interface NewPollProps {
  drafts: Draft[];
  /** Which of the drafts the form begins with. */
  draft: Draft;
  onDraft(draft: Draft): void;
  onStart(config: PollConfig): void;
}

export function NewPoll({ drafts, draft, onDraft, onStart }: NewPollProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement, fields = new FormData(form);
    const minutes = Number(fields.get("minutes")), verifiable = fields.has("verifiable");
    onStart({
      ...readQuestion(form),
      resultsVisibility: String(fields.get("visibility")) as NonNullable<PollConfig["resultsVisibility"]>,
      ...(verifiable && { verifiable, showCount: true }), // the list of votes shows their number
      ...(minutes > 0 && { endsAt: Math.floor(Date.now() / 1000 + 60 * minutes) }),
    });
  };
  return (
    <form key={draft.id} onSubmit={submit}>
      <label>{say("beginWith")} <select onChange={(event) => onDraft(drafts[event.currentTarget.selectedIndex] ?? draft)}>
        {drafts.map((other) => <option key={other.id} selected={other.id === draft.id}>{other.name}</option>)}
      </select></label>
      <QuestionFields prompt={draft.prompt} options={draft.options} choices={draft.choices} />
      <label>{say("minutes")} <input name="minutes" type="number" min="0.1" step="any" /></label>
      <label>{say("visibility")} <select name="visibility">
        {(["always", "afterVote", "afterClose", "staff"] as const).map((when) => <option key={when} value={when}>{say(when === "staff" ? "never" : when)}</option>)}
      </select></label>
      <label class="check"><input name="verifiable" type="checkbox" /> {say("verifiable")}</label>
      <button type="submit">{say("startPoll")}</button>
    </form>
  );
}

interface CorrectionProps {
  poll: Poll;
  /** Saves changed members; it returns whether that has succeeded. */
  onCorrect(changes: PollConfig): Promise<boolean>;
}

/** A field that a person has changed keeps the change, whatever others save meanwhile. */
export function Correction({ poll, onCorrect }: CorrectionProps) {
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    if (await onCorrect(readChanges(form))) form.reset();
  };
  return (
    <form key={poll.id} onSubmit={(event) => void submit(event)}>
      <QuestionFields prompt={poll.prompt} options={poll.options} choices={poll.totalVotesPerUser} />
      <p class="hint">{say("votesStay")}</p>
      <button type="submit">{say("saveCorrection")}</button>
    </form>
  );
}

function QuestionFields({ prompt, options, choices }: Omit<Draft, "id" | "name">) {
  return (
    <>
      <label>{say("question")} <input name="prompt" defaultValue={prompt} maxLength={256} required /></label>
      <label>{say("options")} <textarea name="options" rows={4} defaultValue={options.join("\n")} required /></label>
      <label>{say("choices")} <input name="choices" type="number" min="1" max="30" defaultValue={String(choices)} required /></label>
    </>
  );
}

function readQuestion(form: HTMLFormElement): PollConfig {
  const fields = new FormData(form), choices = Number(fields.get("choices"));
  return {
    prompt: String(fields.get("prompt")).trim(),
    options: String(fields.get("options")).split("\n").map((line) => line.trim()).filter((line) => line !== ""),
    totalVotesPerUser: choices, distinctOptionsPerUser: choices, votesPerOption: 1,
  };
}

/** Returns the members whose fields differ from what the form began with. */
function readChanges(form: HTMLFormElement): PollConfig {
  const { prompt, options, ...limits } = readQuestion(form);
  const isChanged = (name: string) => {
    const field = form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement;
    return field.value !== field.defaultValue;
  };
  return {
    ...(isChanged("prompt") && { prompt }), ...(isChanged("options") && { options }), ...(isChanged("choices") && limits),
  } as PollConfig;
}
