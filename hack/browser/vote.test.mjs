// The page on which a phone votes by a link, without an account, and the link that staff shares.

import assert from "node:assert/strict";
import { test } from "node:test";

import { faintTexts, lab, open, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";
import { violations } from "./rig.mjs";

const phone = { viewport: { width: 360, height: 740 } };
const shot = (page, name) => page.picture(name, { fullPage: true });
const link = (origin, poll) => `${origin}/vote/sample-extension/1/${encodeURIComponent(poll)}?env=sandbox`;

async function configure(origin, id, config) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  await send(origin, broadcaster, "POST", "/vote_config", { id, config: { deviceVoting: true, ...config } });
  return broadcaster;
}

const lunch = { prompt: "What is for lunch?", options: ["Tea", "Cake", "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente", "עוגה"] };

test("a phone votes by a link, once, and may change its vote", async (t) => {
  const { origin } = await lab.serve({ data: "vote" });
  const broadcaster = await configure(origin, "lunch", lunch);
  const tally = () => send(origin, broadcaster, "GET", "/vote?id=lunch");
  const page = await open(t, link(origin, "lunch"), phone);
  await page.getByRole("heading", { name: "What is for lunch?" }).waitFor();
  await wanted(page, "#state", "Choose one and vote.");
  await shot(page, "vote-open");
  await page.keyboard.press("Tab"); // the first option, as nothing is chosen
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await wanted(page, "#state", "Your vote is counted. You voted for Tea.");
  await wanted(page, "#figures li", "Tea");
  await shot(page, "vote-counted");

  await page.reload();
  await wanted(page, "#state", "Your vote is counted. You voted for Tea.");
  await page.getByLabel("Cake").check();
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#state", "Your vote is changed. You voted for Cake.");
  assert.deepEqual(await tally().then(({ count, specific, devices }) => [count, specific[1], devices]), [1, 1, 1]);

  const other = await open(t, link(origin, "lunch"), phone); // another device, as pages have no cookies in common
  await other.getByLabel("Tea").check();
  await other.getByRole("button", { name: "Vote" }).click();
  await wanted(other, "#state", "Your vote is counted.");
  assert.deepEqual(await tally().then(({ count, devices }) => [count, devices]), [2, 2]);
});

