// A panel that reads the viewer's identity, asks its backend with the token, and follows the context.
const show = (id, text) => { document.getElementById(id).textContent = text; };
const { ext } = window.Twitch;
const backend = "http://127.0.0.1:8080"; // the test has another one

let authorized = 0;
ext.onAuthorized(async ({ channelId, clientId, token, userId }) => {
  authorized += 1;
  const { id, isLinked, role } = ext.viewer;
  show("who", `${authorized} ${clientId} ${channelId} ${userId} ${role} ${isLinked} ${id}`);
  const answer = await fetch(`${backend}/v1/e/user_info`, { headers: { Authorization: `${clientId} ${token}` } });
  show("answer", `${answer.status}`);
  document.body.dataset.token = token;
});
ext.onContext((context, changed) => show("theme", `${context.theme} ${context.mode} ${context.game} ${context.hlsLatencyBroadcaster} ${changed.length}`));
ext.onVisibilityChanged((visible) => show("visible", String(visible)));
ext.onError((reason) => show("failure", reason));
ext.actions.onFollow((followed, channel) => show("failure", `followed ${channel}: ${followed}`));
document.getElementById("share").onclick = () => ext.actions.requestIdShare();
document.getElementById("follow").onclick = () => ext.actions.followChannel("tea");
fetch("https://example.org/").then(() => show("foreign", "asked"), () => show("foreign", "refused"));
