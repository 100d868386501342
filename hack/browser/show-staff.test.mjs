// The staff page as the tool for a live show: polls are made, corrected, opened and closed there,
// and what it shows is live or says that it is not.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { faintTexts, keep, lab, open } from "./pages.mjs";
import { kill, productionToken, send, token } from "./program.mjs";

const desk = (width = 1280) => ({ viewport: { width, height: 1000 } });
const address = (origin, credential, env) => `${origin}/live/staff.html?env=${env}#access_token=${encodeURIComponent(credential)}`;

async function signedIn(t, origin, width) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, address(origin, broadcaster, "sandbox"), desk(width));
  await page.locator("#work").waitFor();
  return { page, broadcaster };
}

// start starts a poll from the form.
async function start(page, prompt, options) {
  await page.locator("#new").getByLabel("Question").fill([prompt, ...options].join("\n"));
  await page.getByRole("button", { name: "Start the poll" }).click();
  await page.getByRole("heading", { name: prompt }).waitFor();
}

async function vote(origin, poll, n, value) {
  await send(origin, await token(origin, { role: "viewer", user_id: String(7000 + n) }), "POST", `/vote?id=${poll}`, { value });
}

test("staff makes a poll, corrects it while viewers vote, and closes it", async (t) => {
  const { origin } = await lab.serve({ data: "show" });
  const { page, broadcaster } = await signedIn(t, origin);
  assert.equal(await page.evaluate(() => document.activeElement.id), "polls-title", "the focus after sign-in");
  await start(page, "What shuld we play?", ["Zelda", "Mario", "Tetris"]);
  const id = (await send(origin, broadcaster, "GET", "/polls")).polls[0].id;
  for (const [n, value] of [0, 0, 1].entries()) await vote(origin, id, n, value);
  await page.locator("#poll-state").filter({ hasText: "active, 3 votes" }).waitFor();
  await page.getByRole("row", { name: "Zelda 2 67 %" }).waitFor();

  await page.getByText("Correct the poll").click();
  await page.locator("#edit").getByLabel("Question").fill("What should we play?");
  await page.getByRole("button", { name: "Save the correction" }).click();
  await page.getByRole("heading", { name: "What should we play?" }).waitFor();
  await page.locator("#done").filter({ hasText: "Saved" }).waitFor();
  await page.locator("#poll-state").filter({ hasText: "active, 3 votes" }).waitFor();
  await page.picture("staff-show", { fullPage: true });

  await page.getByRole("button", { name: "End the poll now" }).click();
  await page.locator("#outcome").filter({ hasText: "Winner: Zelda" }).waitFor();
  await page.getByRole("button", { name: "Reopen" }).click();
  await page.locator("#poll-state").filter({ hasText: "active, 3 votes" }).waitFor();
  await vote(origin, id, 9, 1);
  await page.getByRole("button", { name: "End the poll now" }).click();
  await page.locator("#outcome").filter({ hasText: "Tie: Zelda and Mario" }).waitFor();

  await page.getByText("Settings of the poll").click(); // the last one again
  await page.getByLabel("Begin with").selectOption({ label: "What should we play?" });
  assert.equal(await page.locator("#new").getByLabel("Question").inputValue(), "What should we play?\nZelda\nMario\nTetris");
  await page.locator("#new").getByLabel("Minutes").fill("2");
  await page.getByRole("button", { name: "Start the poll" }).click();
  await page.locator("#poll-state").filter({ hasText: "active, 0 votes" }).waitFor();
  assert.equal(await page.locator("#polls li").first().locator("[aria-pressed=true]").count(), 1, "the newest active poll is first");
  await page.locator("#poll-state").filter({ hasText: /, ends at \w+ \d+, \d+, \d+:\d+/ }).waitFor();
  const before = (await send(origin, broadcaster, "GET", "/polls?status=active")).polls[0];
  await page.getByRole("button", { name: "One minute more" }).click();
  await page.locator("#done").filter({ hasText: "Saved" }).waitFor();
  assert.equal((await send(origin, broadcaster, "GET", `/poll?id=${before.id}`)).endsAt, before.endsAt + 60);
  await page.getByRole("button", { name: "Hide the results" }).click();
  await page.locator("#poll-state").filter({ hasText: "results hidden from viewers" }).waitFor();
  await page.getByRole("button", { name: "Reveal the results" }).click();
  await page.locator("#poll-state").filter({ hasNotText: "hidden" }).waitFor();
});

