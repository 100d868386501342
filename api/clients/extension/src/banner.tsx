import type { Connection } from "./connect.js";
import { say, timeOfDay } from "./texts.js";

/** Tells a person, and a screen reader, that what is shown is not live. */
export function Banner({ state, reason = "", since }: Connection) {
  let text = "";
  if (state === "lost") text = since === undefined ? say("offline") : say("lost", { time: timeOfDay(since) });
  if (state === "over") text = reason;
  return <p class="banner" role="status">{text}</p>;
}
