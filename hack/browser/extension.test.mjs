// The reference extension, api/clients/extension, as it goes to the platform, in the rig.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cornerOf, picture, wanted } from "./pages.mjs";
import { kill, sign } from "./program.mjs";
import { ask, configure, option, show, vote } from "./reference.mjs";
import { violations } from "./rig.mjs";

const viewers = ["panel, viewer", "video_overlay, viewer", "mobile, viewer"];

test("viewers vote in the panel, over the video and on a phone, and see the result", async (t) => {
  const { program: { origin }, page, view, frame } = await show(t, "reference");
  await wanted(frame("panel, viewer"), ".card", "No poll is open.");
  assert.equal(await frame("video_overlay, viewer").locator(".card").count(), 0, "over the video there is nothing to see");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notDeepEqual(await cornerOf(page, view("video_overlay, viewer").locator(".player")), [255, 255, 255], "the overlay hides the video");
  await page.emulateMedia({ colorScheme: "light" });
  await configure(origin, "tea", { prompt: "Tea or coffee?", options: ["Tea", "Coffee"], endsAt: Math.floor(Date.now() / 1000) + 600 });
  await option(frame("panel, viewer"), "Tea").click();
  await wanted(frame("panel, viewer"), ".message", "Your vote is counted.");
  await option(frame("mobile, viewer"), "Tea").waitFor(); // all three are views of one viewer
  await option(frame("video_overlay, viewer"), "Coffee").press("Enter");
  for (const name of viewers) {
    await wanted(frame(name), "h1", "Tea or coffee?");
    await wanted(frame(name), ".clock", /left$/);
    await wanted(frame(name), ".option", "Coffee");
    await option(frame(name), "100%").filter({ hasText: "1 vote" }).waitFor();
  }
  for (const n of [1, 2]) await vote(origin, "tea", n, 0);
  await option(frame("mobile, viewer"), "67%").filter({ hasText: "Tea" }).waitFor();
  await picture(page, "extension-open", {});

  await ask(origin, "PATCH", "/vote_config", { id: "tea", config: { endsAt: -1 } });
  for (const name of viewers) await wanted(frame(name), ".outcome", "Winner: Tea");
  assert.equal(await option(frame("panel, viewer"), "Tea").getAttribute("aria-disabled"), "true");
  await picture(page, "extension-closed", {});
  await configure(origin, "cake", { prompt: "Cake?", options: ["Yes", "No"] }); // the next one takes its place
  for (const name of viewers) await wanted(frame(name), "h1", "Cake?");
  await ask(origin, "DELETE", "/vote?id=cake");
  await wanted(frame("mobile, viewer"), ".card", "No poll is open.");
});

test("a result leaves the video after a while, and stays beside it", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "leaves", { prepare: (page) => page.clock.install() });
  await configure(origin, "tea", { prompt: "Tea?", options: ["Yes", "No"] });
  for (const name of viewers) await wanted(frame(name), "h1", "Tea?");
  await ask(origin, "PATCH", "/vote_config", { id: "tea", config: { endsAt: -1 } });
  for (const name of viewers) await wanted(frame(name), ".outcome", "There are no votes.");
  await page.clock.fastForward(16_000);
  await frame("video_overlay, viewer").locator(".card").waitFor({ state: "detached" });
  await wanted(frame("panel, viewer"), ".outcome", "There are no votes.");
});

test("the countdown is right on a device whose clock is wrong", async (t) => {
  const { program: { origin }, view, frame } = await show(t, "clock");
  await configure(origin, "tea", { prompt: "Tea?", options: ["Yes", "No"], endsAt: Math.floor(Date.now() / 1000) + 600 });
  for (const [name, seconds] of [["panel, viewer", -86400], ["mobile, viewer", 7200]]) {
    await view(name).getByLabel("clock ahead by, s").fill(String(seconds));
    await view(name).getByLabel("clock ahead by, s").press("Enter");
    const opened = await (await view(name).locator("iframe").elementHandle()).contentFrame();
    await opened.waitForFunction((then) => Math.abs(Date.now() - then) < 60_000, Date.now() + seconds * 1000);
    await wanted(frame(name), ".clock", /^(10:00|9:..) left$/);
    const clock = await opened.evaluate(() => [Date.now(), new Date().getTime(), Date.parse(Date()), new Date(5).getTime(), new Date() instanceof Date]);
    for (const time of clock.slice(0, 3)) assert.ok(Math.abs(time - Date.now() - seconds * 1000) < 60_000, `${name}: ${clock}`);
    assert.deepEqual(clock.slice(3), [5, true]);
  }
});