test("staff clears votes and deletes a poll, and can take both back", async (t) => {
  const { origin } = await lab.serve({ data: "undo" });
  const { page, broadcaster } = await signedIn(t, origin);
  await start(page, "Tea?", ["Yes", "No"]);
  const id = (await send(origin, broadcaster, "GET", "/polls")).polls[0].id;
  await vote(origin, id, 1, 1);
  await page.locator("#poll-state").filter({ hasText: "1 vote" }).waitFor();
  const deletes = [];
  page.on("request", (r) => { if (r.method() === "DELETE" || /clearVotes/.test(r.postData())) deletes.push(r.url()); });
  await page.clock.install();
  await page.getByRole("button", { name: "Clear the votes" }).click();
  await page.getByText("Clearing the votes of “Tea?” in 8 s.").waitFor();
  await page.getByRole("button", { name: "Take back" }).click();
  await page.clock.runFor(20_000);
  assert.deepEqual(deletes, [], "requests after taking back");
  await page.getByRole("button", { name: "Clear the votes" }).click();
  await page.clock.runFor(7_000);
  assert.deepEqual(deletes, [], "requests before the wait is over");
  assert.equal(await page.getByRole("button", { name: "Delete the poll" }).isDisabled(), true, "two waits at once");
  await send(origin, broadcaster, "PATCH", "/vote_config", { id, config: { options: ["Yes", "No", "Never"] }, keepVotes: true });
  await page.clock.runFor(1_500);
  await page.clock.resume();
  await page.locator("#poll-state").filter({ hasText: "active, 0 votes" }).waitFor();
  const kept = await send(origin, broadcaster, "GET", `/poll?id=${id}`);
  assert.deepEqual(kept.options, ["Yes", "No", "Never"], "a change during the wait is lost");
  assert.equal(deletes.length, 1, "clearing is one request");

  await page.clock.install();
  await page.getByRole("button", { name: "Delete the poll" }).click();
  await page.clock.runFor(8_500);
  await page.clock.resume();
  await page.getByText("There are no polls yet.").waitFor();
});

test("a change by other staff leaves what is not saved yet", async (t) => {
  const { origin } = await lab.serve({ data: "both" });
  const { page, broadcaster } = await signedIn(t, origin);
  await start(page, "Tea?", ["Yes", "No"]);
  const id = (await send(origin, broadcaster, "GET", "/polls")).polls[0].id;
  await page.getByLabel("Viewers see the results").selectOption("staff");
  await page.getByText("Correct the poll").click();
  await page.locator("#edit").getByLabel("Question").fill("Tea or coffee?");
  await send(origin, broadcaster, "PATCH", "/vote_config", { id, config: { options: ["Yes", "No", "Never"] }, keepVotes: true });
  await page.locator("#changed").filter({ hasText: "Changed elsewhere" }).filter({ hasText: "options" }).waitFor();
  assert.equal(await page.getByLabel("Viewers see the results").inputValue(), "staff");
  assert.equal(await page.locator("#edit").getByLabel("Question").inputValue(), "Tea or coffee?");
  assert.equal(await page.locator("#edit").getByLabel("Options, one a line").inputValue(), "Yes\nNo\nNever");
  await page.getByRole("button", { name: "Save the correction" }).click();
  await page.getByRole("heading", { name: "Tea or coffee?" }).waitFor();
  const now = await send(origin, broadcaster, "GET", `/poll?id=${id}`);
  assert.deepEqual([now.options.length, now.prompt, now.resultsVisibility], [3, "Tea or coffee?", "always"]);
});

