// The games of a channel and its overlay keys.

import { button, desk, id, named, on } from "./desk.js";
import { element, keepFocus, lines, takeTurns } from "./dom.js";

export const listGames = takeTurns(async () => {
  const { games } = await desk.client.request("GET", "/gamelink/games");
  keepFocus(id("games"), games.map((g) => {
    const name = `${g.server ? "a game of all channels" : "a game"}, paired ${g.created ? new Date(g.created * 1000).toLocaleString() : "by an earlier version"}`;
    const end = button("End", name, async () => {
      await desk.client.request("DELETE", `/gamelink/games${named(g.id)}`);
      await listGames();
    });
    end.dataset.key = g.id;
    return element("li", "", {}, element("span", name), end);
  }), "No game is paired.");
});

export const listKeys = takeTurns(async () => {
  const { keys } = await desk.client.request("GET", "/overlay_keys");
  keepFocus(id("keys"), keys.map((k) => {
    const name = k.name || "a key without a name";
    const revoke = button("Revoke", name, async () => {
      await desk.client.request("DELETE", `/overlay_keys${named(k.id)}`);
      await listKeys();
    });
    revoke.dataset.key = k.id;
    return element("li", "", {}, element("bdi", name), element("span", [...(k.polls ?? (k.questions ? [] : ["all polls"])), ...(k.questions ?? [])].join(", ")), revoke);
  }), "There are none.");
});

// shownBy returns the parameters of an overlay's address, and the rights of a key for it.
function shownBy(form) {
  const kind = form.get("kind"), shown = form.get("shown");
  if (kind === "live") return [[["poll", "*"]], {}];
  if (kind === "poll") return [[["poll", shown]], { polls: [shown] }];
  const questions = kind === "question" ? [shown] : lines(form.get("several"));
  return [questions.map((question) => ["question", question]), { questions }];
}

async function makeKey(form) {
  const [parameters, rights] = shownBy(form);
  const key = await desk.client.request("POST", "/overlay_keys", { name: form.get("name"), ...rights });
  const address = new URL(`./?${new URLSearchParams([["env", desk.environment], ...parameters])}#access_token=${encodeURIComponent(key.credential)}`, location.href);
  id("made").hidden = false;
  id("address").value = address;
  await listKeys();
  id("address").focus();
  id("address").select();
}

on("key", "submit", makeKey);
on("kind", "change", () => {
  const kind = id("kind").value;
  id("shown").hidden = id("shown").querySelector("input").disabled = !["poll", "question"].includes(kind);
  id("several").hidden = id("several").querySelector("textarea").disabled = kind !== "questions";
});
on("copy", "click", () => navigator.clipboard.writeText(id("address").value));