test("several choices, and results that viewers do not see yet", async (t) => {
  const { program: { origin }, frame } = await show(t, "choices");
  const panel = frame("panel, viewer"), mobile = frame("mobile, viewer");
  await configure(origin, "two", { prompt: "Two of three?", options: ["a1", "b2", "c3"], totalVotesPerUser: 2, distinctOptionsPerUser: 2, votesPerOption: 1 });
  await wanted(panel, ".hint", "You have 2 choices.");
  for (const name of ["a1", "b2"]) {
    await option(panel, name).click();
    await panel.locator(".option[aria-pressed=true]").filter({ hasText: name }).waitFor();
  }
  await option(panel, "c3").click();
  await wanted(panel, ".message", "You have no vote left for this.");
  assert.equal((await ask(origin, "GET", "/vote?id=two")).count, 2);

  await configure(origin, "later", { prompt: "Hidden until you vote?", options: ["Yes", "No"], resultsVisibility: "afterVote" });
  await vote(origin, "later", 1, 1);
  await wanted(mobile, ".hint", "You see the results once you have voted.");
  assert.equal(await mobile.locator(".figure").count(), 0);
  await option(mobile, "Yes").click();
  await option(mobile, "50%").first().waitFor();
  await configure(origin, "never", { prompt: "Hidden until the end?", options: ["Yes", "No"], resultsVisibility: "afterClose" });
  await option(panel, "No").click();
  await wanted(panel, ".message", "Your vote is counted.");
  await wanted(panel, ".hint", "You see the results when the poll closes.");
  await vote(origin, "never", 2, 0);
  await ask(origin, "PATCH", "/vote_config", { id: "never", config: { endsAt: -1 } });
  await wanted(panel, ".outcome", "A tie: Yes and No");
});

test("the broadcaster decides a tie, and viewers see who decided", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "tie", { prepare: (page) => page.clock.install() });
  const desk = frame("live_config, broadcaster"), choose = (name) => desk.getByRole("button", { name: `Choose ${name}` });
  await configure(origin, "tea", { prompt: "Tea?", options: ["Yes", "No", "Perhaps"] });
  for (const [n, value] of [0, 1, 1, 2, 2].entries()) await vote(origin, "tea", n, value);
  await wanted(desk, "#state", "open, 5 votes");
  for (const name of viewers) await wanted(frame(name), "h1", "Tea?"); // before the end, so that they show it
  assert.equal(await choose("No").isVisible(), false, "a choice in an open poll");
  await desk.getByRole("button", { name: "End the poll" }).click();
  for (const scope of [desk, ...viewers.map(frame)]) await wanted(scope, ".outcome", /^A tie: No and Perhaps$/);
  assert.equal(await choose("Yes").count(), 0, "a choice behind the leaders");
  await page.clock.fastForward(16_000);
  await frame("video_overlay, viewer").locator(".card").waitFor({ state: "detached" });
  await choose("Perhaps").press("Enter"); // which brings the result back over the video
  for (const scope of [desk, ...viewers.map(frame)]) await wanted(scope, ".outcome", /^Winner: Perhaps, by decision of the staff after a tie$/);
  assert.equal(await choose("Perhaps").getAttribute("aria-pressed"), "true");
  assert.deepEqual(await frame("panel, viewer").locator("[data-leads=true] .label").allTextContents(), ["Perhaps"]);
  for (const view of page.frames().slice(1)) assert.deepEqual(await violations(view), [], view.url());
  await picture(page, "extension-tie", {});

  await desk.getByRole("button", { name: "Take back" }).click();
  await wanted(frame("panel, viewer"), ".outcome", /^A tie: No and Perhaps$/);
  await desk.getByRole("button", { name: "Hide the results" }).click();
  await choose("No").waitFor({ state: "detached" }); // viewers see the results of what is decided
});

test("a poll for viewers who share their identity", async (t) => {
  const { program: { origin }, view, frame } = await show(t, "shared");
  const panel = frame("panel, viewer");
  await configure(origin, "known", { prompt: "Who are you?", options: ["Me", "You"], userIDVoting: true });
  await panel.getByRole("button", { name: "Share my identity" }).click();
  await view("panel, viewer").getByRole("button", { name: "Share", exact: true }).click();
  await panel.getByRole("button", { name: "Share my identity" }).waitFor({ state: "detached" });
  await option(panel, "Me").click();
  await wanted(panel, ".message", "Your vote is counted.");
});

