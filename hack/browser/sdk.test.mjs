// The browser SDK of the hosted service against the program: each of its methods once,
// in a page such as the platform makes. The table of services/docs/moving-methods.md has the
// outcomes, and this test compares it with them.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { launching, onLocalhost, onPlatform } from "./platform.mjs";
import { Lab, root, sign } from "./program.mjs";

let lab, browser, origin;

before(async () => {
  lab = await Lab.open();
  ({ origin } = await lab.serve({ games: true }));
  browser = await chromium.launch(launching);
});

after(async () => {
  await browser?.close();
  await lab?.close();
});

const claims = {
  viewer: { role: "viewer", channel_id: "1", user_id: "2001", opaque_user_id: "U2001" },
  broadcaster: { role: "broadcaster", channel_id: "1", user_id: "1", opaque_user_id: "U1" },
  admin: { role: "admin", channel_id: "1", user_id: "1000", opaque_user_id: "U1000" },
};

// Outcomes. A row is a method, the role that calls it, the call, which runs in the page,
// and what it must give.
const gives = (value) => (outcome) => assert.deepEqual(outcome, value === undefined ? {} : { value });
const works = (value) => ({ text: "works", check: gives(value) });
const empty = (value) => ({ text: `empty: \`${JSON.stringify(value)}\``, check: gives(value) });
const refused = (reason) => ({ text: `refused: ${reason}`, check: (outcome) => assert.deepEqual(outcome, { reason }) });
const inPage = (value) => ({ text: "in the page only", inPage: true, check: gives(value) });
const fails = (why, reason) => ({ text: why, inPage: true, check: (outcome) => assert.match(String(outcome.reason), reason) });

const noTrivia = "This service has no trivia questions";

