/** A poll as the broadcaster sees it: the numbers, and what can be done with it. */
import type { Poll } from "acclaim-client";

import { readClock } from "./clock.js";
import { Correction, type PollConfig } from "./forms.js";
import { nameOutcome, Picture } from "./poll.js";
import { countOptions, findLeaders, findOutcome, type Option, type Statistics } from "./tally.js";
import { number, percent, say } from "./texts.js";

interface Props {
  poll: Poll;
  stats: Statistics | undefined;
  /** The backend's time, in milliseconds. */
  now: number;
  /** Their addresses by the values of the options, empty where an option has none. */
  pictures: string[];
  /** Whether a deletion waits: there is one at a time. */
  waiting: boolean;
  onChange(changes: PollConfig): Promise<boolean>;
  onReveal(): void;
  onClear(): void;
  onDelete(): void;
}

export function DeskPoll({ poll, stats, now, pictures, waiting, onChange, onReveal, onClear, onDelete }: Props) {
  const expired = poll.status === "expired", options = countOptions(poll, stats), { winners } = findOutcome(poll, options);
  const change = (changes: PollConfig) => () => void onChange(changes);
  return (
    <section class="card" aria-labelledby="poll">
      <h2 id="poll" tabIndex={-1} dir="auto">{poll.prompt || poll.id}</h2>
      <p role="status" id="state">{nameState(poll, stats)}</p>
      <p class="clock">{expired ? "" : readClock(poll, now)}</p>
      {expired && stats && <p class="outcome">{nameOutcome(poll, options)}</p>}
      {expired && !poll.hidden && <TieBreak poll={poll} leaders={findLeaders(options)} onChange={onChange} />}
      <table>
        <thead><tr><th scope="col">{say("option")}</th><th scope="col">{say("votesColumn")}</th><th scope="col">{say("shareColumn")}</th></tr></thead>
        <tbody>
          {options.map((option) => (
            <tr key={option.value} data-leads={winners.includes(option)}>
              <th scope="row" dir="auto"><Picture address={pictures[option.value]} />{option.label}</th><td>{number.format(option.votes)}</td><td>{percent.format(option.percent / 100)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="buttons">
        {!expired && <button type="button" onClick={change({ endsAt: -1 })}>{say("end")}</button>}
        {!expired && poll.endsAt > 0 && <button type="button" class="quiet" onClick={change({ endsAt: poll.endsAt + 60 })}>{say("addMinute")}</button>}
        {expired && <button type="button" onClick={change({ endsAt: 0 })}>{say("reopen")}</button>}
        <button type="button" class="quiet" onClick={onReveal}>{say(poll.hidden ? "reveal" : "hideResults")}</button>
      </div>
      <details>
        <summary>{say("correct")}</summary>
        <Correction poll={poll} onCorrect={onChange} />
      </details>
      <div class="buttons">
        <button type="button" class="quiet" disabled={waiting} onClick={onClear}>{say("clear")}</button>
        <button type="button" class="quiet" disabled={waiting} onClick={onDelete}>{say("remove")}</button>
      </div>
    </section>
  );
}

/** After a tie, the broadcaster chooses the winner. */
function TieBreak({ poll, leaders, onChange }: Pick<Props, "poll" | "onChange"> & { leaders: Option[] }) {
  const choose = (tieBreak: number | null) => () => void onChange({ tieBreak } as PollConfig);
  return leaders.length > 1 && (
    <div class="buttons">
      {leaders.map(({ value, label }) => <button key={value} type="button" class="quiet" aria-pressed={value === poll.tieBreak} onClick={choose(value)}>{say("choose", { name: label })}</button>)}
      {poll.tieBreak !== undefined && <button type="button" class="quiet" onClick={choose(null)}>{say("takeBack")}</button>}
    </div>
  );
}

/** Returns such as "open, 3 votes, results hidden from viewers". */
export function nameState(poll: Poll, stats?: Statistics): string {
  const votes = stats ? say("votes", { n: stats.count }) : "";
  return [say(poll.disabled ? "paused" : poll.status), votes, poll.hidden ? say("hiddenNow") : ""].filter(Boolean).join(", ");
}