test("the broadcaster makes a poll from a template, corrects, ends and reopens it", async (t) => {
  const templates = [{ prompt: "Which gmae?", options: ["Chess", "Go"] }];
  const { program: { origin }, frame } = await show(t, "desk", { broadcaster: { version: "1", content: JSON.stringify({ backend: "", templates }) } });
  const desk = frame("live_config, broadcaster"), panel = frame("panel, viewer");
  await desk.getByText("New poll").click();
  await desk.getByLabel("Begin with").selectOption({ label: "Template: Which gmae?" });
  await desk.getByLabel("Minutes").fill("2");
  await desk.getByRole("button", { name: "Start the poll" }).press("Enter");
  await wanted(panel, "h1", "Which gmae?");
  await option(panel, "Go").click();
  await wanted(desk, "#state", "open, 1 vote");
  await desk.getByRole("row", { name: "Go 1 100%" }).waitFor();

  await desk.getByText("Correct the poll").click();
  const correction = desk.locator("form").filter({ hasText: "The votes stay" });
  await correction.getByLabel("Question").fill("Which game?");
  const { id, endsAt } = (await ask(origin, "GET", "/polls")).polls[0];
  await ask(origin, "PATCH", "/vote_config", { id, config: { options: ["Chess", "Go", "Ludo"] }, keepVotes: true });
  await desk.getByRole("row", { name: "Ludo 0 0%" }).waitFor();
  assert.equal(await correction.getByLabel("Question").inputValue(), "Which game?", "another's change took the typed text away");
  assert.equal(await correction.getByLabel("Options").inputValue(), "Chess\nGo\nLudo");
  await correction.getByRole("button").click();
  await wanted(panel, "h1", "Which game?");
  await wanted(panel, ".message", "The question was changed after your vote.");
  await wanted(desk, "#state", "open, 1 vote");
  await desk.getByRole("button", { name: "One minute more" }).click();
  await wanted(desk, ".message", "Saved.");
  assert.equal((await ask(origin, "GET", `/poll?id=${id}`)).endsAt, endsAt + 60);

  await desk.getByRole("button", { name: "Hide the results" }).click();
  await wanted(panel, ".hint", "The results are not shown.");
  await desk.getByRole("button", { name: "Reveal the results" }).click();
  await option(panel, "100%").waitFor();
  await desk.getByRole("button", { name: "End the poll" }).click();
  await wanted(desk, ".outcome", "Winner: Go");
  await wanted(panel, ".outcome", "Winner: Go");
  await desk.getByRole("button", { name: "Reopen" }).click();
  await wanted(desk, "#state", "open, 1 vote");
  await wanted(panel, ".hint", "Choose one.");

  await desk.getByText("New poll").click();
  const form = desk.locator("form").filter({ hasText: "Start the poll" });
  assert.equal(await form.getByLabel("Question").inputValue(), "", "the form still has the poll before");
  await form.getByLabel("Begin with").selectOption({ label: "Again: Which game?" });
  assert.equal(await form.getByLabel("Options").inputValue(), "Chess\nGo\nLudo");
  await form.getByLabel("Choices of a viewer").fill("2");
  await form.getByLabel("Viewers see the results").selectOption("once the poll has closed");
  await form.getByRole("button").click();
  await wanted(panel, ".hint", "You have 2 choices.");
  const second = (await ask(origin, "GET", "/polls?status=active")).polls.find((poll) => poll.id !== id);
  assert.deepEqual([second.totalVotesPerUser, second.resultsVisibility, second.strict], [2, "afterClose", true]);
});

