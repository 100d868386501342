// Pictures of options: staff chooses a file, and the overlay, the page for viewers and the reference extension
// show it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lab, open, picture, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";
import { ask, configure, option, show } from "./reference.mjs";
import { violations } from "./rig.mjs";

// drawn returns a picture of a size that a page draws, as a file for an input.
async function drawn(page, width, height, type) {
  const text = await page.evaluate(([width, height, type]) => {
    const canvas = Object.assign(document.createElement("canvas"), { width, height }), ink = canvas.getContext("2d");
    ink.fillStyle = "red";
    ink.fillRect(0, 0, width / 2, height);
    return canvas.toDataURL(type).split(",")[1];
  }, [width, height, type]);
  return { name: "picture", mimeType: type, buffer: Buffer.from(text, "base64") };
}

// shows waits until an element shows a picture from the own origin, and returns its width in pixels.
async function shows(page, selector, origin) {
  await page.waitForFunction((selector) => document.querySelector(selector)?.naturalWidth > 0 && !document.querySelector(selector).hidden, selector);
  const found = await page.evaluate((selector) => { const e = document.querySelector(selector); return { src: e.src, width: e.naturalWidth, alt: e.alt }; }, selector);
  assert.ok(found.src.startsWith(`${origin}/sandbox/public/`), found.src);
  assert.equal(found.alt, "");
  return found.width;
}

