// The staff keys with which moderators work for a channel.

import { button, clock, desk, id, named, on } from "./desk.js";
import { element, keepFocus, takeTurns } from "./dom.js";

export const listModerators = takeTurns(async () => {
  const { keys } = await desk.client.request("GET", "/staff_keys");
  keepFocus(id("moderators"), keys.map((k) => {
    const revoke = button("Revoke", k.name, async () => {
      await desk.client.request("DELETE", `/staff_keys${named(k.id)}`);
      await listModerators();
    });
    revoke.dataset.key = k.id;
    const rights = k.session ? `${k.broadcaster ? "broadcaster" : k.scopes.join(" and ")}, signed in at ${clock(k.created * 1000)}` : `${k.scopes.join(" and ")}, until ${new Date(k.expires * 1000).toLocaleDateString("en", { dateStyle: "medium" })}`;
    return element("li", "", {}, element("bdi", k.name), element("span", rights), revoke);
  }), "There are none.");
});

async function makeModerator(form) {
  const scopes = ["polls", "answers"].filter((scope) => form.has(scope));
  const expires = Math.floor(Date.now() / 1000) + Number(form.get("days")) * 24 * 60 * 60 - 60; // clocks differ
  const key = await desk.client.request("POST", "/staff_keys", { name: form.get("name"), scopes, expires });
  id("moderator").reset();
  id("moderator-made").hidden = false;
  id("moderator-link").value = new URL(`staff.html?env=${desk.environment}#access_token=${encodeURIComponent(key.credential)}`, location.href);
  await listModerators();
  id("moderator-link").focus();
  id("moderator-link").select();
}

on("moderator", "submit", makeModerator);
on("moderator-copy", "click", () => navigator.clipboard.writeText(id("moderator-link").value));
