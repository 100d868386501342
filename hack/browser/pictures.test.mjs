// Pictures of options: staff chooses a file, and the overlay and the page for viewers show it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lab, open, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";

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
  await wanted(page, "#message", "The browser cannot read this file as a picture.");

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
