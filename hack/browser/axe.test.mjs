// What axe finds in the pages of /live/, in "/" and in the rig: nothing, in both themes.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { lab, open } from "./pages.mjs";
import { root, send, token } from "./program.mjs";
import { inRig, violations } from "./rig.mjs";

const address = (origin, page, credential) => `${origin}/live/${page}#access_token=${encodeURIComponent(credential)}`;

// clean fails if axe finds something in a page.
async function clean(page, when) {
  assert.deepEqual(await violations(page), [], when);
}

// fill gives the sandbox of a program an open poll, a closed one, answers and an overlay key.
async function fill(origin) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  for (const [id, config] of [["open", {}], ["closed", { endsAt: -1 }]]) {
    await send(origin, broadcaster, "POST", "/vote_config", { id, config: { prompt: `Is it ${id}?`, options: ["Yes", "No"] } });
    for (let n = 0; n < 3; n++) await send(origin, await token(origin, { role: "viewer", user_id: String(6000 + n) }), "POST", `/vote?id=${id}`, { value: n % 2 });
    if (config.endsAt) await send(origin, broadcaster, "PATCH", "/vote_config", { id, config });
  }
  for (const [n, key] of ["Zelda", "Mario"].entries()) await send(origin, await token(origin, { role: "viewer", user_id: String(6000 + n) }), "POST", "/rank?id=q", { key });
  await send(origin, broadcaster, "POST", "/overlay_keys", { name: "stream PC", polls: ["open"] });
  return broadcaster;
}

for (const colorScheme of ["light", "dark"]) {
  test(`the staff page: ${colorScheme}`, async (t) => {
    const { origin } = await lab.serve({ data: `axe-staff-${colorScheme}` });
    const broadcaster = await fill(origin);
    await clean(await open(t, origin + "/live/staff.html", { colorScheme }), "signed out");
    const page = await open(t, address(origin, "staff.html?env=sandbox", broadcaster), { colorScheme, viewport: { width: 1280, height: 900 } });
    await page.locator("#work").waitFor();
    await page.locator("#keys li").filter({ hasText: "stream PC" }).waitFor();
    for (const summary of await page.locator("summary:visible").all()) await summary.click();
    await page.locator("#question").getByLabel("Question").fill("q");
    await page.keyboard.press("Enter");
    await page.locator("#visible li").filter({ hasText: "Zelda" }).waitFor();
    for (const [name, state] of [["open", "active"], ["closed", "expired"]]) {
      await page.getByRole("button", { name: `poll ${name}` }).click();
      await page.locator("#poll-state").filter({ hasText: state }).waitFor();
      await clean(page, name);
    }
    await page.getByRole("button", { name: "Clear the votes" }).click();
    await clean(page, "waiting");
    await page.context().setOffline(true);
    await page.locator("#connection").filter({ hasText: "lost" }).waitFor();
    await clean(page, "offline");
  });

  test(`overlay, console and the first page: ${colorScheme}`, async (t) => {
    const { origin } = await lab.serve({ data: `axe-live-${colorScheme}` });
    const broadcaster = await fill(origin), theme = `theme=${colorScheme}&env=sandbox`;
    for (const [name, query, shown] of [["open", `poll=open&${theme}`, ".option"], ["closed", `poll=closed&${theme}`, ".outcome"], ["question", `question=q&title=Which%20game%3F&${theme}`, "#cloud li"], ["help", theme, null]]) {
      const page = await open(t, name === "help" ? `${origin}/live/?${query}` : address(origin, `?${query}`, broadcaster), { colorScheme });
      await (shown ? page.locator(shown).first() : page.locator(".help")).waitFor();
      await clean(page, name);
    }
    const console = await open(t, origin + "/live/console.html", { colorScheme });
    await console.locator("form").first().waitFor();
    await clean(console, "console");
    await clean(await open(t, origin + "/", { colorScheme }), "first page");
  });

  test(`the rig: ${colorScheme}`, async (t) => {
    const { page } = await inRig(t, path.join(root, "config/samples/first-extension"), { data: `axe-rig-${colorScheme}` });
    await page.emulateMedia({ colorScheme });
    for (const summary of await page.locator("summary").all()) if (!(await summary.evaluate((s) => s.parentElement.open))) await summary.click();
    await clean(page, "rig");
  });
}