// prettier-ignore
const rows = [
  ["loaded", "viewer", () => sdk.loaded().then(() => "loaded"), inPage("loaded")],
  ["getUser", "viewer", () => sdk.getUser().then((u) => [u.channelID, u.twitchID, u.registeredWithMuxy, u.ip, u.visualizationID !== ""]), inPage(["1", "2001", true, "127.0.0.1", true])],
  ["getOffsetDate", "viewer", () => Math.abs(sdk.getOffsetDate() - new Date()) < 60_000, inPage(true)],
  ["updateUser", "viewer", () => { let user; sdk.onUserUpdate((u) => { user = u; }); sdk.updateUser(sdk.user); return user === sdk.user; }, inPage(true)],
  ["onUserUpdate", "viewer", () => typeof sdk.onUserUpdate(() => {}).notify, inPage("function")],
  ["onContextUpdate", "viewer", () => typeof sdk.onContextUpdate(() => {}).notify, inPage("function")],
  ["onHighlightChanged", "viewer", () => sdk.onHighlightChanged(() => {}), fails("fails in the SDK, which has no observers for it", /reading 'register'/)],
  ["onVisibilityChanged", "viewer", () => new Promise((resolve) => { sdk.onVisibilityChanged(resolve); }), inPage(true)],
  ["onPositionChanged", "viewer", () => new Promise((resolve) => { sdk.onPositionChanged(resolve); }), inPage({ x: 1, y: 2 })],
  ["signedRequest", "viewer", () => sdk.signedRequest("GET", "user_info").then((i) => i.registered), works(true)],

  ["accumulate", "viewer", () => sdk.accumulate("art", { stroke: 1 }), works({})],
  ["getAccumulateData", "admin", () => sdk.getAccumulateData("art", 0).then((a) => [a.latest > 0, a.data.map((d) => [d.channel_id, d.opaque_user_id, d.user_id, d.data])]), works([true, [["1", "U2001", "2001", { stroke: 1 }]]])],
  ["getAccumulation", "admin", () => sdk.getAccumulation("art", 0).then((a) => a.data.length), works(1)],

  ["vote", "viewer", () => sdk.vote("lunch", 3).then((v) => [v.count, v.sum, v.specific[3], v.vote]), works([1, 3, 1, 3])],
  ["getVoteData", "broadcaster", () => sdk.getVoteData("lunch").then((v) => [v.count, v.mean, v.stddev, v.specific[3], v.vote]), works([1, 3, 0, 1, undefined])],
  ["getFullVoteLogs", "admin", () => sdk.getFullVoteLogs("lunch").then((l) => l.result.map(({ identifier, value }) => [identifier, value])), works([["2001", 3]])],

  ["rank", "viewer", () => sdk.rank("colour", "blue"), works({ accepted: true })],
  ["getRankData", "broadcaster", () => sdk.getRankData("colour"), works({ data: [{ key: "blue", score: 1 }] })],
  ["getRankingData", "broadcaster", () => sdk.getRankingData("colour"), works({ data: [{ key: "blue", score: 1 }] })],
  ["clearRankData", "broadcaster", () => sdk.clearRankData("colour"), works({})],
  ["clearRanking", "broadcaster", () => sdk.clearRanking("colour"), fails("fails in the SDK, which calls itself without end", /call stack/)],

  ["setChannelConfig", "broadcaster", () => sdk.setChannelConfig({ skus: { life: { price: 4, displayName: "Extra life" } } }), works({})],
  ["setExtensionConfig", "admin", () => sdk.setExtensionConfig({ theme: "dark" }), works({})],
  ["getConfig", "viewer", () => sdk.getConfig().then((c) => [Object.keys(c.channel), c.extension]), works([["skus"], { theme: "dark" }])],
  ["getChannelConfig", "viewer", () => sdk.getChannelConfig().then((c) => c.skus.life.price), works(4)],
  ["getExtensionConfig", "viewer", () => sdk.getExtensionConfig(), works({ theme: "dark" })],

  ["setViewerState", "viewer", () => sdk.setViewerState({ a: 1 }), works({})],
  ["getViewerState", "viewer", () => sdk.getViewerState(), works({ a: 1 })],
  ["setExtensionViewerState", "viewer", () => sdk.setExtensionViewerState({ b: 1 }), works({})],
  ["patchExtensionViewerState", "admin", () => sdk.patchExtensionViewerState({ 2001: { c: 2 }, 2002: { c: 3 } }), works({})],
  ["getExtensionViewerState", "viewer", () => sdk.getExtensionViewerState(), works({ b: 1, c: 2 })],
  ["multiGetExtensionViewerState", "admin", () => sdk.multiGetExtensionViewerState(["2001", "2002", "nonsense"]), works({ 2001: { b: 1, c: 2 }, 2002: { c: 3 } })],
  ["setChannelState", "broadcaster", () => sdk.setChannelState({ round: 1 }), works({})],
  ["getChannelState", "viewer", () => sdk.getChannelState(), works({ round: 1 })],
  ["setExtensionState", "admin", () => sdk.setExtensionState({ version: 2 }), works({})],
  ["getExtensionState", "viewer", () => sdk.getExtensionState(), works({ version: 2 })],
  ["setExtensionSecretState", "admin", () => sdk.setExtensionSecretState({ next: "boss" }), works({})],
  ["getExtensionSecretState", "admin", () => sdk.getExtensionSecretState(), works({ next: "boss" })],
  ["getAllState", "viewer", () => sdk.getAllState(), works({ extension: { version: 2 }, channel: { round: 1 }, viewer: { a: 1 }, extension_viewer: { b: 1, c: 2 } })],
  ["client.patchViewerState", "viewer", () => sdk.client.patchViewerState("sample-extension", { d: 4 }), works({})],
  ["client.patchExtensionViewerState", "viewer", () => sdk.client.patchExtensionViewerState("sample-extension", [{ op: "add", path: "/e", value: 5 }]), works({})],
  ["client.patchChannelState", "broadcaster", () => sdk.client.patchChannelState("sample-extension", [{ op: "replace", path: "/round", value: 2 }]), works({})],
  ["client.patchExtensionState", "admin", () => sdk.client.patchExtensionState("sample-extension", { f: 6 }), works({})],
  ["client.patchExtensionSecretState", "admin", () => sdk.client.patchExtensionSecretState("sample-extension", { g: 7 }), works({})],
  ["client.patchChannelConfig", "broadcaster", () => sdk.client.patchChannelConfig("sample-extension", { h: 8 }), works({})],
  ["client.patchExtensionConfig", "admin", () => sdk.client.patchExtensionConfig("sample-extension", { i: 9 }), works({})],
  ["getJSONStore", "viewer", async () => { await write("json_store?id=menu", { soup: true }); return sdk.getJSONStore("menu"); }, works({ soup: true })],
  ["getJSONStore, never written", "viewer", () => sdk.getJSONStore(), refused("No data for this id")],

  ["validateCode", "broadcaster", async () => sdk.validateCode((await (await fetch(api + "/pin", { method: "POST", body: '{"identifier":"sample-extension"}' })).json()).pin), works({})],
  ["validateCode, wrong PIN", "broadcaster", () => sdk.validateCode("AAAAAA"), refused("The PIN is invalid or has expired")],
  ["pinTokenExists", "broadcaster", () => sdk.pinTokenExists(), works({ exists: true })],
  ["revokeAllPINCodes", "broadcaster", () => sdk.revokeAllPINCodes().then((a) => sdk.pinTokenExists().then((b) => [a, b])), works([{}, { exists: false }])],

  ["listen", "viewer", async () => {
    const heard = new Promise((resolve) => { sdk.listen("boss:*", (data, name) => resolve([data, name])); });
    await write("broadcast", { event: "boss:down", data: { loot: "spoon" } });
    return heard;
  }, works([{ loot: "spoon" }, "boss:down"])],
  ["listen, to a whisper", "viewer", async () => {
    const heard = new Promise((resolve) => { sdk.listen("secret", "U2001", resolve); });
    await write("broadcast", { event: "secret", target: "whisper-U2001", data: { key: 1 } });
    return heard;
  }, works({ key: 1 })],
  ["listen, to a poll", "viewer", () => {
    const heard = new Promise((resolve) => { sdk.listen("vote_update:*", (data, name) => resolve([name, data.id, data.stats.count])); });
    return sdk.vote("dinner", 1).then(() => heard);
  }, works(["vote_update:dinner", "dinner", 1])],
  ["unlisten", "viewer", async () => {
    const heard = [];
    sdk.unlisten(sdk.listen("tick", () => heard.push("removed")));
    const next = new Promise((resolve) => { sdk.listen("tick", () => resolve(heard.concat("kept"))); });
    await write("broadcast", { event: "tick", data: {} });
    return next;
  }, inPage(["kept"])],
  ["send", "broadcaster", () => { sdk.send("hello", { a: 1 }); return window.platform.sent; }, { ...inPage([["broadcast", "application/json", { event: "production:sample-extension:hello", data: { a: 1 } }]]), text: "through the platform; on `localhost` it works, see below" }],

  ["getProducts", "viewer", () => sdk.getProducts().then((p) => p[0].sku), inPage("spoons")],
  ["onUserPurchase", "viewer", () => { window.purchased = new Promise((resolve) => { sdk.onUserPurchase((tx, sent) => resolve(sent.then((answer) => [tx.transactionId, answer]))); }); }, inPage()],
  ["onUserPurchaseCanceled", "viewer", () => new Promise((resolve) => { sdk.onUserPurchaseCanceled(() => resolve("canceled")); sdk.purchase("dear"); }), inPage("canceled")],
  ["purchase", "viewer", async () => { sdk.purchase("spoons"); return [await window.purchased, (await sdk.signedRequest("GET", "coins")).balance]; }, works([["tx-spoons", {}], 10])],
  ["purchase, the same again", "viewer", async () => { sdk.purchase("spoons"); return [await new Promise((resolve) => { sdk.onUserPurchase((tx, sent) => resolve(sent)); sdk.purchase("spoons"); }), (await sdk.signedRequest("GET", "coins")).balance]; }, works([{}, 10])],
  ["signedRequest, coins/purchase", "viewer", () => sdk.signedRequest("POST", "coins/purchase", { sku: "life", price: 4 }), works({ balance: 6 })],
  ["beginPurchase", "viewer", () => { sdk.SKUs = [{}]; sdk.beginPurchase("spoons"); return window.platform.began; }, inPage(["spoons"])],
  ["getPrices", "viewer", () => sdk.getPrices(), inPage([{ sku: "spoons" }])],
  ["onReloadEntitlements", "viewer", () => new Promise((resolve) => { sdk.onReloadEntitlements(resolve); }), inPage("reload")],
  ["sendAnalyticsEvent", "viewer", () => { const events = []; sdk.analytics = { sendEvent: (...event) => events.push(event) }; sdk.sendAnalyticsEvent("opened", 1); return events; }, inPage([["sample-extension", "opened", 1, ""]])],
  ["beginDebugHelixTokenFlow", "viewer", () => { window.open = () => {}; return sdk.beginDebugHelixTokenFlow(); }, { ...inPage(), text: "asks the hosted service for a token of the platform" }],

  ["getEligibleCodes", "viewer", () => sdk.getEligibleCodes(), empty({ eligible: [] })],
  ["getRedeemedCodes", "viewer", () => sdk.getRedeemedCodes(), empty({ redeemed: [] })],
  ["redeemCode", "viewer", () => sdk.redeemCode(0), empty({ all_prizes: [] })],
  ["joinExtensionTriviaTeam", "viewer", () => sdk.joinExtensionTriviaTeam(), empty({ id: "" })],
  ["getExtensionTriviaJoinedTeam", "viewer", () => sdk.getExtensionTriviaJoinedTeam(), empty({ id: "" })],
  ["getExtensionTriviaQuestions", "viewer", () => sdk.getExtensionTriviaQuestions(), empty({ questions: [] })],
  ["getExtensionTriviaLeaderboard", "viewer", () => sdk.getExtensionTriviaLeaderboard(), empty({ leaderboard: [] })],
  ["getExtensionTriviaQuestion", "viewer", () => sdk.getExtensionTriviaQuestion("q1"), refused(noTrivia)],
  ["setExtensionTriviaQuestionVote", "viewer", () => sdk.setExtensionTriviaQuestionVote("q1", "wood"), refused(noTrivia)],
  ["addExtensionTriviaQuestion", "admin", () => sdk.addExtensionTriviaQuestion({ id: "q1", name: "Best spoon" }), refused(noTrivia)],
  ["removeExtensionTriviaQuestion", "admin", () => sdk.removeExtensionTriviaQuestion("q1"), refused(noTrivia)],
  ["addExtensionTriviaOptionToQuestion", "admin", () => sdk.addExtensionTriviaOptionToQuestion("q1", { id: "wood" }), refused(noTrivia)],
  ["removeExtensionTriviaOptionFromQuestion", "admin", () => sdk.removeExtensionTriviaOptionFromQuestion("q1", "wood"), refused(noTrivia)],
  ["setExtensionTriviaQuestionState", "admin", () => sdk.setExtensionTriviaQuestionState("q1", Muxy.TriviaQuestionState.Locked), refused(noTrivia)],
  ["getExtensionUsers", "admin", () => sdk.getExtensionUsers().then((u) => [u.next, u.results.some((r) => r.twitch_id === "2001")]), works(["0", true])],
  ["setExtensionState, as a viewer", "viewer", () => sdk.setExtensionState({}), refused("The JWT role is not allowed to perform this operation.")],
];