test("the staff page says when what it shows is old, and signs out with the reason", async (t) => {
  const server = await lab.serve({ data: "stale" });
  const { page } = await signedIn(t, server.origin);
  await start(page, "Tea?", ["Yes", "No"]);
  await kill(server);
  await page.locator("#connection").filter({ hasText: "The connection is lost. Reconnecting… What you see is from" }).waitFor();
  await page.picture("staff-lost", { fullPage: true });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual((await page.evaluate(faintTexts)).filter((text) => text.includes("connection")), [], colorScheme);
  }
  await lab.serve({ data: "stale", port: new URL(server.origin).port });
  await page.waitForFunction(() => document.getElementById("connection").textContent === "");

  await page.route(/\/v1\//, (route) => route.fulfill({ status: 401, json: { reason: "The credential is missing, malformed, expired or not valid here" } }));
  await kill(lab.running.at(-1)); // each later request and stream is refused
  await lab.serve({ data: "stale", port: new URL(server.origin).port });
  await page.locator("#connection").filter({ hasText: /^Signed out\. The credential is missing.* here\. What you see/ }).waitFor();
  await page.locator("#signin").waitFor();
  assert.equal(await page.evaluate(() => document.getElementById("work").inert), true);
  assert.equal(await page.getByRole("button", { name: "Sign out", includeHidden: true }).isVisible(), false, "a person who is out can sign out");
  await page.picture("staff-out", { fullPage: true });
  await page.unroute(/\/v1\//);
  await page.getByLabel("Environment").selectOption("sandbox");
  await page.getByLabel("Client id and token of a broadcaster").fill(await token(server.origin, { role: "broadcaster" }));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForFunction(() => document.getElementById("connection").textContent === "" && !document.getElementById("work").inert);
  await page.getByRole("heading", { name: "Tea?" }).waitFor(); // as it was

  await page.clock.install();
  await page.getByRole("button", { name: "Delete the poll" }).click();
  await page.getByText("Deleting “Tea?” in 8 s.").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Environment").selectOption("sandbox");
  await page.getByLabel("Client id and token of a broadcaster").fill(await token(server.origin, { role: "broadcaster", channel_id: "2" }));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Choose a poll" }).waitFor(); // of the other channel nothing is left
  const deletes = [];
  page.on("request", (r) => { if (r.method() === "DELETE") deletes.push(r.url()); });
  await page.clock.runFor(20_000);
  assert.deepEqual(deletes, [], "a wait outlives its sign-in");
});

test("staff makes one address for a whole show", async (t) => {
  const { origin } = await lab.serve({ data: "address" });
  const { page } = await signedIn(t, origin);
  await page.locator("#key").getByLabel("Name").fill("stream PC");
  assert.equal(await page.getByLabel("Poll or question").isVisible(), false);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("#made").waitFor();
  const overlay = await open(t, await page.getByLabel("Address for your broadcast software").inputValue());
  for (const prompt of ["Tea?", "Coffee?"]) {
    await start(page, prompt, ["Yes", "No"]);
    await overlay.getByRole("heading", { name: prompt }).waitFor();
  }
});

test("signing in says what is wrong with a credential", async (t) => {
  const { origin } = await lab.serve({ data: "words" });
  const page = await open(t, origin + "/live/staff.html", desk());
  const good = await productionToken(lab, "broadcaster"), [client, jwt] = good.split(" ");
  const ended = [jwt.split(".")[0], Buffer.from(JSON.stringify({ exp: 1, role: "broadcaster" })).toString("base64url"), jwt.split(".")[2]].join(".");
  for (const [credential, reason] of [
    [jwt, "A client id and a token are needed"], [`Bearer ${jwt}`, "in the place of “Bearer”"], [`${client} nonsense`, "The second word is no token"],
    [`${client} ${ended}`, "This token has ended"], [good.slice(0, -4) + "AAAA", "not valid here"], [await productionToken(lab, "viewer"), "The JWT role is not allowed"],
  ]) {
    await page.getByLabel("Client id and token of a broadcaster").fill(credential);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: reason }).waitFor();
  }
});

test("staff saves the results as a table and as a picture while viewers vote", async (t) => {
  const { origin } = await lab.serve({ data: "files" });
  const { page, broadcaster } = await signedIn(t, origin);
  await start(page, "Which one?", ['Red, "the" colour', "=1+1", "Blau und ein sehr langer Name, für den in der Zeile neben den Stimmen kein Platz ist, 🎈"]);
  const id = (await send(origin, broadcaster, "GET", "/polls")).polls[0].id;
  for (const [n, value] of [0, 0, 1].entries()) await vote(origin, id, n, value);
  await page.locator("#poll-state").filter({ hasText: "active, 3 votes" }).waitFor();

  const table = await saved(page, "Save as CSV");
  assert.equal(table.name, `${id}.csv`);
  assert.equal(table.content.toString(), "\uFEFFOption,Votes,Share\r\n\"Red, \"\"the\"\" colour\",2,67 %\r\n'=1+1,1,33 %\r\n" +
    "\"Blau und ein sehr langer Name, für den in der Zeile neben den Stimmen kein Platz ist, 🎈\",0,0 %\r\n");
  const { name, content } = await saved(page, "Save as PNG");
  assert.equal(name, `${id}.png`);
  assert.deepEqual([content.subarray(1, 4).toString(), content.readUInt32BE(16), content.readUInt32BE(20)], ["PNG", 1200, 550]);
  await keep("staff-results", content);
});

