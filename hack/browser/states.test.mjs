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

test("staff misses no poll where a stream does not begin", async (t) => {
  const { origin } = await lab.serve({ data: "no-stream" }), broadcaster = await token(origin, { role: "broadcaster" });
  const make = (id) => send(origin, broadcaster, "POST", "/vote_config", { id, config: {} });
  const page = await open(t, "about:blank", { viewport: sizes.staff });
  let streams = 0;
  await page.route(/\/events\?/, (route) => { if (++streams > 1) return route.continue(); });
  await make("before");
  await page.goto(`${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`);
  const choose = page.getByRole("button", { name: "before: poll before" });
  await choose.waitFor();
  await make("meanwhile");
  await choose.click(); // which begins another stream
  await page.getByRole("button", { name: "meanwhile: poll meanwhile" }).waitFor();
});

test("staff reads again what it lacks, once the connection is back", async (t) => {
  const data = "back", server = await lab.serve({ data }), { origin } = server;
  const broadcaster = await token(origin, { role: "broadcaster" });
  const make = async (name) => {
    await send(origin, broadcaster, "POST", "/overlay_keys", { name, polls: ["p"] });
    await send(origin, broadcaster, "POST", "/staff_keys", { name, scopes: ["polls"], expires: Math.floor(Date.now() / 1000) + 86400 });
  };
  const page = await open(t, "about:blank", { viewport: sizes.staff });
  const upload = (width) => page.evaluate((width) => Object.assign(document.createElement("canvas"), { width, height: 30 }).toDataURL().split(",")[1], width)
    .then((data) => send(origin, broadcaster, "POST", "/pictures", { data }));
  const shows = (list, text) => wanted(page, `#${list} li`, text), picture = (size) => shows("channel-picture-list", size);
  await make("first");
  const { id } = await upload(31);
  await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { prompt: "Tea?", options: ["Yes", "No"], pictures: [id] } });

  const failing = /\/(overlay_keys|staff_keys|games|pictures|picture\.png)$/;
  await page.route(failing, (route) => route.abort());
  await page.goto(`${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`);
  await page.getByRole("button", { name: "Tea?: poll p" }).click();
  await page.getByText("Pictures of the options").click();
  await page.getByText("Pictures of the channel").click();
  await wanted(page, "#message", "The server cannot be reached.");
  for (const list of ["keys", "moderators", "games", "channel-picture-list"]) assert.equal(await page.locator(`#${list} li`).count(), 0, list);
  await kill(server);
  await wanted(page, "#connection", "The connection is lost.");
  await page.unroute(failing);
  await lab.serve({ data, port: new URL(origin).port });
  for (const list of ["keys", "moderators"]) await shows(list, "first");
  await shows("games", "No game is paired.");
  await picture("31 × 30 pixels");
  await page.locator("#picture-list img").first().waitFor();

  await page.context().setOffline(true);
  await wanted(page, "#connection", "The connection is lost.");
  await make("second");
  await upload(32);
  await page.locator("#keys button").focus();
  await page.context().setOffline(false);
  for (const list of ["keys", "moderators"]) await shows(list, "second");
  await picture("32 × 30 pixels");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Revoke: first");
});
