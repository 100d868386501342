// Elements, and requests to the rig.

// make returns an element with properties and children.
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// field returns a label around a control.
export const field = (text, control) => make("label", {}, `${text} `, control);

// choice returns a list to choose from.
export function choice(options, value, onchange) {
  const select = make("select", {}, ...options.map((option) => make("option", { value: option, textContent: option })));
  select.value = value;
  select.onchange = () => onchange(select.value);
  return select;
}

export function tick(checked, onchange) {
  const box = make("input", { type: "checkbox", checked });
  box.onchange = () => onchange(box.checked);
  return box;
}

export async function ask(path, body) {
  const answer = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.reason ?? answer.statusText);
  return content;
}

// remembered reads what this browser has kept under a name; keep writes it.
export function remembered(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export const keep = (name, value) => localStorage.setItem(name, JSON.stringify(value));