// saved presses a button, and returns the file that it saves.
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
  return { name: download.suggestedFilename(), content: await readFile(await download.path()) };
}

test("staff starts a poll whose votes viewers can check", async (t) => {
  const { origin } = await lab.serve({ data: "show-verifiable" });
  const broadcaster = await productionToken(lab, "broadcaster");
  const page = await open(t, address(origin, broadcaster, "production"), desk());
  await page.locator("#work").waitFor();
  await page.getByText("Settings of the poll").click();
  await page.getByLabel("Viewers can check their votes").check();
  await page.locator("#new").getByLabel("Results for viewers").selectOption("once the poll has closed");
  await start(page, "Tea?", ["Yes", "No"]);
  const [poll] = (await (await fetch(`${origin}/v1/polls`, { headers: { Authorization: broadcaster } })).json()).polls;
  assert.deepEqual([poll.verifiable, poll.showCount], [true, true]);
});

test("staff says what a poll promises of its list of votes", async (t) => {
  const { origin } = await lab.serve({ data: "show-promises" });
  const broadcaster = await productionToken(lab, "broadcaster");
  const page = await open(t, address(origin, broadcaster, "production"), desk(390)), form = page.locator("#new");
  await page.locator("#work").waitFor();
  const newest = async () => {
    const [poll] = (await (await fetch(`${origin}/v1/polls`, { headers: { Authorization: broadcaster } })).json()).polls.sort((a, b) => b.version - a.version);
    return { prompt: poll.prompt, ...Object.fromEntries(promises.map((name) => [name, poll[name]])) };
  };
  const promises = ["verifiable", "entries", "minVoters", "keepDays", "noReceipts"], none = Object.fromEntries(promises.map((name) => [name, undefined]));
  await page.getByText("Settings of the poll").click();
  const box = form.getByLabel("Viewers can check their votes"), folded = page.getByText("The list of votes, and receipts");
  assert.equal(await folded.isVisible(), false, "promises of a list that there is not");
  await box.check();
  assert.equal(await form.getByLabel("With at least so many voters").isVisible(), false, "the settings are not folded away");
  await folded.click();
  await form.getByLabel("Everyone can read the list").selectOption("from the start");
  await form.getByLabel("With at least so many voters").fill("5");
  await form.getByLabel("Days for which the list stays").fill("366");
  await form.getByLabel("No receipts").check();
  await page.picture("staff-promises", { fullPage: true });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await page.evaluate(faintTexts), [], colorScheme);
  }
  await form.getByLabel("Question").fill("Tea?\nYes\nNo");
  const begin = page.getByRole("button", { name: "Start the poll" }), refused = (reason) => page.locator("#message").filter({ hasText: reason }).waitFor();
  await begin.click();
  await refused("keepDays must be between 1 and 365");
  await form.getByLabel("Days for which the list stays").fill("90");
  await form.getByLabel("Results for viewers").selectOption("once the poll has closed");
  await begin.click();
  await refused("entries must not be live in a poll that hides its results");
  await form.getByLabel("Results for viewers").selectOption("always");
  await start(page, "Tea?", ["Yes", "No"]);
  const made = { prompt: "Tea?", verifiable: true, entries: "live", minVoters: 5, keepDays: 90, noReceipts: true };
  assert.deepEqual(await newest(), made);
  assert.equal(await folded.isVisible(), false, "the next poll has no list");
  await start(page, "Coffee?", ["Yes", "No"]);
  assert.deepEqual(await newest(), { prompt: "Coffee?", ...none });

  await page.getByLabel("Begin with").selectOption({ label: "Tea?" });
  await start(page, "Again?", ["Yes", "No"]);
  assert.deepEqual(await newest(), { ...made, prompt: "Again?" });
  await page.getByLabel("Begin with").selectOption({ label: "Tea?" });
  await form.getByLabel("With at least so many voters").fill("-1"); // which counts in a list alone
  await box.uncheck();
  await start(page, "Water?", ["Yes", "No"]);
  assert.deepEqual(await newest(), { prompt: "Water?", ...none });
});
