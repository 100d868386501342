// Helpers for pages.

// element returns a new element with text, and what else it has.
export function element(name, text = "", attributes = {}, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// lines returns the lines of a text that are not blank.
export const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");

// takeTurns returns the action such that one of its runs begins after the one before has
// ended: an older answer never replaces a newer one. A call while a run waits joins it.
export function takeTurns(action) {
  let last = Promise.resolve(), waiting = null;
  return () => waiting ??= last = last.catch(() => {}).then(() => {
    waiting = null;
    return action();
  });
}

// keepFocus replaces the items of a list. What had the focus has it afterwards, or the
// list's heading if it is gone.
export function keepFocus(list, items, empty) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  list.replaceChildren(...(items.length > 0 ? items : [element("li", empty, { class: "hint" })]));
  if (focused === undefined) return;
  const again = [...list.querySelectorAll("button")].find((b) => b.dataset.key === focused);
  (again ?? list.querySelector("button") ?? document.getElementById(`${list.id}-title`))?.focus();
}

const loaded = new WeakMap(); // what forms were filled with last

// fill puts values into the fields of a form. A field that a person has changed since stays,
// unless all are to be replaced.
export function fill(form, values, all = false) {
  const before = loaded.get(form) ?? {};
  for (const [name, value] of Object.entries(values)) {
    const field = form.elements[name], kind = field.type === "checkbox" ? "checked" : "value";
    if (all || field[kind] === before[name] || before[name] === undefined) field[kind] = value;
  }
  loaded.set(form, { ...before, ...values });
}

// changed returns the fields of a form that differ from what it was filled with.
export function changed(form) {
  const before = loaded.get(form) ?? {};
  return Object.keys(before).filter((name) => {
    const field = form.elements[name];
    return field[field.type === "checkbox" ? "checked" : "value"] !== before[name];
  });
}

// takeBackIn is the time in seconds in which an action can be taken back.
const takeBackIn = 8;

// later runs an action after a wait in which a person can take it back. The request is sent
// after the wait: it has no undo, and a page that is closed meanwhile sends none.
export function later(place, what, action) {
  return new Promise((resolve) => {
    let left = takeBackIn;
    const text = element("span"), back = element("button", "Take back", { type: "button" });
    const end = (run) => {
      clearInterval(timer);
      place.replaceChildren();
      resolve(run ? action() : undefined);
    };
    const tick = () => { text.textContent = `${what} in ${left} s. `; };
    const timer = setInterval(() => { left--; if (left > 0) tick(); else end(true); }, 1000);
    back.addEventListener("click", () => end(false));
    tick();
    place.replaceChildren(text, back);
    back.focus();
  });
}

// save has the browser save a file. The name of a poll may have characters that a file's may not.
export function save(name, content) {
  const address = URL.createObjectURL(content), link = document.createElement("a");
  [link.href, link.download] = [address, name.replace(/[\\/:*?"<>|\p{C}]/gu, "_")];
  link.click();
  URL.revokeObjectURL(address);
}