test("the broadcaster clears votes and deletes a poll, and can take both back", async (t) => {
  const { program: { origin }, page, frame } = await show(t, "undone");
  await configure(origin, "tea", { prompt: "Tea?", options: ["Yes", "No"] });
  await vote(origin, "tea", 1, 1);
  const desk = frame("live_config, broadcaster"), clearings = [];
  await wanted(desk, "#state", "open, 1 vote");
  page.on("request", (r) => { if (r.method() === "PATCH") clearings.push(r.url()); });
  const live = page.frames().find((other) => other.url().includes("live_config"));
  await desk.getByRole("button", { name: "Clear the votes" }).click();
  await desk.getByText("The votes of “Tea?” are cleared in 8 seconds.").waitFor();
  assert.equal(await desk.getByRole("button", { name: "Delete the poll" }).isDisabled(), true, "two waits at once");
  assert.equal(await live.evaluate(() => document.activeElement.textContent), "Take back");
  await page.keyboard.press("Enter");
  await desk.getByRole("button", { name: "Take back" }).waitFor({ state: "detached" });
  assert.equal(await live.evaluate(() => document.activeElement.id), "poll", "the focus is lost");
  await desk.getByRole("button", { name: "Clear the votes" }).click();
  await wanted(desk, "#state", "open, 0 votes");
  assert.equal(clearings.length, 1);
  await wanted(frame("panel, viewer"), "h1", "Tea?");
  assert.deepEqual((await ask(origin, "GET", "/poll?id=tea")).options, ["Yes", "No"]);
  await desk.getByRole("button", { name: "Delete the poll" }).click();
  await wanted(desk, ".hint", "There are no polls yet.");
  await wanted(frame("panel, viewer"), ".card", "No poll is open.");
});

test("viewers answer a question, and see the ranking when the broadcaster shows it", async (t) => {
  const { open, frame } = await show(t, "words");
  const desk = frame("live_config, broadcaster"), panel = frame("panel, viewer");
  await desk.getByLabel("Question").last().fill("A name for the boss?");
  await desk.getByRole("button", { name: "Ask the viewers" }).click();
  await wanted(panel, "h1", "A name for the boss?");
  await panel.getByLabel("Your answer").fill("Spoon");
  await panel.getByRole("button", { name: "Send" }).click();
  await wanted(panel, ".message", "Your answer is counted.");
  await wanted(desk, ".ranking li", "Spoon");
  assert.equal(await panel.locator(".ranking").count(), 0, "the ranking is shown");
  await desk.getByLabel("Viewers see the answers").check();
  await wanted(panel, ".ranking li", "Spoon");

  const other = await open();
  await other.page.getByLabel("User id").fill("2002");
  await other.view("panel, viewer 2001").getByRole("button", { name: "Remove" }).click();
  await other.page.getByRole("button", { name: "Add view" }).click();
  await other.frame("panel, viewer 2002").getByLabel("Your answer").fill("Fork");
  await other.frame("panel, viewer 2002").getByRole("button", { name: "Send" }).click();
  await wanted(panel, ".ranking li", "Fork"); // soon, and while the broadcaster's page is open
  await desk.getByRole("button", { name: "Hide: Spoon" }).click();
  await panel.locator(".ranking li").filter({ hasText: "Spoon" }).waitFor({ state: "detached" });
  await desk.getByRole("button", { name: "Stop asking" }).click();
  await wanted(panel, ".card", "No poll is open.");
});

test("the broadcaster saves an address and templates, and is told what is wrong with them", async (t) => {
  const { program: { origin }, frame, view } = await show(t, "settings");
  const config = frame("config, broadcaster").first();
  await wanted(config, "#backend-hint", origin);
  await config.getByRole("button", { name: "Check the connection" }).click();
  await wanted(config, ".message", "The connection works.");
  const save = async (backend, templates, selector, text) => {
    await config.getByLabel("Address of the backend").fill(backend);
    await config.getByLabel("Templates for polls").fill(templates);
    await config.getByRole("button", { name: "Save" }).click();
    await wanted(config, selector, text);
  };
  await save("http://example.org", "", ".problem", "An address begins with https://");
  await save(origin, "No options", ".problem", "needs a question and two options: No options");
  await save(origin, "Tea? | Yes | No\nCake? | Yes | No", ".message", "Saved.");
  await view("live_config, broadcaster").getByRole("button", { name: "Reload" }).click();
  const desk = frame("live_config, broadcaster");
  await desk.getByText("New poll").click();
  assert.deepEqual(await desk.getByLabel("Begin with").locator("option").allTextContents(), ["an empty form", "Template: Tea?", "Template: Cake?"]);
});

