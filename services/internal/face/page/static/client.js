// A client of one environment of the API with one credential.

export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

export class Client {
  // base is the path of the API, credential the value of the Authorization header, "" for none.
  constructor(base, credential) {
    this.base = base;
    this.credential = credential;
    this.skew = 0; // of the server's clock, in milliseconds, as its latest answer has it
  }

  // request returns the answer to a request, with more headers, and throws Refused for any but 2xx.
  async request(method, path, body, more = {}) {
    const headers = { ...more };
    if (this.credential) headers.Authorization = this.credential;
    const answer = await fetch(this.base + path, {
      method, headers, cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const date = Date.parse(answer.headers.get("Date")); // in whole seconds
    if (date) this.skew = date + 500 - Date.now();
    const value = (answer.headers.get("Content-Type") ?? "").includes("json") ? await answer.json() : await answer.text();
    if (!answer.ok) throw new Refused(answer.status, value.reason ?? answer.statusText);
    return value;
  }

  // listen hears events until the returned function is called. opened is called
  // each time listening has begun, when what is known has to be read anew; heard
  // with name and data of each event; closed with a reason when nothing is heard
  // for now.
  listen(topics, { opened, heard, closed }) {
    let source, timer, wait = 500, ended = false;
    const query = new URLSearchParams(topics.map((t) => ["topic", t]));
    if (this.credential) query.set("access_token", this.credential);
    const connect = () => {
      source = new EventSource(`${this.base}/events?${query}`);
      source.onopen = () => { wait = 500; opened(); };
      source.onerror = () => {
        closed("Reconnecting…");
        if (source.readyState !== EventSource.CLOSED || ended) return; // it tries again by itself
        timer = setTimeout(connect, wait * (0.5 + Math.random()));
        wait = Math.min(wait * 2, 15000);
      };
      for (const target of ["broadcast", "global"]) {
        source.addEventListener(target, (message) => {
          const { event, data } = JSON.parse(message.data);
          const name = event.split(":").slice(2).join(":");
          if (name === "resync") opened(); else heard(name, data);
        });
      }
    };
    connect();
    return () => { ended = true; clearTimeout(timer); source.close(); };
  }
}
