// The pages while a server is slow, and once it is gone: each says so, and shows nothing that is not so.

import assert from "node:assert/strict";
import { test } from "node:test";

import { faintTexts, lab, open, wanted } from "./pages.mjs";
import { kill, send, token } from "./program.mjs";

const sizes = { staff: { width: 1280, height: 700 }, overlay: { width: 900, height: 420 }, vote: { width: 360, height: 500 } };

for (const colorScheme of ["light", "dark"]) {
  test(`pages wait for a slow server, and outlive one that is gone: ${colorScheme}`, async (t) => {
    const server = await lab.serve({ data: `states-${colorScheme}` }), { origin } = server;
    const broadcaster = await token(origin, { role: "broadcaster" });
    await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { prompt: "Tea?", options: ["Yes", "No"], deviceVoting: true } });
    const { credential } = await send(origin, broadcaster, "POST", "/overlay_keys", { polls: ["p"] });
    const addresses = {
      staff: `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`,
      overlay: `${origin}/live/?env=sandbox&poll=p#access_token=${encodeURIComponent(credential)}`,
      vote: `${origin}/vote/sample-extension/1/p?env=sandbox`,
    };
    const pages = {}, shown = { staff: "#work", overlay: "main.poll", vote: "#ballot" };
    let answer;
    const held = new Promise((resolve) => { answer = resolve; });
    for (const name of Object.keys(addresses)) {
      const page = pages[name] = await open(t, "about:blank", { viewport: sizes[name], colorScheme });
      await page.route(/\/v1\/(?!events)/, async (route) => { await held; await route.continue(); });
      await page.goto(addresses[name]);
      assert.equal(await page.locator(shown[name]).isVisible(), false, `${name} shows what it does not know`);
    }
    await pages.staff.locator("#signin button[aria-disabled=true]").waitFor();
    await wanted(pages.vote, "#state", "Opening the poll…");
    for (const [name, page] of Object.entries(pages)) await page.picture(`${name}-slow-${colorScheme}`);
    answer();
    for (const [name, page] of Object.entries(pages)) await page.locator(shown[name]).waitFor();
    assert.equal(await pages.staff.locator("#message").textContent(), "");
    await pages.staff.getByRole("button", { name: "Tea?: poll p" }).click();
    await pages.staff.getByRole("heading", { name: "Tea?" }).waitFor();

    const dropped = new Promise((resolve) => { answer = resolve; }), change = (config) => send(origin, broadcaster, "PATCH", "/vote_config", { id: "p", config });
    await pages.staff.route("**/v1/poll?id=p", (route) => route.abort(), { times: 1 });
    await change({ prompt: "Coffee?" }); // which the page reads after the event
    await wanted(pages.staff, "#message", "The server cannot be reached.");
    const failed = pages.staff.waitForEvent("requestfailed", (request) => request.url().endsWith("/v1/poll?id=p"));
    await pages.staff.route("**/v1/poll?id=p", async (route) => { await dropped; await route.abort(); });
    const reads = pages.staff.waitForRequest("**/v1/poll?id=p");
    await change({ prompt: "Water?" });
    await reads;
    await kill(server);
    await wanted(pages.staff, "#connection", "The connection is lost.");
    answer();
    await failed;
    assert.equal(await pages.staff.locator("#message").textContent(), "", "the page says twice that the server is gone");
    await pages.staff.getByRole("button", { name: "End the poll now" }).click();
    await wanted(pages.staff, "#message", "No response came. Look again once the page is connected.");
    await wanted(pages.overlay, "#state", "Reconnecting…");
    await pages.vote.evaluate(() => dispatchEvent(new Event("online"))); // looks at once
    await wanted(pages.vote, "#state", "The server cannot be reached. Trying again…");
    for (const [name, page] of Object.entries(pages)) {
      await page.picture(`${name}-gone-${colorScheme}`);
      if (name !== "overlay") assert.deepEqual(await page.evaluate(faintTexts), [], name);
    }
  });
}
