// The public result of a poll, which everyone may read, without a credential.

const every = 1000, longest = 30000; // milliseconds

// publicPath returns the path of a result. base is that of the API, owner `<client id>/<channel>`.
export function publicPath(base, owner, poll) {
  const [client, ...channel] = owner.split("/");
  const elements = [client, channel.join("/") || "-", poll].map(encodeURIComponent);
  return `${base.replace(/\/[^/]*$/, "")}/public/${elements.join("/")}/result.json`;
}

// followPublic reads a result once a second, and less often while that fails. heard is called with
// each new one, or null while there is none, and failed with a reason.
export function followPublic(path, { heard, failed }) {
  let tag = "", wait = every;
  const read = async () => {
    try {
      const answer = await fetch(path, { credentials: "omit", headers: tag ? { "If-None-Match": tag } : {} });
      if (answer.ok || answer.status === 404) {
        const value = await answer.json();
        tag = answer.ok ? answer.headers.get("ETag") ?? "" : "";
        heard(answer.ok ? value : null);
      } else if (answer.status !== 304) throw new Error(`the server answered ${answer.status}`);
      wait = every;
    } catch {
      failed("Reconnecting…");
      wait = Math.min(wait * 2, longest);
    }
    setTimeout(read, wait * (0.75 + Math.random() / 2));
  };
  read();
}
