// A poll that ended in a tie: staff chooses the winner, and every page says that staff did.

import assert from "node:assert/strict";
import { test } from "node:test";

import { leaders, outcome } from "../../services/internal/face/page/static/tally.js";
import { faintTexts, lab, open, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";
import { violations } from "./rig.mjs";

const show = { prompt: "What do we play?", options: ["Zelda", "Mario", "Tetris"], deviceVoting: true, publicResults: true };

// tied serves a channel whose poll "game" needs one more vote for its second option to tie. Most votes are
// for a value that is no option.
async function tied(data) {
  const { origin } = await lab.serve({ data });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const change = (config) => send(origin, broadcaster, "PATCH", "/vote_config", { id: "game", config });
  await send(origin, broadcaster, "POST", "/vote_config", { id: "game", config: show });
  for (const [n, value] of [0, 0, 1, 2, 7, 7, 7].entries()) await send(origin, await token(origin, { role: "viewer", user_id: String(7000 + n) }), "POST", "/vote?id=game", { value });
  const staff = `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`;
  const overlay = (query) => `${origin}/live/?${new URLSearchParams({ env: "sandbox", poll: "game", ...query })}`;
  return { origin, broadcaster, change, staff, overlay };
}

// signedIn opens the staff page with the poll.
async function signedIn(t, { staff }, options) {
  const page = await open(t, staff, { viewport: { width: 1280, height: 1000 }, ...options });
  await page.getByRole("button", { name: "What do we play?: poll game" }).click();
  await wanted(page, "#poll-state", "7 votes");
  return page;
}

test("the outcome of a poll", () => {
  const votes = (...counts) => counts.map((votes, value) => ({ value, votes }));
  for (const [counts, poll, how, winners] of [
    [[0, 0], {}, "winner", []], [[1, 3], {}, "winner", [1]], [[3, 1, 3], {}, "tie", [0, 2]], [[], null, "winner", []], [[2, 2], null, "tie", [0, 1]],
    [[3, 1, 3], { tieBreak: 2 }, "chosen", [2]], [[3, 3], { tieBreak: 0 }, "chosen", [0]],
    [[3, 1, 3], { tieBreak: 1 }, "tie", [0, 2]], [[3, 1], { tieBreak: 0 }, "winner", [0]], [[3, 1], { tieBreak: 1 }, "winner", [0]],
    [[1, 1, 5], { options: ["a", "b"] }, "tie", [0, 1]], [[1, 1, 5], { options: [] }, "winner", [2]],
  ]) {
    const found = outcome(votes(...counts), poll), name = JSON.stringify([counts, poll]);
    assert.deepEqual([found.how, found.winners.map((o) => o.value)], [how, winners], name);
    if (how !== "chosen") assert.deepEqual(leaders(votes(...counts), poll), found.winners, name);
  }
});

test("staff decides a tie, and overlay and viewers see who decided", async (t) => {
  const s = await tied("tie"), page = await signedIn(t, s);
  const { credential } = await send(s.origin, s.broadcaster, "POST", "/overlay_keys", { polls: ["game"] });
  const overlay = await open(t, `${s.overlay()}#access_token=${encodeURIComponent(credential)}`);
  const followed = await open(t, s.overlay({ public: "sample-extension/1", lang: "de" }));
  const viewer = await open(t, `${s.origin}/vote/sample-extension/1/game?env=sandbox`, { viewport: { width: 360, height: 740 } });
  await viewer.getByLabel("Mario").check();
  await viewer.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#poll-state", "active, 8 votes");
  assert.deepEqual(await page.locator("#figures .leads th").allTextContents(), ["Zelda", "Mario"]);
  assert.equal(await page.locator("#tie").isVisible(), false, "a choice in an open poll");
  const seen = async (by, english, german) => {
    await wanted(page, "#outcome", by);
    await viewer.evaluate(() => dispatchEvent(new Event("online"))); // looks at once
    for (const other of [overlay, viewer]) await wanted(other, "#outcome", english);
    await wanted(followed, "#outcome", german);
  };

  await page.getByRole("button", { name: "End the poll now" }).press("Enter");
  await seen(/^Tie: Zelda and Mario$/, /^A tie: Zelda and Mario$/, /^Gleichstand: Zelda und Mario$/);
  assert.equal(await page.getByRole("button", { name: "Take the decision back" }).isVisible(), false);
  await page.getByRole("button", { name: "Choose: Mario" }).press("Enter");
  await seen(/^Tie: Zelda and Mario. Mario wins by decision of the staff.$/, /^Winner: Mario, by decision of the staff after a tie$/, /^Gewonnen: Mario, nach Gleichstand vom Team bestimmt$/);
  assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Choose: Mario", "the focus is lost");
  for (const narrow of [overlay, followed]) {
    for (const size of [{ width: 360, height: 240 }, { width: 240, height: 135 }]) {
      await narrow.setViewportSize(size);
      assert.ok(await narrow.locator("#outcome").evaluate((e) => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight && e.getBoundingClientRect().bottom <= innerHeight), `the outcome is cut at ${size.width} px`);
    }
  }
  assert.deepEqual(await page.locator("#figures .leads th").allTextContents(), ["Mario"]);
  assert.deepEqual(await viewer.locator("#figures bdi").allTextContents(), ["Zelda", "Mario ★", "Tetris"]);
  assert.deepEqual(await overlay.locator("[data-leads=true] .label").allTextContents(), ["Mario"]);
  await wanted(overlay, "[role=status]", /^Mario has won by decision of the staff, after a tie with 40% of 5 votes\.$/);

  await page.getByRole("button", { name: "Choose: Zelda" }).press("Enter");
  await seen("Zelda wins by decision of the staff.", "Winner: Zelda, by", "Gewonnen: Zelda, nach");
  await s.change({ tieBreak: 1 });
  await wanted(page, "#changed", "decision of the tie");
  await page.getByRole("button", { name: "Take the decision back" }).press("Enter");
  await seen(/^Tie: Zelda and Mario$/, /^A tie: Zelda and Mario$/, /^Gleichstand: Zelda und Mario$/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "poll-title", "the focus is lost");
});

test("the overlay of the live poll comes back when staff decides a tie", async (t) => {
  const s = await tied("tie-live"), page = await open(t, `${s.overlay({ poll: "*", linger: 2 })}#access_token=${encodeURIComponent(s.broadcaster)}`);
  await wanted(page, "#total", "7 votes");
  await send(s.origin, await token(s.origin, { role: "viewer", user_id: "7100" }), "POST", "/vote?id=game", { value: 1 });
  await s.change({ endsAt: -1 });
  await wanted(page, "#outcome", "A tie: Zelda and Mario");
  await page.locator(".poll").waitFor({ state: "hidden" });
  await send(s.origin, s.broadcaster, "POST", "/vote_config", { id: "next", config: { ...show, prompt: "And then?" } });
  await wanted(page, "#title", "And then?");
  await s.change({ tieBreak: 0 });
  await wanted(page, "#title", "And then?"); // what takes votes goes first
  await send(s.origin, s.broadcaster, "DELETE", "/vote?id=next");
  await page.locator(".poll").waitFor({ state: "hidden" });
  await s.change({ tieBreak: 1 });
  await wanted(page, "#outcome", "Winner: Mario, by decision of the staff");
  await page.locator(".poll").waitFor({ state: "hidden" });
});

test("staff chooses once viewers see the results, and sees why a choice is refused", async (t) => {
  const s = await tied("tie-refused"), page = await signedIn(t, s);
  await send(s.origin, await token(s.origin, { role: "viewer", user_id: "7100" }), "POST", "/vote?id=game", { value: 1 });
  await s.change({ endsAt: -1, resultsVisibility: "staff" });
  await wanted(page, "#outcome", /^Tie: Zelda and Mario$/);
  await wanted(page, "#covered", "Reveal the results to choose the winner.");
  assert.equal(await page.getByRole("button", { name: "Choose: Mario" }).isVisible(), false);
  await page.getByRole("button", { name: "Reveal the results" }).click();
  await page.getByRole("button", { name: "Choose: Mario" }).waitFor();
  await page.route("**/vote_config", async (route) => { // another one opens the poll before
    await s.change({ endsAt: 0 });
    await route.continue();
  }, { times: 1 });
  await page.getByRole("button", { name: "Choose: Mario" }).click();
  await wanted(page, "#message", "tieBreak needs a poll that has ended");
  await page.locator("#tie").waitFor({ state: "hidden" });
});

for (const colorScheme of ["light", "dark"]) {
  test(`the pages of a tie have enough contrast, and nothing that axe finds: ${colorScheme}`, async (t) => {
    const s = await tied(`tie-${colorScheme}`), small = { viewport: { width: 360, height: 740 } };
    const staff = await signedIn(t, s, { colorScheme, ...small });
    await send(s.origin, await token(s.origin, { role: "viewer", user_id: "7100" }), "POST", "/vote?id=game", { value: 1 });
    const overlay = await open(t, s.overlay({ public: "sample-extension/1", theme: colorScheme }));
    const viewer = await open(t, `${s.origin}/vote/sample-extension/1/game?env=sandbox`, { colorScheme, ...small });
    for (const [name, config, shown] of [["tie", { endsAt: -1 }, /[Tt]ie:/], ["decided", { tieBreak: 1 }, "by decision of the staff"]]) {
      await s.change(config);
      await viewer.evaluate(() => dispatchEvent(new Event("online")));
      for (const [place, page] of Object.entries({ staff, overlay, viewer })) {
        await wanted(page, "#outcome", shown);
        await page.picture(`${name}-${place}-${colorScheme}`, { fullPage: true });
        assert.deepEqual(await violations(page), [], `${name}: ${place}`);
        if (page === overlay) continue;
        assert.deepEqual(await page.evaluate(faintTexts), [], `${name}: ${place}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: ${place}: 360 px are too narrow`);
      }
    }
  });
}
