// Extensions in the rig: ours, three that are written to the platform's documents, and the
// platform's public samples where ACCLAIM_SAMPLES names a folder with checkouts of them.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { picture, wanted } from "./pages.mjs";
import { root, sign } from "./program.mjs";
import { inRig } from "./rig.mjs";

const own = (name) => path.join(import.meta.dirname, "extensions", name);

const claims = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
const logged = (page, text) => page.locator("#log li").filter({ hasText: text }).first().waitFor();

test("the first extension votes in the rig, for two viewers", async (t) => {
  const { page, origin, view, frame } = await inRig(t, path.join(root, "config/samples/first-extension"));
  const answer = await fetch(origin + "/v1/vote_config", {
    method: "POST", headers: { Authorization: `sample-extension ${sign({ role: "broadcaster", channel_id: "1", user_id: "1", opaque_user_id: "U1" })}` },
    body: JSON.stringify({ id: "lunch", config: { prompt: "What is for lunch?", options: ["Soup", "Salad"] } }),
  });
  assert.equal(answer.status, 200, await answer.text());
  await view("panel, viewer 2001").getByRole("button", { name: "Reload" }).click();
  await page.getByRole("button", { name: "Add view" }).click();
  const [one, other] = [frame("viewer 2001"), frame("viewer 2002")];
  await one.getByRole("button", { name: "Soup 0" }).click();
  await wanted(one, "#message", "Your vote is counted.");
  await other.getByRole("button", { name: "Salad 0" }).click();
  for (const viewer of [one, other]) {
    await wanted(viewer, "button", "Soup 1");
    await wanted(viewer, "button", "Salad 1");
  }
  await picture(page, "rig", {});
  await view("viewer 2002").getByRole("button", { name: "Remove" }).click();
  assert.equal(await page.locator(".view").count(), 1);
});

test("a panel learns who its viewer is, and asks its backend", async (t) => {
  const { page, view, frame } = await inRig(t, own("fetches"), { refused: true, prepare: (page) => page.clock.install() });
  const panel = frame("viewer 2001"), of = view("viewer 2001");
  await wanted(panel, "#who", "1 sample-extension 1 U2001 viewer false null");
  await wanted(panel, "#answer", "200");
  await wanted(panel, "#foreign", "refused");
  assert.equal(await panel.locator("head title").textContent(), "A panel that asks a backend", "a script inside of the page ran");
  let token = claims(await panel.locator("body").getAttribute("data-token"));
  assert.deepEqual([token.user_id, token.is_unlinked, token.channel_id], [undefined, true, "1"]);

  await panel.getByRole("button", { name: "Log in" }).click();
  await of.getByRole("button", { name: "Share" }).click();
  await wanted(panel, "#who", "2 sample-extension 1 U2001 viewer true 2001");
  token = claims(await panel.locator("body").getAttribute("data-token"));
  assert.deepEqual([token.user_id, token.is_unlinked], ["2001", false]);
  await of.getByLabel("shares identity").uncheck();
  await wanted(panel, "#who", "3 sample-extension 1 U2001 viewer false null");

  await page.clock.fastForward("29:00"); // before the token's end
  await wanted(panel, "#who", "4 sample-extension 1 U2001 viewer false null");

  await wanted(panel, "#theme", "light viewer Tower of Tea 3 16");
  await page.getByLabel("Theme").selectOption("dark");
  await wanted(panel, "#theme", "dark viewer Tower of Tea 3 1");
  await page.getByLabel("Delay, s").fill("12");
  await page.getByLabel("Delay, s").press("Enter");
  await wanted(panel, "#theme", "dark viewer Tower of Tea 12 1");
  await of.getByLabel("visible").uncheck();
  await of.getByLabel("visible").check();
  await wanted(panel, "#visible", "true");
  await logged(page, `panel 2001 ← visibility({"visible":false`);
  await of.getByRole("button", { name: "Error" }).click();
  await wanted(panel, "#failure", "an error of the helper");
  await panel.getByRole("button", { name: "Follow" }).click();
  await logged(page, `panel 2001 → actions.followChannel("tea")`);
  await of.getByRole("button", { name: "Follow" }).click();
  await wanted(panel, "#failure", "followed tea: true");

  await page.getByLabel("User id").fill(""); // a visitor
  await page.getByRole("button", { name: "Add view" }).click();
  await wanted(frame("without a login"), "#who", /1 sample-extension 1 A\w+ viewer false null/);
});

test("the configuration service keeps what the broadcaster sets", async (t) => {
  const { page, view, frame } = await inRig(t, own("configures"));
  const config = frame("config, broadcaster 1"), panel = frame("panel, viewer 2001");
  const save = async (where, team) => {
    await where.getByLabel("Team").fill(team);
    await where.getByRole("button", { name: "Save" }).click();
  };
  await wanted(panel, "#shown", "unset, undefined, undefined");
  await save(panel, "Intruders");
  await wanted(panel, "#failure", "only the broadcaster sets");
  await save(config, "Spoons");
  await logged(page, "config 1 → configuration.set");
  await view("panel, viewer 2001").getByRole("button", { name: "Reload" }).click();
  await wanted(panel, "#shown", "Spoons 1.0, undefined, undefined"); // as on the platform, when it opens
  await page.getByText("Configuration service").click();
  await page.getByLabel("Open views receive changes at once").check();
  await save(config, "Forks");
  await wanted(panel, "#shown", "Forks 1.0, undefined, undefined");
  await save(config, "W".repeat(6000));
  await wanted(config, "#failure", "at most 5 KB");
  for (const segment of ["developer", "global"]) {
    const row = page.locator("#configuration p").filter({ hasText: segment });
    await row.getByLabel("content").fill(`of the ${segment}`);
    await row.getByRole("button").click();
  }
  await page.reload();
  await wanted(panel, "#shown", "Forks 1.0, of the developer, of the global");
});

