// Sign-in with an account at the issuer of an extension. The session is in a cookie that no script reads.

import { Client } from "./client.js";
import { desk, id } from "./desk.js";
import { element } from "./dom.js";
import { readStaff } from "./session.js";

// offerAccounts makes a button for each extension with a sign-in, or for the one that the address names.
// It reports whether there is one. A server of an earlier version has none.
export async function offerAccounts() {
  const only = new URLSearchParams(location.search).get("extension");
  const { signIns } = await new Client("/v1", "").request("GET", "/staff/signins").catch(() => ({ signIns: [] }));
  const offered = signIns.filter((s) => !only || s.extension === only);
  id("accounts").replaceChildren(...offered.map(({ extension, name }) => {
    const made = element("button", `Sign in with ${name}${offered.length > 1 ? ` (${extension})` : ""}`, { type: "button" });
    made.addEventListener("click", () => location.assign(`/v1/staff/signin?${new URLSearchParams({ extension })}`));
    return made;
  }));
  showAccounts();
  return offered.length > 0;
}

// showAccounts shows the buttons to a person who is not signed in.
export function showAccounts() { id("account").hidden = desk.signedIn || id("accounts").childElementCount === 0; }

// returned reports whether the issuer has sent the browser back.
export function returned() {
  if (location.hash !== "#signed-in") return false;
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

// A session ends half an hour after its last use. The open page uses it, and finds out when it has ended.
setInterval(() => {
  if (desk.signedIn && !desk.client.credential) readStaff(desk.client).catch(desk.recheck);
}, 5 * 60 * 1000);
