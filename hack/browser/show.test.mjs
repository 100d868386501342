// One overlay address for a whole show, in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { percentages } from "../../services/internal/face/page/static/tally.js";
import { lab, open, wanted } from "./pages.mjs";
import { kill, send, token } from "./program.mjs";

// show serves a channel and returns its staff and viewers, and the address of its overlay.
async function show(data) {
  const program = await lab.serve({ data });
  const { origin } = program;
  const broadcaster = await token(origin, { role: "broadcaster" });
  const viewer = await token(origin, { role: "viewer" });
  let voters = 0;
  const address = (query = {}, credential = viewer) => `${origin}/live/?${new URLSearchParams({ env: "sandbox", ...query })}#access_token=${encodeURIComponent(credential)}`;
  return {
    program, origin, broadcaster, address,
    ask: (id, config) => send(origin, broadcaster, "POST", "/vote_config", { id, config: { options: ["Tea", "Coffee"], ...config } }),
    change: (id, config) => send(origin, broadcaster, "PATCH", "/vote_config", { id, config }),
    vote: async (id, value) => send(origin, await token(origin, { role: "viewer", user_id: String(1000 + voters++) }), "POST", `/vote?id=${id}`, { value }),
    remove: (id) => send(origin, broadcaster, "DELETE", `/vote?id=${id}`),
  };
}

const gone = (page) => page.locator(".poll").waitFor({ state: "hidden" });

// empty fails unless a picture of the page would be transparent.
async function empty(page) {
  await gone(page);
  assert.equal(await page.evaluate(() => document.body.innerText.trim()), "");
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgba(0, 0, 0, 0)");
}

test("one address follows the show from poll to poll", async (t) => {
  const s = await show("follows");
  const page = await open(t, s.address({ poll: "*", linger: 2, title: "An old title" }));
  await empty(page);
  await s.ask("first", { prompt: "Firts?" });
  await wanted(page, "#title", "Firts?");
  await s.vote("first", 0);
  await wanted(page, "#total", "1 vote");
  await s.change("first", { prompt: "First?" });
  await wanted(page, "#title", /^First\?$/);
  await wanted(page, "#total", "1 vote");

  // The poll that begins last is shown, and the one before again after it.
  await s.ask("second", { prompt: "Second?", options: ["Red", "Green", "Blue"] });
  await wanted(page, "#title", "Second?");
  await wanted(page, "#total", "0 votes");
  await s.change("first", { prompt: "First, once more?" }); // which makes it no newer
  for (const value of [2, 2, 1]) await s.vote("second", value);
  await wanted(page, "#total", "3 votes");
  await s.change("second", { endsAt: -1 });
  await wanted(page, "#countdown", "Closed");
  await wanted(page, "#outcome", "Winner: Blue");
  await page.picture("show-winner");
  await wanted(page, "#title", "First, once more?");
  await wanted(page, "#total", "1 vote");

  // A tie, and then nothing.
  await s.vote("first", 1);
  await wanted(page, "#total", "2 votes");
  await s.change("first", { endsAt: -1 });
  await wanted(page, "#outcome", "A tie: Tea and Coffee");
  await page.picture("show-tie");
  await empty(page);

  // Reopened, it is back; deleted, it is gone at once.
  await s.change("first", { endsAt: 0 });
  await wanted(page, "#total", "2 votes");
  await s.remove("first");
  await empty(page);
});

test("an overlay learns after an outage that its poll has ended", async (t) => {
  const s = await show("outage");
  const page = await open(t, s.address({ linger: 2 }));
  await s.ask("p", { prompt: "Before?", endsAt: Math.floor(Date.now() / 1000) + 3 });
  await s.vote("p", 1);
  await wanted(page, "#total", "1 vote");
  await kill(s.program);
  await wanted(page, "#state", "Reconnecting");
  await wanted(page, "#countdown", "Closed");
  await lab.serve({ data: "outage", port: new URL(s.origin).port });
  await wanted(page, "#outcome", "Winner: Coffee");
  await empty(page);
  await s.ask("q", { prompt: "After?" });
  await wanted(page, "#title", "After?");
});

