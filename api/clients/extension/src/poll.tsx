/** A poll as viewers see it: the question, a button for each option, and the results. */
import { pictureAddress, type Poll } from "acclaim-client";

import { isOpen, readClock } from "./clock.js";
import { countOptions, findOutcome, type Option, type Statistics } from "./tally.js";
import { list, percent, say } from "./texts.js";
import { type CheckProps, VoteCheck } from "./votecheck.js";

interface Props {
  poll: Poll;
  /** Undefined until they are read. */
  stats: Statistics | undefined;
  /** The values that the viewer has voted for. */
  chosen: Set<number>;
  /** The backend's time, in milliseconds. */
  now: number;
  /** Their addresses by the values of the options, empty where an option has none. */
  pictures: string[];
  /** What became of the last vote. */
  message: string;
  /** Whether the poll counts only viewers who share their identity, and this one does not. */
  needsIdentity: boolean;
  /** Of a vote that the viewer can check. */
  check: CheckProps | undefined;
  onVote(value: number): void;
  onShare(): void;
}

export function PollCard({ poll, stats, chosen, now, pictures, message, needsIdentity, check, onVote, onShare }: Props) {
  const options = countOptions(poll, stats), visible = stats !== undefined && !stats.hidden;
  const open = isOpen(poll, now), winners = visible ? findOutcome(poll, options).winners : [];
  return (
    <section class="card" aria-labelledby="prompt">
      <header>
        <h1 id="prompt" dir="auto">{poll.prompt || poll.id}</h1>
        <p class="clock">{readClock(poll, now)}</p>
      </header>
      {open && <p class="hint">{poll.totalVotesPerUser > 1 ? say("chooseSeveral", { n: poll.totalVotesPerUser }) : say("chooseOne")}</p>}
      {open && needsIdentity && <p>{say("share")} <button type="button" onClick={onShare}>{say("shareNow")}</button></p>}
      <ul class="options">
        {options.map((option) => (
          <li key={option.value}>
            <button type="button" class="option" aria-pressed={chosen.has(option.value)} aria-disabled={!open} data-leads={winners.includes(option)}
              onClick={() => { if (open) onVote(option.value); }}>
              {visible && <span class="bar" style={{ transform: `scaleX(${option.percent / 100})` }} />}
              <span class="label" dir="auto"><Picture address={pictures[option.value]} />{option.label}</span>
              {visible && <Figure {...option} />}
            </button>
          </li>
        ))}
      </ul>
      <p class="message" role="status">{message}</p>
      {poll.status === "expired" && visible && <p class="outcome">{nameOutcome(poll, options)}</p>}
      <p class="hint">{explainResults(poll, stats)}</p>
      {check && <VoteCheck {...check} />}
    </section>
  );
}

/** Returns the addresses of a poll's pictures by the values of its options, empty where an option has none. */
export function addressPictures({ pictures = [] }: Poll, backend: string, clientId: string, channelId: string): string[] {
  return pictures.map((picture) => picture && pictureAddress(backend, clientId, channelId, picture));
}

/** The label beside it is the option's name. A picture that the platform or the backend refuses leaves its place empty. */
export function Picture({ address }: { address: string | undefined }) {
  return address && <img key={address} class="picture" src={address} alt="" onError={(event) => { event.currentTarget.style.visibility = "hidden"; }} />;
}

function Figure({ votes, percent: share }: Option) {
  return <span class="figure">{percent.format(share / 100)} · {say("votes", { n: votes })}</span>;
}

/** Returns the winner, the tie, or the option that staff has chosen after it. */
export function nameOutcome(poll: Poll, options: Option[]): string {
  const { how, winners } = findOutcome(poll, options);
  return winners.length === 0 ? say("noVotes") : say(how, { name: list.format(winners.map((option) => option.label)) });
}

/** Returns the number of votes, and when there are results to see where there are none yet. */
function explainResults(poll: Poll, stats: Statistics | undefined): string {
  if (!stats) return "";
  const count = !stats.hidden || poll.showCount ? say("votes", { n: stats.count }) : "";
  const names = { always: "resultsHidden", afterVote: "resultsAfterVote", afterClose: "resultsAfterClose", staff: "resultsHidden" } as const;
  return [count, stats.hidden ? say(names[poll.resultsVisibility]) : ""].filter(Boolean).join(" · ");
}

/** Returns the results as a sentence, for screen readers. */
export function describe(poll: Poll, stats: Statistics): string {
  if (stats.hidden) return explainResults(poll, stats);
  const options = countOptions(poll, stats);
  if (poll.status === "expired") return nameOutcome(poll, options);
  return [...options.map((option) => `${option.label}: ${percent.format(option.percent / 100)}`), say("votes", { n: stats.count })].join(", ");
}
