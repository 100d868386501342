// The first poll of a live show, from the sign-in on, and the next one: one field, and few keys besides its text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { faintTexts, lab, open, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";
import { violations } from "./rig.mjs";

async function signedIn(t, data) {
  const { origin } = await lab.serve({ data });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`, { viewport: { width: 1280, height: 1000 } });
  await page.locator("#work").waitFor();
  const polls = async () => (await send(origin, broadcaster, "GET", "/polls")).polls.map((poll) => [poll.prompt, poll.options]);
  return { origin, broadcaster, page, polls, field: page.locator("#new").getByLabel("Question") };
}

// seconds estimates how long a person takes, as the table in services/docs/internals/capacity.md does: a thought before
// each action, and a key. An action with the mouse takes as long again.
const seconds = (actions, keys) => 1.35 * actions + 0.28 * keys;
const mouse = 1.3;

test("the first poll is on the overlay after a minute of a person's hands, from the sign-in on", async (t) => {
  const { origin } = await lab.serve({ data: "first" }), credential = await token(origin, { role: "broadcaster" });
  const page = await open(t, `${origin}/live/staff.html`, { viewport: { width: 1280, height: 1000 } }), overlay = await open(t, "about:blank");
  await page.locator("#signin").waitFor();
  let actions = 0;
  const act = async (action) => { actions++; await action; }, begun = performance.now();
  await act(page.getByLabel("Environment").selectOption("sandbox"));
  await act(page.getByLabel("Staff key, or client id and token").fill(credential)); // from the clipboard
  await act(page.getByRole("button", { name: "Sign in" }).click());
  await page.locator("#work").waitFor();
  const signedIn = performance.now();
  await act(page.getByRole("button", { name: "Make a key" }).click());
  await act(page.locator("#copy").click());
  await act(overlay.goto(await page.getByLabel("Address for your broadcast software").inputValue()));
  await wanted(overlay, "body", "No poll is live.");
  const shown = performance.now(), text = "What should we play?\nZelda\nMario\nTetris\n\n";
  await act(page.locator("#new").getByLabel("Question").click());
  await page.keyboard.type(text);
  await wanted(overlay, "h1", "What should we play?");
  const ended = performance.now(), hands = seconds(actions, text.length) + mouse * actions, took = (from, to) => `${((to - from) / 1000).toFixed(1)} s`;
  t.diagnostic(`${actions} actions and ${text.length} keys: ${hands.toFixed(1)} s of hands. The pages: ${took(begun, ended)}, the sign-in ${took(begun, signedIn)}, the key ${took(signedIn, shown)}`);
  assert.ok(hands <= 40, `${hands} s`); // the pages have the rest
});

test("the next poll is on the overlay after 10 seconds of a person's hands, and each one after it sooner", async (t) => {
  const { origin, broadcaster, page } = await signedIn(t, "next");
  const { credential } = await send(origin, broadcaster, "POST", "/overlay_keys", {});
  const overlay = await open(t, `${origin}/live/?env=sandbox&poll=*#access_token=${encodeURIComponent(credential)}`);
  await page.evaluate(() => {
    window.done = [];
    for (const kind of ["keydown", "mousedown"]) addEventListener(kind, (e) => done.push(e.key ?? kind), true);
  });
  const took = async (prompt, options, actions, begin) => {
    await page.evaluate(() => { done.length = 0; });
    await begin();
    await page.keyboard.type([prompt, ...options].join("\n") + "\n\n");
    await wanted(overlay, "h1", prompt);
    await page.locator("#done").filter({ hasText: "The poll is open." }).waitFor();
    const keys = await page.evaluate(() => done);
    assert.equal(keys.filter((key) => key === "mousedown").length, 0);
    return seconds(actions, keys.length);
  };
  const devices = await page.context().newCDPSession(page), alt = 1; // Playwright's own keys open no access key
  const first = await took("Which planet?", ["Mars", "Jupiter"], 1, async () => {
    await devices.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Alt", code: "AltLeft", windowsVirtualKeyCode: 18, modifiers: alt });
    for (const type of ["keyDown", "keyUp"]) await devices.send("Input.dispatchKeyEvent", { type, key: "n", code: "KeyN", windowsVirtualKeyCode: 78, unmodifiedText: "n", modifiers: alt });
    await devices.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Alt", code: "AltLeft", windowsVirtualKeyCode: 18 });
    await page.waitForFunction(() => document.activeElement.name === "text");
  });
  const later = await took("Which boss?", ["Dragon", "Wizard"], 1, () => {}); // the field has the focus
  t.diagnostic(`typed: ${first.toFixed(1)} s, with the focus in the field: ${later.toFixed(1)} s`);
  assert.ok(first <= 10 && later < first, `${first} s and ${later} s`);
  await page.picture("staff-next", { fullPage: true });
  assert.deepEqual(await violations(page), []);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await page.evaluate(faintTexts), [], colorScheme);
  }
});

test("keys start a poll that is whole, and no other", async (t) => {
  const { page, polls, field } = await signedIn(t, "keys-start");
  for (const [keys, text] of [
    [["Enter", "Enter"], "Tea?\n\n"], [["Shift+Enter", "Shift+Enter"], "Tea?\nYes\nNo\n\n"], [["Enter"], "Tea?\nYes\nNo\n"],
    [["ArrowUp", "Enter"], "Tea?\n\nYes\nNo"],
  ]) {
    await field.fill(keys[0] === "ArrowUp" ? "Tea?\nYes\nNo" : text.trimEnd());
    await field.press("ControlOrMeta+End");
    for (const key of keys) await field.press(key === "ArrowUp" ? "ControlOrMeta+Home" : key);
    if (keys[0] === "ArrowUp") assert.equal(await field.inputValue(), "\nTea?\nYes\nNo");
    else assert.equal(await field.inputValue(), text);
  }
  await field.press("ControlOrMeta+Enter");
  await wanted(page, "#message", "The first line is the question, and it is empty.");
  assert.deepEqual(await polls(), []);

  await field.fill("Next?\tForest\tDesert, the hot one\t\n"); // a row of a spreadsheet
  await field.press("ControlOrMeta+Enter");
  await wanted(page, "#done", "The poll is open.");
  assert.deepEqual(await polls(), [["Next?", ["Forest", "Desert, the hot one"]]]);
  assert.equal(await field.inputValue(), "");
});

test("a second key while a poll starts starts no other, and what is typed meanwhile stays", async (t) => {
  const { page, polls, field } = await signedIn(t, "slow-start");
  let answer;
  const held = new Promise((resolve) => { answer = resolve; });
  await page.route("**/vote_config", async (route) => { await held; await route.continue(); });
  await field.fill("Tea?\nYes\nNo");
  await field.press("ControlOrMeta+Enter");
  await field.press("ControlOrMeta+Enter");
  await page.keyboard.type("\nNext?");
  answer();
  await wanted(page, "#done", "The poll is open.");
  assert.equal((await polls()).length, 1);
  assert.equal(await field.inputValue(), "Tea?\nYes\nNo\nNext?");

  await page.getByText("Settings of the poll").click();
  await page.getByLabel("Choices of a viewer").first().fill("");
  await page.getByText("Settings of the poll").click();
  await page.getByRole("button", { name: "Start the poll" }).click();
  await page.waitForFunction(() => document.activeElement.name === "choices"); // a field out of sight is shown
});
