// What the parts of the staff page share: the sign-in, and how actions run and report.

import { Refused } from "./client.js";
import { element } from "./dom.js";

// desk has the client, the environment, the person and the rights of the last sign-in, whether that is still good, and
// the id of the opened question. The page adds follow, which listens to what is shown, recheck, which finds out
// whether the sign-in is still good, and signOut.
export const desk = { client: null, signedIn: false, environment: "", staff: null, rights: [], question: null, follow: null, recheck: null, signOut: null };

export const id = (name) => document.getElementById(name);
export const named = (name) => `?id=${encodeURIComponent(name)}`;
export const number = new Intl.NumberFormat("en"), list = new Intl.ListFormat("en");
const plural = new Intl.PluralRules("en");
export const count = (n, one) => `${number.format(n)} ${one}${plural.select(n) === "one" ? "" : "s"}`;

export function clock(ms) { return new Date(ms).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", second: "2-digit" }); }

export function say(text) { id("message").textContent = text; }

const unreached = "The server cannot be reached.";

// isOld reports whether the page says that the connection is lost, and that what it shows is old.
const isOld = () => document.body.hasAttribute("data-old");

// setOld has the page look old. The line about the connection then says what a message has said.
export function setOld(old) {
  document.body.toggleAttribute("data-old", old);
  if (old && id("message").textContent === unreached) say("");
}

// sayUnreached says that there was no response. What became of what a person did is then not known.
function sayUnreached(signedIn, control) {
  if (signedIn && control) say("No response came. Look again once the page is connected.");
  else if (!isOld()) say(unreached);
}

// attempt does what a person asks for and says why it failed. What began it is inactive meanwhile, and
// keeps the focus.
export async function attempt(action, control) {
  if (control?.ariaDisabled === "true") return;
  if (control) control.ariaDisabled = "true";
  say("");
  await perform(action, control);
  if (control) control.ariaDisabled = null;
}

// reread reads after an event. The message about what a person did stays.
export function reread(read) {
  if (id("message").textContent === unreached) say("");
  return perform(read);
}

async function perform(action, control) {
  const signedIn = desk.signedIn;
  try {
    await action();
  } catch (e) {
    if (e instanceof Refused && e.status === 401 && signedIn) { if (desk.signedIn) desk.signOut(e.message); } // it is said once
    else if (e instanceof Refused) say(e.message);
    else sayUnreached(signedIn, control);
  }
}

// button returns a button that attempts an action, and whose name tells what it acts on.
export function button(text, of, action) {
  const made = element("button", text, { type: "button", class: "quiet", "aria-label": `${text}: ${of}` });
  made.addEventListener("click", () => attempt(action, made));
  return made;
}

// on has a form or button attempt an action, with the form's values.
export function on(name, event, action) {
  id(name).addEventListener(event, (e) => {
    e.preventDefault();
    const control = e.submitter ?? (e.currentTarget.matches("button") ? e.currentTarget : undefined);
    attempt(() => action(event === "submit" ? new FormData(e.target) : undefined), control);
  });
}
