// The staff console in a real browser, with the keyboard and in a small window, and what
// overlays show with a key.

import assert from "node:assert/strict";
import { test } from "node:test";

import { colours, faintGraphics, faintTexts, lab, open, pollTexts, readable, wanted } from "./pages.mjs";
import { productionToken, send, token } from "./program.mjs";

const desk = (width = 1280) => ({ viewport: { width, height: 900 } });
const shot = (page, name) => page.picture(name, { fullPage: true });
const row = (page, list, text) => page.locator(`#${list} li`).filter({ hasText: text });

const consoleAddress = (origin, credential) => `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(credential)}`;

// signedIn opens the console of the sandbox as a broadcaster.
async function signedIn(t, origin, width) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, consoleAddress(origin, broadcaster), desk(width));
  await page.locator("#work").waitFor();
  assert.equal(new URL(page.url()).hash, "", "the token stays in the address");
  return { page, broadcaster };
}

// holder returns what a credential names its holder by.
function holder(credential) {
  const claims = JSON.parse(Buffer.from(credential.split(".")[1], "base64url").toString());
  return `${claims.role} ${claims.user_id || claims.opaque_user_id}`;
}

// answers has viewers answer the question "q", each of them once.
async function answers(origin, texts) {
  for (const [n, key] of texts.entries()) {
    await send(origin, await token(origin, { role: "viewer", user_id: String(5000 + n) }), "POST", "/rank?id=q", { key });
  }
}

const hostile = ["<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "\u202egnp.live", "Z\u0337\u0322\u0321\u0327a\u0336\u0321lgo", "javascript:alert(3)", "\"'><svg onload=alert(4)>", "W".repeat(250), "עברית then English", "\u0000\u001b[2J"];

test("staff moderates answers with the keyboard, as they come", async (t) => {
  const { origin } = await lab.serve({ data: "moderation" });
  const { page, broadcaster } = await signedIn(t, origin);
  await page.locator("#question").getByLabel("Question").fill("q");
  await page.keyboard.press("Enter");
  await page.getByText("What is accepted").click();
  await page.getByLabel("The same answer").selectOption("nfkc");
  await page.getByLabel("New answers wait until they are shown").check();
  await page.getByLabel("Blocked words, one a line").fill("darn\n*heck*");
  const saved = page.waitForResponse((r) => r.request().method() === "POST" && r.url().includes("/rank_config") && r.ok());
  await page.locator("#config button").press("Enter");
  await saved;
  await answers(origin, ["Zelda", "zelda", "Mario", "Maro", "rude", ...hostile]);
  await row(page, "held", "Mario").waitFor(); // without a reload
  await row(page, "held", "lgo").waitFor();
  assert.equal(await page.locator("#held img, #held script, #held svg").count(), 0);
  await shot(page, "staff-queue");

  await page.getByRole("button", { name: "Show: Zelda" }).press("Enter");
  await row(page, "visible", "Zelda").filter({ hasText: "2" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.closest("#held") !== null), true, "the focus is lost");
  await page.getByRole("button", { name: "Hide: rude" }).press("Enter");
  await row(page, "hidden", "rude").filter({ hasText: `hidden by ${holder(broadcaster)}` }).waitFor();
  assert.equal(await page.locator("#held li, #visible li").filter({ hasText: "hidden by" }).count(), 0);
  await page.getByRole("button", { name: "Show: Mario" }).press("Enter");
  await row(page, "visible", "Mario").waitFor();
  await page.getByRole("button", { name: "Merge: Maro" }).press("Enter");
  await page.getByText("Choose the answer that “Maro” counts for.").waitFor();
  await page.getByRole("button", { name: "Into this: Mario" }).press("Enter");
  await row(page, "visible", "Mario").filter({ hasText: "2" }).waitFor();
  assert.equal(await row(page, "held", "Maro").count(), 0);
  await shot(page, "staff-moderated");
});

