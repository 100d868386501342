// A view that shows the broadcaster's configuration, and can try to change it.
const { configuration, onError } = window.Twitch.ext;

configuration.onChanged(() => {
  const { broadcaster, developer, global } = configuration;
  const team = broadcaster ? `${JSON.parse(broadcaster.content).team} ${broadcaster.version}` : "unset";
  document.getElementById("shown").textContent = `${team}, ${developer?.content}, ${global?.content}`;
});
onError((reason) => { document.getElementById("failure").textContent = reason; });
document.getElementById("save").onclick = () =>
  configuration.set("broadcaster", "1.0", JSON.stringify({ team: document.getElementById("team").value }));
