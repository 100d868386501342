/** The schedule of a poll, by the backend's clock. */
import type { Poll } from "acclaim-client";

import { duration, say } from "./texts.js";

/** Returns whether a poll takes votes at a time in milliseconds. The backend decides. */
export function isOpen(poll: Poll, now: number): boolean {
  return poll.status === "active" && !poll.disabled && (poll.endsAt === 0 || now < poll.endsAt * 1000);
}

/** Returns what stands beside the question: the time that is left, or why no votes are taken. */
export function readClock(poll: Poll, now: number): string {
  const left = (time: number) => Math.max(0, Math.ceil(time - now / 1000));
  if (poll.status === "expired" || (poll.endsAt > 0 && left(poll.endsAt) === 0)) return say("closed");
  if (poll.disabled) return say("paused");
  if (left(poll.startsAt) > 0) return say("beginsIn", { time: duration(left(poll.startsAt)) });
  return poll.endsAt > 0 ? say("timeLeft", { time: duration(left(poll.endsAt)) }) : "";
}