test("staff misses nothing before it listens, and sees no older answer last", async (t) => {
  const { origin } = await lab.serve({ data: "late" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, "about:blank", desk());
  const held = (pattern) => new Promise((resolve) => {
    let taken = false; // the route stays: taking the last one away may drop requests under way
    page.route(pattern, (route) => { if (taken) return route.fallback(); taken = true; resolve(route); });
  });
  const first = held(/\/events\?/);
  await page.goto(consoleAddress(origin, broadcaster));
  await page.getByText("There are no polls yet.").waitFor();
  await send(origin, broadcaster, "POST", "/vote_config", { id: "early", config: {} });
  await (await first).continue();
  await row(page, "polls", "early").waitFor();

  await answers(origin, ["rude", "crude", "short"]);
  const stream = held(/\/events\?.*rank_update/);
  await page.locator("#question").getByLabel("Question").fill("q");
  await page.getByRole("button", { name: "Open" }).click();
  await row(page, "visible", "short").waitFor();
  await send(origin, broadcaster, "POST", "/rank_moderation?id=q", { action: "hide", key: "rude" });
  await (await stream).continue();
  await row(page, "hidden", "rude").waitFor();

  const reads = [];
  page.on("request", (r) => { if (/\/rank\?.*state=hidden/.test(r.url())) reads.push(r.url()); });
  const read = held(/\/rank\?.*state=hidden/);
  await page.getByRole("button", { name: "Hide: short" }).click();
  const older = await read, answer = await older.fetch();
  const decided = page.waitForResponse(/\/rank_moderation\?/);
  await page.getByRole("button", { name: "Hide: crude" }).click();
  await (await decided).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert.equal(reads.length, 1, "two reads side by side, and the older may end last");
  await older.fulfill({ response: answer });
  await row(page, "hidden", "crude").waitFor();
});

test("staff lists polls, hides and shows results, and reads the history", async (t) => {
  const { origin } = await lab.serve({ data: "polls" });
  const { page, broadcaster } = await signedIn(t, origin);
  await page.getByText("There are no polls yet.").waitFor();
  for (const [name, prompt] of [["lunch", "Lunch?"], ["tea", "Tea or coffee?"]]) {
    await send(origin, broadcaster, "POST", "/vote_config", { id: name, config: { prompt, options: ["Tea", "<b>Coffee</b>"] } });
  }
  await row(page, "polls", "Lunch?").waitFor(); // announced
  const histories = [];
  page.on("request", (r) => { if (r.url().includes("/vote_history")) histories.push(r.url()); });
  await page.getByRole("button", { name: "Tea or coffee?: poll tea" }).press("Enter");
  await page.getByRole("heading", { name: "Tea or coffee?" }).waitFor();
  const vote = async (n, value) => send(origin, await token(origin, { role: "viewer", user_id: String(6000 + n) }), "POST", "/vote?id=tea", { value });
  for (const [n, value] of [0, 1, 1].entries()) await vote(n, value);
  await page.locator("#poll-state").filter({ hasText: "active, 3 votes" }).waitFor();
  await page.getByRole("row", { name: "<b>Coffee</b> 2" }).waitFor();
  await page.getByRole("img", { name: /<b>Coffee<\/b> 2, Tea 1$/ }).waitFor(); // the chart goes on by itself
  assert.equal(histories.length, 1, "requests for the history");

  await page.getByLabel("Viewers see the results").selectOption("afterClose");
  await page.locator("#visibility button[type=submit]").press("Enter");
  await page.locator("#poll-state").filter({ hasText: "results hidden from viewers" }).waitFor();
  await row(page, "polls", "Tea or coffee?").filter({ hasText: "results hidden" }).waitFor();
  const seen = await send(origin, await token(origin, { role: "viewer" }), "GET", "/vote?id=tea");
  assert.deepEqual([seen.hidden, seen.count], [true, 0]);
  await page.getByRole("button", { name: "Read the history again" }).press("Enter");
  await page.getByRole("img", { name: /<b>Coffee<\/b> 2, Tea 1$/ }).waitFor();
  assert.equal(await page.locator("#chart polyline").count(), 2);
  await shot(page, "staff-poll");
  await page.getByRole("button", { name: "End the poll now" }).press("Enter");
  await page.locator("#poll-state").filter({ hasText: "expired, 3 votes" }).waitFor();
  await page.locator("#status").selectOption("expired");
  await page.waitForFunction(() => document.querySelectorAll("#polls li").length === 1);
});

test("staff of production makes a key, watches with it and revokes it", async (t) => {
  const { origin } = await lab.serve({ data: "keys" });
  const page = await open(t, origin + "/live/staff.html", desk());
  await page.getByLabel("Staff key, or client id").fill(await productionToken(lab, "viewer"));
  await page.getByRole("button", { name: "Sign in" }).press("Enter");
  await page.getByRole("alert").filter({ hasText: "The JWT role is not allowed" }).waitFor();
  await page.getByLabel("Staff key, or client id").fill(await productionToken(lab, "broadcaster"));
  await page.getByRole("button", { name: "Sign in" }).press("Enter");
  await row(page, "keys", "There are none.").waitFor();
  await page.locator("#key").getByLabel("Name").fill("stream PC");
  await page.getByLabel("It shows").selectOption("poll");
  await page.locator("#key").getByLabel("Poll or question").fill("lunch");
  await page.keyboard.press("Enter");
  await row(page, "keys", "stream PC").filter({ hasText: "lunch" }).waitFor();
  const address = await page.getByLabel("Address for your broadcast software").inputValue();
  const overlay = await open(t, address);
  await overlay.mouse.move(10, 10); // a person looks: there is no such poll yet
  await overlay.locator("#hint").filter({ hasText: "There is no poll “lunch”" }).waitFor();
  await shot(page, "staff-keys");
  await page.getByRole("button", { name: "Revoke: stream PC" }).press("Enter");
  await row(page, "keys", "There are none.").waitFor();
  await overlay.locator("#hint").filter({ hasText: /Reconnecting|ended/ }).waitFor();
});

test("staff works with a process of an earlier version, which has no GET /staff", async (t) => {
  const { origin } = await lab.serve({ data: "earlier" });
  const page = await open(t, origin + "/live/staff.html", desk());
  await page.route("**/v1/staff", (route) => route.fulfill({ status: 404, json: { reason: "Not found" } }));
  await page.getByLabel("Staff key, or client id").fill(await productionToken(lab, "broadcaster"));
  await page.getByRole("button", { name: "Sign in" }).press("Enter");
  await row(page, "keys", "There are none.").waitFor();
  await page.evaluate(() => dispatchEvent(new Event("online"))); // has the page ask whether it is still signed in
  await page.locator("#work:not([inert])").waitFor();
  await page.locator("#connection").filter({ hasText: /^$/ }).waitFor({ state: "attached" });
});

test("a moderator signs in with a staff key, works within its scopes, and is out once it is revoked", async (t) => {
  const { origin } = await lab.serve({ data: "moderators" });
  const { page } = await signedIn(t, origin);
  const form = page.locator("#moderator");
  await form.getByLabel("Name").fill("Ada");
  await form.getByLabel("Polls:").uncheck();
  await form.getByLabel("Answers:").uncheck();
  await form.getByRole("button").press("Enter");
  await page.getByRole("alert").filter({ hasText: "scopes must be polls, answers or both" }).waitFor();
  await form.getByLabel("Polls:").check();
  await form.getByRole("button").press("Enter");
  await row(page, "moderators", "Ada").filter({ hasText: "polls, until" }).waitFor();
  await shot(page, "staff-moderators");

  const moderator = await open(t, await page.getByLabel("Link with which the moderator signs in").inputValue(), desk());
  await moderator.locator("#work").waitFor();
  assert.equal(new URL(moderator.url()).hash, "", "the key stays in the address");
  for (const [section, shown] of [["polls-title", true], ["answers-title", false], ["keys-title", false], ["moderators-title", false], ["games-title", false]]) {
    assert.equal(await moderator.locator(`#${section}`).isVisible(), shown, section);
  }
  await moderator.locator("#new").getByLabel("Question").fill("By a moderator?\nyes\nno");
  await moderator.locator("#new").getByRole("button").press("Enter");
  await row(page, "polls", "By a moderator?").waitFor();
  await shot(moderator, "staff-as-moderator");

  await page.getByRole("button", { name: "Revoke: Ada" }).press("Enter");
  await moderator.locator("#connection").filter({ hasText: "Signed out." }).waitFor(); // without a click
  assert.equal(await moderator.locator("#signin").isVisible(), true);
});

test("a staff console fits in a small window, with enough contrast", async (t) => {
  const { origin } = await lab.serve({ data: "small" });
  for (const scheme of ["light", "dark"]) {
    const { page, broadcaster } = await signedIn(t, origin, 360);
    await page.emulateMedia({ colorScheme: scheme });
    await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { prompt: "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente?", options: [..."ABCDEF"] } });
    await page.getByRole("button", { name: /poll p$/ }).click();
    await page.locator("#legend .key").nth(5).waitFor();
    assert.equal(await page.locator("#chart polyline").count(), 6);
    assert.deepEqual(await page.evaluate(faintGraphics), [], scheme);
    await page.locator("#question").getByLabel("Question").fill("q");
    await page.getByRole("button", { name: "Open" }).click();
    await answers(origin, ["W".repeat(200), "short", "rude"]);
    await row(page, "visible", "short").waitFor();
    await send(origin, broadcaster, "POST", "/rank_moderation?id=q", { action: "hide", key: "rude" });
    await row(page, "hidden", "rude").filter({ hasText: "hidden by broadcaster" }).waitFor();
    await page.getByText("What is accepted").click();
    await shot(page, `staff-360-${scheme}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "360 px are too narrow");
    assert.deepEqual(await page.evaluate(faintTexts), [], scheme);
    await page.close();
  }
});

test("an overlay shows answers as a cloud of words, and no others, whatever they are", async (t) => {
  const { origin } = await lab.serve({ data: "cloud" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  await send(origin, broadcaster, "POST", "/rank_config?id=q", { normalization: "nfkc" });
  await send(origin, broadcaster, "POST", "/rank_moderation?id=q", { action: "hide", key: "rude" });
  const { credential } = await send(origin, broadcaster, "POST", "/overlay_keys", { questions: ["q"] });
  const address = `${origin}/live/?${new URLSearchParams({ env: "sandbox", question: "q", title: "One word?" })}#access_token=${encodeURIComponent(credential)}`;
  const pages = [];
  for (const [name, width, height] of [["small", 320, 180], ["usual", 900, 420], ["tall", 360, 800]]) {
    const page = await open(t, address);
    await page.setViewportSize({ width, height });
    await page.locator("#total").filter({ hasText: "0 answers" }).waitFor();
    pages.push([name, page]);
  }
  await pages[1][1].picture("cloud-none");
  assert.ok((await pages[1][1].locator("main.poll").boundingBox()).height < 200, "a plate without answers is as tall as one with them");
  const untitled = new URL(address);
  untitled.searchParams.delete("title");
  const empty = await open(t, String(untitled));
  await empty.mouse.move(10, 10); // a person looks
  await wanted(empty, "#hint", "No answers yet.");
  assert.equal(await empty.locator("main.poll").isVisible(), false, "an empty plate");
  const requests = [];
  pages[0][1].on("request", (r) => requests.push(r.url()));
  const words = ["Zelda", "Zelda", "zelda", "Mario", "mario", "Tetris", "rude", ...hostile];
  await answers(origin, words);
  for (const [name, page] of pages) {
    await page.locator("#total").filter({ hasText: `${words.length - 1} answers` }).waitFor();
    await page.picture(`cloud-${name}`);
    assert.equal(await page.locator("#cloud li[data-leads=true]").textContent(), "Zelda");
    assert.equal(await page.locator("#cloud img, #cloud script, #cloud svg, #cloud a").count(), 0);
    assert.equal(await page.locator("#cloud li").filter({ hasText: "rude" }).count(), 0);
    assert.deepEqual(await page.evaluate(outside), [], name);
  }
  await wanted(empty, "#cloud li", "Zelda");
  assert.equal(await empty.locator("#hint").isVisible(), false);
  assert.deepEqual(requests, [], "requests while it shows answers");
  for (const { theme, accent } of colours) {
    const themed = new URL(address);
    themed.search += `&${new URLSearchParams({ theme, accent })}`;
    const page = await open(t, String(themed));
    await wanted(page, "#cloud li", "Tetris");
    await readable(page, {
      "h1#title": [], "#total": [], "#cloud li[data-leads=false]": [], "#cloud li[data-leads=true]": ["#cloud li[data-leads=true]"],
    }, `${theme} ${accent}`);
    await page.close();
  }
});

// outside runs in the page: the words that are not in sight.
function outside() {
  const cloud = document.getElementById("cloud").getBoundingClientRect();
  return [...document.querySelectorAll("#cloud li")].filter((word) => {
    const box = word.getBoundingClientRect();
    return box.left < cloud.left - 1 || box.right > cloud.right + 1 || box.top < cloud.top - 1 || box.bottom > cloud.bottom + 1 || box.bottom > innerHeight;
  }).map((word) => word.textContent);
}

test("an overlay replays a poll, and then follows it", async (t) => {
  const { origin } = await lab.serve({ data: "replay" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const vote = async (n) => send(origin, await token(origin, { role: "viewer", user_id: String(7000 + n) }), "POST", "/vote?id=p", { value: 1 });
  await vote(0); // before the configuration, so that the first point has a vote
  await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { prompt: "Tea or coffee?", options: ["Tea", "Coffee"] } });
  await new Promise((done) => setTimeout(done, 1100)); // a history has a point each second
  await vote(1);
  const { credential } = await send(origin, broadcaster, "POST", "/overlay_keys", { polls: ["p"] });
  const page = await open(t, `${origin}/live/?env=sandbox&poll=p&replay=4#access_token=${encodeURIComponent(credential)}`);
  await page.locator("#countdown").filter({ hasText: "Replay" }).waitFor();
  await page.locator("#total").filter({ hasText: "1 vote" }).waitFor();
  await page.picture("overlay-replay");
  for (const { theme, accent } of colours) {
    const themed = await open(t, `${origin}/live/?${new URLSearchParams({ env: "sandbox", poll: "p", replay: 600, theme, accent })}#access_token=${encodeURIComponent(credential)}`);
    await wanted(themed, "#countdown", "Replay");
    await wanted(themed, "[data-leads=true] .figure", "100%");
    await themed.evaluate(() => { // it looks different in a poll's last seconds
      const soon = document.getElementById("countdown").cloneNode(true);
      [soon.id, soon.dataset.soon] = ["soon", true];
      document.getElementById("countdown").after(soon);
    });
    await readable(themed, { ...pollTexts, "#countdown": [], "#soon": [] }, `replay ${theme} ${accent}`);
    await themed.close();
  }
  await page.waitForFunction(() => !document.getElementById("countdown").textContent.includes("Replay"));
  await page.locator("#total").filter({ hasText: "2 votes" }).waitFor();
  await vote(2);
  await page.locator("#total").filter({ hasText: "3 votes" }).waitFor();
});
