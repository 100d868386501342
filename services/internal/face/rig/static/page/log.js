// The log of calls: what extensions ask of the helper, and what the helper reports to them.

import { make } from "./dom.js";

const limit = 500; // entries

export class Log {
  constructor(list) {
    this.list = list;
  }

  // add appends an entry; direction is "→" for a call of the extension and "←" for what it receives.
  add(who, direction, name, values = []) {
    const text = values.map((value) => JSON.stringify(value) ?? "undefined").join(", ");
    const short = text.length > 300 ? `${text.slice(0, 300)}…` : text;
    const atEnd = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 40;
    this.list.append(make("li", { className: direction === "!" ? "failure" : "" },
      `${new Date().toTimeString().slice(0, 8)} ${who} ${direction} ${name}(${short})`));
    while (this.list.children.length > limit) this.list.firstChild.remove();
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
  }

  clear() {
    this.list.replaceChildren();
  }
}