test("an address without a poll finds the live one, also with a key of some polls", async (t) => {
  const s = await show("finds");
  for (const id of ["other", "mine"]) await s.ask(id, { prompt: `Poll ${id}?` });
  await s.ask("other", { prompt: "Poll other?", disabled: true }); // a draft, not live
  const admin = await token(s.origin, { role: "admin", user_id: "1000" });
  await send(s.origin, admin, "POST", "/vote_config", { id: "global-all", config: { prompt: "Of all channels?", options: ["A", "B"], global: true } });
  await wanted(await open(t, s.address()), "#title", "Poll mine?");
  const key = await send(s.origin, s.broadcaster, "POST", "/overlay_keys", { polls: ["mine"] });
  const page = await open(t, s.address({ linger: 60 }, key.credential));
  await wanted(page, "#title", "Poll mine?");
  await s.ask("third", { prompt: "Poll third?" });
  await s.vote("mine", 1);
  await wanted(page, "#total", "1 vote");
  await wanted(page, "#title", "Poll mine?");
  await s.change("mine", { endsAt: -1 });
  await wanted(page, "#outcome", "Winner: Coffee");
});

test("the overlay of a missing poll is empty, and tells only people why", async (t) => {
  const s = await show("misses");
  const page = await open(t, s.address({ poll: "nope" }));
  await page.waitForLoadState("networkidle");
  await empty(page);
  await page.mouse.move(100, 100);
  await wanted(page, "#hint", "There is no poll “nope” in this channel.");
  await page.picture("show-hint");
  await s.ask("nope", {});
  await wanted(page, "#total", "0 votes");
  assert.equal(await page.locator("#hint").isVisible(), false);

  const software = await open(t, "about:blank");
  await software.addInitScript(() => { window.obsstudio = {}; });
  await software.goto(s.address({ poll: "typo" }));
  await software.waitForLoadState("networkidle");
  await software.mouse.move(100, 100);
  await empty(software);

  const refused = await open(t, s.address({}, "sample-extension bad.token.here"));
  await refused.mouse.move(100, 100);
  await wanted(refused, "#hint", "The access token has ended or is not valid here.");
});

test("a public result is shown without a credential, until it is hidden", async (t) => {
  const s = await show("public"), plain = (query) => `${s.origin}/live/?${new URLSearchParams({ env: "sandbox", public: "sample-extension/1", ...query })}`;
  const page = await open(t, plain({ poll: "open" }));
  await page.waitForLoadState("networkidle");
  await empty(page);
  await page.mouse.move(100, 100);
  await wanted(page, "#hint", "There is no public poll “open” in this channel.");
  await s.ask("open", { prompt: "Open?", publicResults: true });
  await wanted(page, "#title", "Open?");
  await s.vote("open", 1);
  await wanted(page, "#total", "1 vote");
  await s.vote("open", 1);
  await wanted(page, "#total", "2 votes");
  assert.deepEqual(await page.locator(".figure").allTextContents(), ["0% · 0", "100% · 2"]);
  await s.change("open", { endsAt: -1 });
  await wanted(page, "#outcome", "Winner: Coffee");
  await s.change("open", { resultsVisibility: "staff" });
  await gone(page);
  assert.equal(await page.evaluate(() => performance.getEntriesByType("resource").some((e) => /v1/.test(e.name))), false);

  const unnamed = await open(t, plain({}));
  await wanted(unnamed, "#problem", "names a poll");
});

test("percentages add up to 100", async (t) => {
  for (const [votes, want] of [
    [[1, 1, 1], [34, 33, 33]], [[2, 1], [67, 33]], [[1, 999], [0, 100]], [[0, 0], [0, 0]], [[], []],
    [[1, 1, 1, 1, 1, 1, 1], [15, 15, 14, 14, 14, 14, 14]], [[5, 0, 5], [50, 0, 50]],
  ]) assert.deepEqual(percentages(votes), want, String(votes));
  const s = await show("adds");
  await s.ask("p", { options: ["Red", "Green", "Blue"] });
  for (const value of [0, 1, 2]) await s.vote("p", value);
  const page = await open(t, s.address({ show: "percent" }));
  await wanted(page, "#total", "3 votes");
  assert.deepEqual(await page.locator(".figure").allTextContents(), ["34%", "33%", "33%"]);
});
