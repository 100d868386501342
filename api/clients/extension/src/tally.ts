/** What the votes of a poll come to. */
import type { components, Poll } from "acclaim-client";

import { say } from "./texts.js";

export type Statistics = components["schemas"]["Statistics"];

export interface Option {
  value: number;
  label: string;
  votes: number;
  /** A whole number of percent. Those of all options add up to 100. */
  percent: number;
}

/** Returns the options of a poll with their votes. Options that have only votes have no name. */
export function countOptions(poll: Poll, stats: Statistics | undefined): Option[] {
  const votes = (stats?.specific ?? []).map((count, value) => ({ value, votes: count }));
  const shown = poll.options.length > 0 ? poll.options.map((_, value) => ({ value, votes: votes[value]?.votes ?? 0 })) : votes.filter((option) => option.votes > 0);
  const shares = percentages(shown.map((option) => option.votes));
  return shown.map((option, n) => ({ ...option, label: poll.options[option.value] ?? `${say("option")} ${option.value}`, percent: shares[n] ?? 0 }));
}

/** Returns the options with the most votes, none where there are no votes. */
export function findLeaders(options: Option[]): Option[] {
  const most = Math.max(1, ...options.map((option) => option.votes));
  return options.filter((option) => option.votes === most);
}

/** Returns which options win: those that lead, or after a tie the one that staff has chosen. `how` names the text for it. */
export function findOutcome(poll: Poll, options: Option[]): { how: "winner" | "tie" | "chosen"; winners: Option[] } {
  const leaders = findLeaders(options), chosen = leaders.filter((option) => option.value === poll.tieBreak);
  if (leaders.length < 2) return { how: "winner", winners: leaders };
  return chosen.length > 0 ? { how: "chosen", winners: chosen } : { how: "tie", winners: leaders };
}

/** Returns whole percentages that add up to 100: the largest remainders are rounded up. */
export function percentages(votes: number[]): number[] {
  const sum = votes.reduce((total, count) => total + count, 0);
  if (sum === 0) return votes.map(() => 0);
  const parts = votes.map((count, n) => ({ n, whole: Math.floor((count * 100) / sum), rest: (count * 100) % sum }));
  const left = 100 - parts.reduce((total, part) => total + part.whole, 0);
  for (const part of [...parts].sort((a, b) => b.rest - a.rest || a.n - b.n).slice(0, left)) part.whole++;
  return parts.map((part) => part.whole);
}
