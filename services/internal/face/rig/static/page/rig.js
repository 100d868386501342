// The page of the rig: views side by side, and the controls of their surroundings.

import { Channel, segments } from "./channel.js";
import { ask, choice, field, make, tick } from "./dom.js";
import { Log } from "./log.js";
import { View, kinds, roles } from "./view.js";

const at = (id) => document.getElementById(id);
const log = new Log(at("log"));
const channel = new Channel(await ask("/settings"), log);
at("where").textContent = `${channel.clientId}, channel ${channel.channel}, backend ${channel.api}`;
at("clear").onclick = () => log.clear();

window.addEventListener("message", ({ source, origin, data }) => {
  if (origin !== channel.extension || data?.rig !== "call" || !Array.isArray(data.args)) return;
  for (const view of channel.views) {
    if (view.frame.contentWindow === source) view.called(data);
  }
});

function add(options) {
  const view = new View(channel, options);
  channel.views.add(view);
  at("views").append(view.element);
}

function buildAdder() {
  const present = Object.keys(kinds).filter((kind) => channel.files[kind]);
  const kind = choice(present, present[0], () => {});
  const role = choice(roles, "viewer", (value) => { user.disabled = value === "broadcaster"; });
  const user = make("input", { value: "2002", size: 8 });
  user.maxLength = 60;
  const button = make("button", { type: "button", textContent: "Add view" });
  button.onclick = () => add({ kind: kind.value, role: role.value, user: role.value === "broadcaster" ? channel.channel : user.value.trim() });
  at("adder").append(field("View", kind), field("Role", role), field("User id (empty: no login)", user), button);
}

function buildContext() {
  const set = (name) => (value) => channel.setContext({ [name]: value });
  const { context } = channel;
  const text = (name, type = "text") => {
    const input = make("input", { type, value: context[name], size: 12, min: 0 });
    input.onchange = () => set(name)(type === "number" ? Number(input.value) : input.value);
    return input;
  };
  const player = choice(["640x360", "960x540", "1280x720"], context.displayResolution, (value) => {
    for (const view of channel.views) if (kinds[view.kind].player) view.resize(...value.split("x"));
    set("displayResolution")(value);
  });
  at("context").append(
    field("Theme", choice(["light", "dark"], context.theme, set("theme"))),
    field("Language", choice(["en", "de", "es", "fr", "ja", "ko", "pt-br"], context.language, set("language"))),
    field("Player size", player), field("Playback", choice(["video", "audio", "remote", "chat-only"], context.playbackMode, set("playbackMode"))),
    field("Game", text("game")), field("Delay, s", text("hlsLatencyBroadcaster", "number")), field("Volume", text("volume", "number")),
    ...["isMuted", "isPaused", "isFullScreen", "isTheatreMode", "arePlayerControlsVisible"].map((name) => field(name, tick(context[name], set(name)))),
    ...Object.keys(channel.features).map((name) => field(name, tick(true, (on) => channel.setFeature(name, on)))));
}

function buildConfiguration() {
  const rows = segments.map((segment) => {
    const version = make("input", { size: 6 }), content = make("textarea", { rows: 2, cols: 40 });
    const button = make("button", { type: "button", textContent: `Set ${segment}` });
    button.onclick = () => {
      const refusal = channel.configure(segment, version.value, content.value);
      if (refusal) log.add("rig", "!", "configuration.set", [refusal]);
    };
    at("configuration").append(make("p", {}, make("b", { textContent: segment }), field(" version", version), field(" content", content), button));
    return { segment, version, content };
  });
  channel.onconfigured = () => {
    for (const { segment, version, content } of rows) {
      version.value = channel.configuration[segment]?.version ?? "";
      content.value = channel.configuration[segment]?.content ?? "";
    }
  };
  channel.onconfigured();
  at("configuration").append(field("Open views receive changes at once", tick(false, (on) => { channel.atOnce = on; })));
}

function buildMessages() {
  const target = make("input", { value: "broadcast", size: 20 }), message = make("textarea", { rows: 2, cols: 40 });
  const send = make("button", { type: "button", textContent: "Send as the backend" });
  send.onclick = () => {
    const refusal = channel.deliver(target.value, "application/json", message.value);
    if (refusal) log.add("rig", "!", "send", [refusal]);
  };
  const products = make("textarea", { rows: 3, cols: 40, value: channel.products });
  products.onchange = () => channel.setProducts(products.value);
  at("messages").append(field("Target", target), field("Message", message), send);
  at("bits").append(field("Products: sku, bits and name, one a line", products),
    field("All views receive purchases", tick(false, (on) => { channel.announced = on; })));
}

buildAdder();
buildContext();
buildConfiguration();
buildMessages();
channel.follow();
for (const kind of Object.keys(kinds).filter((name) => channel.files[name])) {
  const broadcaster = kinds[kind].mode !== "viewer";
  add({ kind, role: broadcaster ? "broadcaster" : "viewer", user: broadcaster ? channel.channel : "2001" });
}
