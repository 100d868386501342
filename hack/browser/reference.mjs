// The reference extension, api/clients/extension, in the rig, and polls for it.

import assert from "node:assert/strict";
import path from "node:path";

import { lab } from "./pages.mjs";
import { root, sign } from "./program.mjs";
import { openRig } from "./rig.mjs";

const archive = path.join(root, "bin/acclaim-extension.zip"); // `make extension` builds it

// show opens the rig with the extension. The platform's configuration service has the program's address.
export async function show(t, data, { broadcaster, ...options } = {}) {
  const program = await lab.rig(archive, { data });
  const open = (more) => openRig(t, program.rig, { height: 2000, ...options, ...more, prepare: async (page) => {
    await page.addInitScript(([global, broadcaster]) => {
      if (window.top !== window) return; // the frames have no such store
      const key = "configuration sample-extension 1";
      if (!localStorage.getItem(key)) localStorage.setItem(key, JSON.stringify({ global, broadcaster }));
    }, [{ version: "1", content: JSON.stringify({ backend: program.origin }) }, broadcaster]);
    await more?.prepare?.(page);
  } });
  return { program, open, ...await open(options) };
}

export async function ask(origin, method, route, body, claims = {}) {
  const credential = `sample-extension ${sign({ role: "broadcaster", channel_id: "1", user_id: "1", opaque_user_id: "U1", ...claims })}`;
  const answer = await fetch(`${origin}/v1${route}`, { method, headers: { Authorization: credential }, body: body && JSON.stringify(body) });
  assert.equal(answer.status, 200, `${method} ${route}`);
  return answer.json();
}

export const configure = (origin, id, config) => ask(origin, "POST", "/vote_config", { id, config: { strict: true, ...config } });
export const vote = (origin, id, n, value) => ask(origin, "POST", `/vote?id=${id}`, { value }, { role: "viewer", user_id: undefined, opaque_user_id: `U${9000 + n}` });
export const option = (scope, name) => scope.locator(".option").filter({ hasText: name });