test("views receive messages and events, and sell for bits", async (t) => {
  const { page, origin, view, frame } = await inRig(t, own("listens"));
  const viewer = frame("video_overlay, viewer 2001"), broadcaster = frame("live_config, broadcaster 1");
  await logged(page, `video_overlay 2001 → listen("whisper-U2001")`);
  await viewer.getByRole("button", { name: "Send" }).click();
  await wanted(viewer, "#failure", "only the broadcaster sends");
  await logged(page, `live_config 1 → listen("whisper-U1")`);
  await broadcaster.getByRole("button", { name: "Send" }).click();
  for (const each of [viewer, broadcaster]) await wanted(each, "#messages li", `broadcast application/json {"boss":"down"}`);

  await page.getByText("Messages and bits").click();
  await page.getByLabel("Target").fill("whisper-U2001");
  await page.getByLabel("Message").fill("only you");
  await page.getByRole("button", { name: "Send as the backend" }).click();
  await wanted(viewer, "#messages li", "whisper-U2001 application/json only you");
  assert.equal(await broadcaster.locator("#messages li").filter({ hasText: "only you" }).count(), 0);

  const credential = `sample-extension ${sign({ role: "broadcaster", channel_id: "1", user_id: "1", opaque_user_id: "U1" })}`;
  const post = (route, body, headers = { Authorization: credential }) => fetch(origin + route, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal((await post("/v1/broadcast", { event: "boss_down", data: { loot: "spoon" } })).status, 200);
  await wanted(viewer, "#messages li", `"loot":"spoon"`);
  await viewer.getByRole("button", { name: "Stop" }).click();
  await broadcaster.getByRole("button", { name: "Send" }).click();
  await broadcaster.locator("#messages li").filter({ hasText: "boss" }).nth(2).waitFor();
  assert.equal(await viewer.locator("#messages li").filter({ hasText: `{"boss":"down"}` }).count(), 1);

  const buy = async (answer) => {
    await viewer.getByRole("button", { name: "Buy" }).click();
    await view("video_overlay").locator(".prompt").getByRole("button", { name: answer }).click();
  };
  await buy("Cancel");
  await wanted(viewer, "#sale", "cancelled");
  await page.getByLabel("All views receive purchases").check();
  await buy("Use bits");
  await wanted(viewer, "#sale", "CURRENT_USER 2001 spoons 10");
  await wanted(broadcaster, "#sale", "OTHER 2001 spoons 10");
  const transactionReceipt = await viewer.locator("body").getAttribute("data-receipt");
  const buyer = { Authorization: `sample-extension ${sign({ role: "viewer", channel_id: "1", user_id: "2001", opaque_user_id: "U2001" })}` };
  assert.equal((await post("/v1/bits/transactions", { transactionReceipt }, buyer)).status, 201);

  await page.getByLabel("Player size").selectOption("960x540");
  assert.equal((await view("video_overlay").locator("iframe").boundingBox()).width, 960);
  await picture(page, "rig-overlay", {});
  await viewer.getByRole("button", { name: "Minimize" }).click();
  await view("video_overlay").locator("iframe").waitFor({ state: "hidden" });
});

// The samples' own backends do not run: one is stood in for, and what is seen is that the pages
// start and what they ask of the helper.
const samples = process.env.ACCLAIM_SAMPLES;
for (const [name, folder, expected] of [
  ["twitchdev/extensions-hello-world", "extensions-hello-world/public", [/panel 2001 → listen\("broadcast"\)/, /mobile 2001 → rig.log\("Updating block color"\)/, /config 1 ← authorized/]],
  ["twitchdev/extension-getting-started", "extension-getting-started/public", [/panel 2001 → rig.log\("Updating block color"\)/, /config 1 ← authorized/]],
  ["twitchdev/extension-bits-fireworks-sample", "extension-bits-fireworks-sample/client", [/video_overlay 2001 → listen\("broadcast"\)/, /config 1 → bits.getProducts/]],
]) {
  const present = samples && existsSync(path.join(samples, folder));
  test(`the platform's sample ${name} runs`, { skip: !present && "ACCLAIM_SAMPLES names no folder with a checkout of it" }, async (t) => {
    const backend = { status: 200, headers: { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "authorization" }, body: "#00ff00" };
    const prepare = (page) => page.route("http://localhost:8081/**", (route) => route.fulfill(backend));
    const { page } = await inRig(t, path.join(samples, folder), { data: folder.split("/")[0], args: ["--fetch-domains", "http://localhost:8081"], prepare });
    for (const text of expected) await logged(page, text).catch(() => assert.fail(`not in the log: ${text}`));
    assert.equal(await page.locator("#log .failure").count(), 0);
  });
}