// call runs in the page.
async function call(source) {
  try {
    const value = await (0, eval)(`(${source})`)();
    return value === undefined ? {} : { value };
  } catch (e) {
    return { reason: e?.reason ?? String(e) };
  }
}

test("every method of the SDK has an outcome, which the page about moving names", async (t) => {
  const pages = {};
  for (const [role, claim] of Object.entries(claims)) {
    const opened = (pages[role] = await onPlatform(browser, origin, claim));
    t.after(() => opened.page.close());
    // The tests' own requests: write as the channel's back end would.
    await opened.frame.evaluate(([address]) => {
      window.api = address;
      window.write = async (route, body) => {
        const answer = await fetch(`${address}/${route}`, { method: "POST", headers: { Authorization: window.backend }, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(await answer.text());
      };
    }, [origin + "/v1/e"]);
  }
  const backend = "sample-extension " + sign({ role: "backend", channel_id: "1" });
  for (const { frame } of Object.values(pages)) await frame.evaluate((credential) => { window.backend = credential; }, backend);

  const table = [];
  for (const [name, role, run, outcome] of rows) {
    await t.test(name, async () => {
      const { frame, answers } = pages[role];
      const before = answers.length;
      outcome.check(await frame.evaluate(`(${call})(${JSON.stringify(String(run))})`));
      if (name !== "getJSONStore, never written") {
        for (const { status, method, path } of answers.slice(before)) assert.ok(status !== 404 && status !== 405, `${method} ${path} is answered ${status}`);
      }
      assert.ok(outcome.inPage || answers.length > before, "no request");
    });
    table.push(`| \`${name.replace(/, .*/, "")}\`${name.replace(/^[^,]*/, "")} | ${role} | ${outcome.text} |`);
  }

  await t.test("no method is left out", async () => {
    const methods = await pages.viewer.frame.evaluate(() => [
      ...Object.getOwnPropertyNames(Muxy.SDK.prototype).filter((name) => name !== "constructor" && name !== "setup"),
      ...Object.keys(sdk.client).filter((name) => /^patch/.test(name)).map((name) => "client." + name),
    ]);
    const called = new Set(rows.map(([name]) => name));
    assert.deepEqual(methods.filter((name) => !called.has(name)), []);
  });
  await t.test("the page has this table", async () => {
    const moving = await readFile(path.join(root, "services/docs/moving-methods.md"), "utf8");
    assert.ok(moving.includes(table.join("\n")), "services/docs/moving-methods.md must have\n" + table.join("\n"));
  });
});

test("a developer's page on localhost uses the sandbox", async (t) => {
  const { page, answers } = await onLocalhost(browser, origin, "broadcaster");
  t.after(() => page.close());
  const heard = await page.evaluate(async (api) => {
    const events = new EventSource(`${api}/events?access_token=${encodeURIComponent(`sample-extension ${sdk.user.twitchJWT}`)}`);
    await new Promise((resolve) => events.addEventListener("open", resolve));
    const message = new Promise((resolve) => events.addEventListener("broadcast", (m) => resolve(JSON.parse(m.data))));
    sdk.send("hello", { a: 1 });
    return message;
  }, origin + "/sandbox/v1/e");
  assert.deepEqual(heard, { event: "sandbox:sample-extension:hello", data: { a: 1 } });
  await page.evaluate(() => {
    window.purchased = new Promise((resolve) => sdk.onUserPurchase((tx, sent) => resolve(sent)));
    sdk.purchase("spoons");
  });
  await page.waitForTimeout(0);
  await page.clock.fastForward(4000); // the SDK thinks about a purchase for 3 s
  assert.deepEqual(await page.evaluate(() => window.purchased), {});
  assert.equal((await page.evaluate(() => sdk.signedRequest("GET", "coins"))).balance, 10);
  assert.deepEqual(answers.filter(({ status }) => status >= 400), []);
});