test("a phone gives several votes at once, and the rest later", async (t) => {
  const { origin } = await lab.serve({ data: "vote-several" });
  const broadcaster = await configure(origin, "games", { prompt: "Which games?", options: ["Chess", "Go", "Ludo", "Snakes"], strict: true, totalVotesPerUser: 3, distinctOptionsPerUser: 3 });
  const tally = () => send(origin, broadcaster, "GET", "/vote?id=games").then(({ count, specific, devices }) => [count, specific.slice(0, 4), devices]);
  const page = await open(t, link(origin, "games"), phone);
  await wanted(page, "#state", "Choose up to 3, and vote.");
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#message", "Choose up to 3, and vote.");
  await page.getByLabel("Chess").check();
  await page.getByLabel("Ludo").check();
  await shot(page, "vote-several");
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#state", "Your vote is counted. You voted for Chess and Ludo. You have one more vote.");
  assert.equal(await page.locator("#message").textContent(), "");
  assert.deepEqual(await tally(), [2, [1, 0, 1, 0], 1]);
  assert.deepEqual(await page.locator("#ballot input:disabled").count(), 2);

  // The answer to a vote is lost.
  await page.reload();
  await wanted(page, "#state", "You voted for Chess and Ludo.");
  await page.getByLabel("Go", { exact: true }).check();
  assert.equal(await page.getByLabel("Snakes").isDisabled(), true, "a fourth vote");
  let lost = 0;
  await page.route(/\/vote\?/, async (route) => {
    if (route.request().method() !== "POST" || lost++ > 0) return route.fallback();
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#state", "You voted for Chess, Ludo, and Go."); // the page looks whether it came
  assert.equal(await page.locator("#message").textContent(), "");
  await page.locator("#ballot").waitFor({ state: "hidden" });
  assert.deepEqual(await tally(), [3, [1, 1, 1, 0], 1]);
  await shot(page, "vote-several-all");
});

test("a vote counts once when a person tries again after a lost answer", async (t) => {
  const { origin } = await lab.serve({ data: "vote-again" });
  const broadcaster = await configure(origin, "cheers", { options: ["Red", "Blue"], strict: true, totalVotesPerUser: 5, distinctOptionsPerUser: 2, votesPerOption: 3 });
  const specific = () => send(origin, broadcaster, "GET", "/vote?id=cheers").then((tally) => tally.specific.slice(0, 2));
  const page = await open(t, link(origin, "cheers"), phone), vote = () => page.getByRole("button", { name: "Vote" }).click();
  await page.getByLabel("Red").check();
  await vote();
  await wanted(page, "#state", "You have 4 more votes.");
  assert.equal(await page.getByLabel("Red").isChecked(), false, "it can be chosen again");
  let lost = 0;
  await page.route(/\/vote\?/, async (route) => {
    if (route.request().method() !== "POST" || lost++ > 0) return route.fallback();
    await route.fetch();
    await route.abort();
  });
  await page.getByLabel("Red").check();
  await vote();
  await wanted(page, "#message", "Your vote is not counted. The server cannot be reached.");
  assert.deepEqual(await specific(), [2, 0]);
  await vote();
  await wanted(page, "#state", "You have 3 more votes.");
  assert.equal(await page.locator("#message").textContent(), "");
  assert.deepEqual(await specific(), [2, 0]);
  for (const [more, left] of [["Blue", "2"], ["Blue", "one"]]) {
    await page.getByLabel(more).check();
    await vote();
    await wanted(page, "#state", `You have ${left} more vote`);
  }
  assert.deepEqual(await specific(), [2, 2]);
});

test("the page for votes speaks the language of the browser or of its address", async (t) => {
  const { origin } = await lab.serve({ data: "vote-languages" });
  await configure(origin, "lunch", lunch);
  for (const [locale, query, lang, state, button] of [
    ["de-DE", "", "de", "Wähle eine Antwort und stimme ab.", "Abstimmen"], ["es-ES", "", "es", "Elige una opción y vota.", "Votar"],
    ["ja-JP", "", "ja", "1つ選んで投票してください。", "投票する"], ["de-DE", "&lang=en", "en", "Choose one and vote.", "Vote"],
  ]) {
    const page = await open(t, link(origin, "lunch") + query, { ...phone, locale });
    await wanted(page, "#state", state);
    assert.equal(await page.evaluate(() => document.documentElement.lang), lang);
    await page.getByLabel("Tea").check();
    await page.getByRole("button", { name: button, exact: true }).click();
    await wanted(page, "#figures li", "Tea");
    assert.deepEqual(await violations(page), [], lang);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${lang}: 360 px are too narrow`);
    await shot(page, `vote-${lang}`);
  }
});

test("a page of a poll says when it is offline, has ended or is none", async (t) => {
  const { origin } = await lab.serve({ data: "vote-states" });
  const broadcaster = await configure(origin, "lunch", lunch);
  const page = await open(t, link(origin, "lunch"), phone);
  await page.getByLabel("Tea").check();
  await page.context().setOffline(true);
  await wanted(page, "#state", "You are offline.");
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#message", "Your vote is not counted.");
  await shot(page, "vote-offline");
  await page.context().setOffline(false);
  await wanted(page, "#state", "Choose one and vote.");
  assert.equal(await page.getByLabel("Tea").isChecked(), true, "the choice is lost");
  await page.getByRole("button", { name: "Vote" }).click();
  await wanted(page, "#state", "Your vote is counted.");
  assert.equal(await page.locator("#message").textContent(), "");

  await page.getByLabel("Cake").focus();
  await send(origin, broadcaster, "PATCH", "/vote_config", { id: "lunch", config: { endsAt: -1 } });
  await page.evaluate(() => dispatchEvent(new Event("online"))); // looks at once
  await wanted(page, "#state", "This poll has ended. You voted for Tea.");
  await wanted(page, "#figures li", "Tea ★");
  assert.equal(await page.locator("#ballot").isVisible(), false);
  assert.equal(await page.evaluate(() => document.activeElement.id), "title", "the focus is lost");
  await shot(page, "vote-ended");

  const late = await open(t, link(origin, "lunch"), phone);
  await wanted(late, "#state", "This poll is not open for votes.");
  await configure(origin, "public", { ...lunch, publicResults: true, endsAt: Math.floor(Date.now() / 1000) - 1 });
  await late.goto(link(origin, "public"));
  await wanted(late, "#state", "This poll has ended.");
  await late.goto(link(origin, "none"));
  await wanted(late, "#state", "No poll is open at this link.");
  assert.equal(await late.locator("#weak").isVisible(), false, "it speaks of devices without a poll");
  await shot(late, "vote-none");
});

for (const colorScheme of ["light", "dark"]) {
  test(`the page for votes has enough contrast, and nothing that axe finds: ${colorScheme}`, async (t) => {
    const { origin } = await lab.serve({ data: `vote-${colorScheme}` });
    const broadcaster = await configure(origin, "lunch", lunch);
    const page = await open(t, link(origin, "lunch"), { ...phone, colorScheme });
    const clean = async (state) => {
      await shot(page, `vote-${state}-${colorScheme}`);
      assert.deepEqual(await violations(page), [], state);
      assert.deepEqual(await page.evaluate(faintTexts), [], state);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${state}: 360 px are too narrow`);
    };
    await page.getByLabel("Tea").check();
    await clean("open");
    await page.getByRole("button", { name: "Vote" }).click();
    await wanted(page, "#state", "Your vote is counted.");
    await clean("counted");
    await send(origin, broadcaster, "PATCH", "/vote_config", { id: "lunch", config: { endsAt: -1 } });
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await wanted(page, "#state", "This poll has ended.");
    await clean("ended");
    await page.context().setOffline(true);
    await wanted(page, "#state", "You are offline.");
    await clean("offline");
  });
}