test("every view says when it is not live, and why", async (t) => {
  const { program, page, view, frame } = await show(t, "stale");
  await configure(program.origin, "tea", { prompt: "Tea?", options: ["Yes", "No"] });
  const following = ["panel, viewer", "mobile, viewer", "video_overlay, viewer", "live_config, broadcaster"];
  for (const name of following) await wanted(frame(name), "h1, h2", "Tea?");
  await page.context().setOffline(true);
  for (const name of following) await wanted(frame(name), ".banner", "The connection is lost.");
  await page.context().setOffline(false);
  for (const name of following) await frame(name).locator(".banner:empty").waitFor({ state: "attached" });

  const ended = { token: sign({ role: "viewer", channel_id: "1", opaque_user_id: "U2001", exp: 1 }), opaque: "U2001", expires: Date.now() / 1000 + 1800 };
  await page.route("**/token", (route) => route.fulfill({ json: ended }));
  await view("panel, viewer").getByRole("button", { name: "New token" }).click();
  await wanted(frame("panel, viewer"), ".banner", "Your session has ended.");
  await page.unroute("**/token");
  await view("panel, viewer").getByRole("button", { name: "New token" }).click();
  await frame("panel, viewer").locator(".banner:empty").waitFor({ state: "attached" });

  await kill(program);
  for (const name of following) await wanted(frame(name), ".banner", "The connection is lost.");
  await picture(page, "extension-lost", {});
});

for (const [language, texts] of Object.entries({
  de: ["Gerade läuft keine Umfrage.", "Umfrage starten", "1.234 Stimmen"], es: ["No hay ninguna encuesta abierta.", "Iniciar la encuesta", "1234 votos"],
  ja: ["受付中のアンケートはありません", "アンケートを開始", "1,234票"], fr: ["No poll is open.", "Start the poll", "1,234 votes"],
})) {
  test(`the language is the platform's: ${language}`, async (t) => {
    const { program: { origin }, page, view, frame } = await show(t, `language-${language}`);
    await page.getByLabel("Language").selectOption(language);
    for (const name of ["panel, viewer", "live_config, broadcaster"]) await view(name).getByRole("button", { name: "Reload" }).click();
    await wanted(frame("panel, viewer"), ".card", texts[0]);
    await frame("live_config, broadcaster").locator("summary").first().click();
    await wanted(frame("live_config, broadcaster"), "button", texts[1]);
    assert.equal(await frame("panel, viewer").locator("html").getAttribute("lang"), language === "fr" ? "en" : language);
    await configure(origin, "many", { prompt: "?", options: ["a", "b"] });
    await vote(origin, "many", 1, 0);
    await ask(origin, "POST", "/vote_modifier?id=many", { user: "U9001", add: 1233 });
    await wanted(frame("panel, viewer"), ".figure", texts[2]);
  });
}

for (const theme of ["light", "dark"]) {
  test(`axe finds nothing in any view: ${theme}`, async (t) => {
    const { program: { origin }, page, frame } = await show(t, `axe-${theme}`);
    await page.getByLabel("Theme").selectOption(theme);
    const desk = frame("live_config, broadcaster"), found = [];
    assert.equal(await frame("video_overlay, viewer").locator("html").evaluate((root) => getComputedStyle(root).colorScheme), "normal", "the overlay would not be transparent");
    const look = async (when) => {
      for (const view of page.frames().slice(1)) {
        const name = new URL(view.url()).pathname;
        assert.equal(await view.evaluate(() => document.documentElement.dataset.theme), theme, name);
        found.push(...(await violations(view)).map((violation) => `${when}, ${name}: ${violation}`));
      }
    };
    await wanted(desk, ".hint", "There are no polls yet.");
    await look("empty");
    await configure(origin, "tea", { prompt: "Tea?", options: ["Yes", "No", "Perhaps"], endsAt: Math.floor(Date.now() / 1000) + 600 });
    for (const [n, value] of [0, 0, 1].entries()) await vote(origin, "tea", n, value);
    await option(frame("panel, viewer"), "Yes").click();
    await wanted(desk, "#state", "4 votes");
    await desk.getByLabel("Question").last().fill("A name?");
    await desk.getByRole("button", { name: "Ask the viewers" }).click();
    await frame("panel, viewer").getByLabel("Your answer").fill("Spoon");
    await frame("panel, viewer").getByRole("button", { name: "Send" }).click();
    await desk.getByLabel("Viewers see the answers").check();
    for (const name of viewers) await wanted(frame(name), ".ranking li", "Spoon");
    for (const summary of await desk.locator("summary").all()) await summary.click();
    await look("open");
    await picture(page, `extension-${theme}`, {});
    await desk.getByRole("button", { name: "End the poll" }).click();
    for (const name of viewers) await wanted(frame(name), ".outcome", "Winner: Yes");
    await look("closed");
    await desk.getByRole("button", { name: "Delete the poll" }).click();
    await look("waiting");
    await page.context().setOffline(true);
    await wanted(frame("panel, viewer"), ".banner", "The connection is lost.");
    await look("lost");
    assert.deepEqual(found, []);
  });
}