test("staff gives an option a picture, and viewers see it", async (t) => {
  const { origin } = await lab.serve({ data: "pictures" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  await send(origin, broadcaster, "POST", "/vote_config", { id: "game", config: { prompt: "What do we play?", options: ["Zelda", "Mario"], deviceVoting: true, publicResults: true } });
  const page = await open(t, `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`, { viewport: { width: 390, height: 900 } });
  await page.getByRole("button", { name: "What do we play?: poll game" }).click();
  await page.getByText("Pictures of the options").click();
  await page.getByLabel("Picture of Mario").setInputFiles(await drawn(page, 1200, 600, "image/jpeg"));
  assert.equal(await shows(page, "#picture-list li:nth-child(2) img", origin), 256);
  await page.getByLabel("Picture of Zelda").setInputFiles(await drawn(page, 40, 30, "image/png"));
  assert.equal(await shows(page, "#picture-list li:nth-child(1) img", origin), 40);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
  await page.getByLabel("Picture of Zelda").setInputFiles({ name: "page.png", mimeType: "image/png", buffer: Buffer.from("<script>alert(1)</script>") });
  const refused = "The browser cannot read this file as a picture.";
  await wanted(page, "#message", refused);
  await send(origin, broadcaster, "PATCH", "/vote_config", { id: "game", config: { prompt: "What shall we play?" } });
  await page.getByRole("heading", { name: "What shall we play?" }).waitFor();
  assert.equal(await page.locator("#message").textContent(), refused, "what others change hides why an action failed");

  const { channel_id: channel } = JSON.parse(Buffer.from(broadcaster.split(".")[1], "base64url").toString());
  const client = broadcaster.split(" ")[0];
  const vote = await open(t, `${origin}/vote/${client}/${channel}/game?env=sandbox`, { viewport: { width: 320, height: 700 } });
  assert.equal(await shows(vote, "#options label:nth-of-type(2) img", origin), 256);
  assert.ok(await vote.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
  await vote.picture("vote-pictures");
  for (const address of [`#access_token=${encodeURIComponent(broadcaster)}`, ""]) {
    const query = new URLSearchParams({ env: "sandbox", poll: "game", ...(address ? {} : { public: `${client}/${channel}` }) });
    const overlay = await open(t, `${origin}/live/?${query}${address}`, { viewport: { width: 600, height: 400 } });
    if (!address) await send(origin, await token(origin, { role: "viewer", user_id: "7001" }), "POST", "/vote?id=game", { value: 1 });
    assert.equal(await shows(overlay, ".option:nth-child(2) img", origin), 256);
    await overlay.picture(address ? "overlay-pictures" : "overlay-public-pictures");
  }
  await page.getByRole("button", { name: "Remove the picture: Mario" }).click();
  await page.waitForFunction(() => document.querySelector("#picture-list li:nth-child(2) img").hidden);
  await vote.reload();
  assert.equal(await shows(vote, "#options label:nth-of-type(1) img", origin), 40);
  assert.equal(await vote.locator("#options label:nth-of-type(2) img").isVisible(), false);
});

test("staff deletes a picture of the channel, and may take it back", async (t) => {
  const { origin } = await lab.serve({ data: "channel-pictures" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const page = await open(t, `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`, { viewport: { width: 390, height: 900 } });
  const upload = async (width) => (await send(origin, broadcaster, "POST", "/pictures", { data: (await drawn(page, width, 30, "image/png")).buffer.toString("base64") })).id;
  const [used] = [await upload(31), await upload(32)];
  await send(origin, broadcaster, "POST", "/vote_config", { id: "shows", config: { prompt: "Which one?", options: ["A", "B"], pictures: ["", used] } });
  await page.getByText("Pictures of the channel").click();
  const row = (size) => page.locator("#channel-picture-list li").filter({ hasText: size });
  assert.match(await row("31 × 30 pixels, 1 KB").innerText(), /in use by “Which one\?”/);
  assert.match(await row("32 × 30 pixels, 1 KB").innerText(), /in no poll/);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
  await page.clock.install();
  await row("31 × 30").getByRole("button").click();
  assert.match(await page.locator("#picture-pending").innerText(), /^Deleting picture \d+, in use by “Which one\?” in 8 s\./);
  await page.getByRole("button", { name: "Take back" }).click();
  await page.clock.runFor(10_000);
  assert.equal(await row("31 × 30").count(), 1);
  await row("32 × 30").getByRole("button").click();
  await page.clock.runFor(7_000);
  assert.equal(await row("32 × 30").count(), 1);
  await page.clock.runFor(2_000);
  await row("32 × 30").waitFor({ state: "detached" });
  assert.equal(await row("31 × 30").count(), 1);
});

test("the reference extension shows pictures, and the label where one does not load", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "extension-pictures");
  const upload = async (width) => (await ask(origin, "POST", "/pictures", { data: (await drawn(page, width, 90, "image/png")).buffer.toString("base64") })).id;
  const [first, second, gone] = [await upload(60), await upload(90), await upload(120)];
  await ask(origin, "DELETE", `/pictures?id=${gone}`);
  await configure(origin, "game", { prompt: "What do we play?", options: ["Zelda", "Mario", "Tetris"], pictures: ["", first, gone] });
  const views = ["panel, viewer", "video_overlay, viewer", "mobile, viewer"];
  for (const name of views) {
    const image = (label) => option(frame(name), label).locator("img");
    await wanted(frame(name), "h1", "What do we play?");
    assert.equal(await image("Zelda").count(), 0);
    await image("Tetris").waitFor({ state: "hidden" });
    const shown = await seen(image("Mario")), refused = await seen(image("Tetris"));
    assert.deepEqual({ ...shown, size: undefined }, { src: `${origin}/public/sample-extension/1/${first}/picture.png`, alt: "", width: 60, visibility: "visible", size: undefined });
    assert.deepEqual(refused.size, shown.size, "the labels jump");
    await frame(name).getByRole("button", { name: /^Mario/ }).waitFor();
  }
  const row = (label) => frame("live_config, broadcaster").locator("tbody tr").filter({ hasText: label }).locator("img");
  await row("Tetris").waitFor({ state: "hidden" });
  assert.equal(await row("Zelda").count(), 0);
  const small = await seen(row("Mario"));
  assert.deepEqual([small.src, small.alt, small.width], [`${origin}/public/sample-extension/1/${first}/picture.png`, "", 60]);
  assert.ok(small.size[1] > 0 && small.size[1] <= 24, `${small.size} pixels`);
  for (const view of page.frames().slice(1)) assert.deepEqual(await violations(view), [], view.url());
  await picture(page, "extension-pictures", {});
  await ask(origin, "PATCH", "/vote_config", { id: "game", config: { pictures: ["", "", second] } });
  for (const name of views) {
    await option(frame(name), "Mario").locator("img").waitFor({ state: "detached" });
    assert.equal((await seen(option(frame(name), "Tetris").locator(`img[src*="${second}"]`))).visibility, "visible");
  }
  assert.equal((await seen(row("Tetris").and(frame("live_config, broadcaster").locator(`[src*="${second}"]`)))).visibility, "visible");
  await configure(origin, "next", { prompt: "Again?", options: ["Yes", "No"] });
  for (const name of views) {
    await wanted(frame(name), "h1", "Again?");
    assert.equal(await frame(name).locator("img").count(), 0);
  }
});

// seen waits until a picture is there or has failed, and returns what a viewer has of it.
async function seen(image) {
  return image.evaluate(async (e) => {
    while (!e.complete) await new Promise((resolve) => { e.onload = resolve; e.addEventListener("error", resolve); });
    const { width, height } = e.getBoundingClientRect();
    return { src: e.src, alt: e.alt, width: e.naturalWidth, visibility: getComputedStyle(e).visibility, size: [width, height] };
  });
}