test("staff shares the link of a poll that lets devices vote, and its code", async (t) => {
  const { origin } = await lab.serve({ data: "vote-share" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`, { viewport: { width: 1280, height: 1000 } });
  await page.locator("#work").waitFor();
  await page.getByText("Settings of the poll").click();
  const form = page.locator("#new");
  await form.getByLabel("Question").fill("Tea or cake?\nTea\nCake");
  await form.getByLabel("Anyone may vote by a link").check();
  await form.getByRole("button", { name: "Start the poll" }).click();
  await wanted(page, "#devices", "0 devices voted.");
  const shared = await page.getByLabel("Link for viewers").inputValue();
  assert.match(shared, new RegExp(`^${origin}/vote/sample-extension/1/poll-[a-z0-9]+\\?env=sandbox$`));
  await page.waitForFunction(() => document.getElementById("code").naturalWidth > 0);
  await page.locator("#share").scrollIntoViewIfNeeded();
  await shot(page, "staff-share");
  assert.deepEqual(await violations(page), []);

  const viewer = await open(t, shared, phone);
  await viewer.getByLabel("Cake").check();
  await viewer.getByRole("button", { name: "Vote" }).click();
  await wanted(viewer, "#state", "Your vote is counted.");
  await page.locator("#poll-state").filter({ hasText: "active, 1 vote" }).waitFor();
  await wanted(page, "#devices", "1 device voted.");

  await page.getByText("Correct the poll").click();
  await page.locator("#edit").getByLabel("Anyone may vote by a link").uncheck();
  await page.getByRole("button", { name: "Save the correction" }).click();
  await page.locator("#share").waitFor({ state: "hidden" });
  await viewer.evaluate(() => dispatchEvent(new Event("online")));
  await wanted(viewer, "#state", "No poll is open at this link.");
});
