// Viewers who check their votes in the reference extension, and take the receipt to another machine.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { chromium } from "playwright-core";

import { lab, picture, wanted } from "./pages.mjs";
import { ask, configure, option, show } from "./reference.mjs";
import { violations } from "./rig.mjs";

const begin = (origin, id) => configure(origin, id, { prompt: "Tea or coffee?", options: ["Tea", "Coffee"], verifiable: true });
const end = (origin, id) => ask(origin, "PATCH", "/vote_config", { id, config: { endsAt: -1 } });

// check presses the button until the verdict has a text: signing takes a second or two.
async function check(view, text) {
  const verdict = view.locator(".verdict").filter({ hasNotText: "Checking" }).filter({ hasText: /./ });
  for (const until = Date.now() + 20_000; ;) {
    await view.getByRole("button", { name: "Check my vote" }).click();
    const found = await verdict.innerText();
    if (found.includes(text)) return;
    assert.ok(Date.now() < until, `the verdict is ${found}`);
  }
}

test("a viewer votes, checks the vote in the panel, and the receipt with the command", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "checked");
  const panel = frame("panel, viewer");
  await begin(origin, "tea");
  await wanted(panel, "h1", "Tea or coffee?");
  assert.equal(await panel.getByRole("button", { name: "Check my vote" }).count(), 0, "there is no vote yet");
  await option(panel, "Tea").click();
  await wanted(panel, ".message", "Your vote is counted.");
  await check(panel, "Your vote for “Tea” is recorded. It is not in a signed final result yet");
  await end(origin, "tea");
  await check(panel, "Your vote for “Tea” is recorded, and it is in the final result.");
  await panel.getByText("Receipt", { exact: true }).click();
  await wanted(panel, ".hint", "The key of this check comes from the server");
  await picture(page, "extension-checked", {});
  for (const view of page.frames().filter((other) => other.url().includes("panel"))) assert.deepEqual(await violations(view), []);

  const file = path.join(lab.folder, "tea.acclaim-receipt"), key = await (await fetch(`${origin}/log/vkeys`)).text();
  await writeFile(file, await panel.getByRole("textbox", { name: "Receipt" }).inputValue());
  const { stdout } = await promisify(execFile)(lab.binary, ["verify-receipt", file, "--key", key.trim(), "--site", origin]).catch((error) => error);
  assert.match(stdout, /Your vote is in the final result, once/);
});

test("a viewer votes in a poll without receipts, and has none to check", async (t) => {
  const { program: { origin }, frame } = await show(t, "unreceipted");
  const panel = frame("panel, viewer");
  await configure(origin, "tea", { prompt: "Tea or coffee?", options: ["Tea", "Coffee"], verifiable: true, noReceipts: true });
  await option(panel, "Tea").click();
  await wanted(panel, ".message", "Your vote is counted.");
  assert.equal(await panel.getByRole("button", { name: "Check my vote" }).count(), 0);
});

test("a page names a vote that another one replaced, and a result that was changed", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "changed");
  const panel = frame("panel, viewer"), mobile = frame("mobile, viewer");
  await begin(origin, "tea");
  await option(panel, "Tea").click();
  await check(panel, "is recorded");
  await option(mobile, "Coffee").click(); // of the same viewer. Frames of another site share no storage here
  await check(mobile, "Your vote for “Coffee” is recorded");
  await check(panel, "Another vote replaced this one.");
  await end(origin, "tea");
  await check(mobile, "it is in the final result");
  await check(panel, "Another vote replaced this one.");
  await page.route("**/result.json", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace('"count":1,', '"count":2,') });
  });
  await check(mobile, "This is not as you voted. The result on display is not the signed one.");
});

test("after a reload a browser that stores for frames still knows the vote", async (t) => {
  const profile = path.join(lab.folder, "profile");
  await mkdir(path.join(profile, "Default"), { recursive: true });
  await writeFile(path.join(profile, "Default/Preferences"), JSON.stringify({ profile: { cookie_controls_mode: 0 } }));
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.ACCLAIM_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"], viewport: { width: 1400, height: 1000 } });
  t.after(() => context.close());
  const { program: { origin }, view, frame } = await show(t, "kept", { context });
  await begin(origin, "tea");
  await option(frame("panel, viewer"), "Tea").click();
  await frame("panel, viewer").getByRole("button", { name: "Check my vote" }).waitFor();
  await view("panel, viewer").getByRole("button", { name: "Reload" }).click();
  await check(frame("panel, viewer"), "Your vote for “Tea” is recorded");
});

test("the broadcaster starts a poll whose votes can be checked", async (t) => {
  const { program: { origin }, frame } = await show(t, "verifiable");
  const desk = frame("live_config, broadcaster");
  await desk.getByText("New poll").click();
  await desk.getByLabel("Question", { exact: true }).first().fill("Tea?");
  await desk.getByLabel("Options").fill("Yes\nNo");
  await desk.getByLabel("Viewers can check their votes").check();
  await desk.getByLabel("Viewers see the results").selectOption("once the poll has closed");
  await desk.getByRole("button", { name: "Start the poll" }).click();
  await option(frame("panel, viewer"), "Yes").click();
  await frame("panel, viewer").getByRole("button", { name: "Check my vote" }).waitFor();
  assert.equal((await ask(origin, "GET", "/polls?status=active")).polls[0].verifiable, true);
});
