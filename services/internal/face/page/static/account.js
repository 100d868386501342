// Sign-in with an account at the issuer of an extension. The session is in a cookie that no script reads.

import { Client } from "./client.js";
import { desk, id } from "./desk.js";
import { element } from "./dom.js";
import { readStaff } from "./session.js";

// offerAccounts makes a button for the extension that the address names, if that has a sign-in, or for the
// only one of the server. It reports whether there is one. A server of an earlier version has none.
export async function offerAccounts() {
  const only = new URLSearchParams(location.search).get("extension");
  const query = only ? `?${new URLSearchParams({ extension: only })}` : "";
  const { signIns } = await new Client("/v1", "").request("GET", `/staff/signins${query}`).catch(() => ({ signIns: [] }));
  const offered = signIns.filter((s) => !only || s.extension === only); // an earlier version names all
  id("accounts").replaceChildren(...offered.map(({ extension, name }) => {
    const made = element("button", `Sign in with ${name}${offered.length > 1 ? ` (${extension})` : ""}`, { type: "button" });
    made.addEventListener("click", () => location.assign(`/v1/staff/signin?${new URLSearchParams({ extension })}`));
    return made;
  }));
  showAccounts();
  return offered.length > 0;
}

// showAccounts shows the buttons to a person who is not signed in, and to others that which signs out.
export function showAccounts() {
  id("account").hidden = desk.signedIn || id("accounts").childElementCount === 0;
  id("signout").hidden = !desk.signedIn;
}

// returned reports whether the issuer has sent the browser back.
export function returned() {
  if (location.hash !== "#signed-in") return false;
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

// refusal returns why the server has refused a sign-in and sent the browser back, "" where it has not.
export function refusal() {
  const [, status] = /^#sign-in-refused-(\d+)$/.exec(location.hash) ?? [];
  if (!status) return "";
  history.replaceState(null, "", location.pathname + location.search);
  return {
    400: "No sign-in is under way in this browser. Begin it again.",
    401: "The sign-in has failed. Begin it again.",
    403: "You are not staff of a channel. Ask the broadcaster or the operator of this server.",
    429: "Too many people sign in at once. Try again in a minute.",
  }[status] ?? "The server cannot sign you in now. Try again later.";
}

// A session ends half an hour after its last use. The open page uses it, and finds out when it has ended.
setInterval(() => {
  if (desk.signedIn && !desk.client.credential) readStaff(desk.client).catch(desk.recheck);
}, 5 * 60 * 1000);
