// The results of a poll: a chart of their history, a table for spreadsheets, and a picture for posts.

import { clock, count, id, number } from "./desk.js";
import { element } from "./dom.js";
import { percentages } from "./tally.js";

// cell quotes a value for CSV. Spreadsheets run what begins like a formula, so an apostrophe comes before it.
function cell(value) {
  const text = String(value).replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// writeTable returns a table of the options, with lines and the mark of UTF-8 as spreadsheets read them.
export function writeTable(options) {
  const shares = percentages(options.map((o) => o.votes));
  const rows = [["Option", "Votes", "Share"], ...options.map((o, n) => [o.label, o.votes, `${shares[n]} %`])];
  return new Blob(["\uFEFF", ...rows.map((row) => row.map(cell).join(",") + "\r\n")], { type: "text/csv" });
}

const width = 1200, margin = 60, row = 110;

// drawPicture returns a picture of the question and the bars of its options, in the colours of the page.
export async function drawPicture(title, state, options) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), inner = width - 2 * margin;
  const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
  const accent = getComputedStyle(document.querySelector("button:not(.quiet)")).backgroundColor;
  [canvas.width, canvas.height] = [width, 220 + row * options.length];
  const write = (text, x, y, size, align = "left", room = inner) => {
    [context.font, context.textAlign, context.fillStyle] = [`600 ${size}px ${fontFamily}`, align, color];
    context.fillText(shorten(context, text, room), x, y);
  };
  context.fillStyle = backgroundColor;
  context.fillRect(0, 0, width, canvas.height);
  write(title, margin, 100, 48);
  const shares = percentages(options.map((o) => o.votes)), most = Math.max(1, ...options.map((o) => o.votes));
  for (const [n, o] of options.entries()) {
    const y = 170 + row * n;
    write(o.label, margin, y, 32, "left", inner - 300);
    write(`${shares[n]} %  ·  ${number.format(o.votes)}`, width - margin, y, 32, "right", 280);
    context.fillStyle = accent;
    context.fillRect(margin, y + 16, Math.max(4, (inner * o.votes) / most), 28);
  }
  write(state, margin, canvas.height - 40, 26);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// shorten returns a text that fits, by whole characters.
function shorten(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = [...text];
  while (letters.length > 0 && context.measureText(letters.join("") + "…").width > room) letters.pop();
  return letters.join("") + "…";
}

const lines = 6; // of the options with the most votes

// drawHistory draws the votes of each option over time into the page.
export function drawHistory(points, options) {
  const svg = (name, attributes) => {
    const made = document.createElementNS(id("chart").namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const shown = options.sort((a, b) => b.votes - a.votes).slice(0, lines);
  const most = Math.max(0, ...points.flatMap((p) => shown.map((o) => p.specific[o.value]))), top = Math.max(1, most);
  const first = points[0]?.at ?? 0, span = Math.max(1, (points.at(-1)?.at ?? 0) - first);
  const x = (at) => 10 + (580 * (at - first)) / span, y = (votes) => 225 - (210 * votes) / top;
  id("chart").replaceChildren(svg("line", { class: "axis", x1: 10, y1: 225, x2: 590, y2: 225 }), ...shown.map((o, n) =>
    svg("polyline", { class: `line line-${n}`, points: points.map((p) => `${x(p.at).toFixed(1)},${y(p.specific[o.value]).toFixed(1)}`).join(" ") })));
  const time = (at) => clock(at * 1000);
  id("chart").setAttribute("aria-label", points.length === 0 ? "No votes yet" :
    `Votes from ${time(first)} to ${time(first + span)}: ${shown.map((o) => `${o.label} ${points.at(-1).specific[o.value]}`).join(", ")}`);
  id("range").textContent = points.length === 0 ? "No votes yet." : `From ${time(first)} to ${time(first + span)}, up to ${count(most, "vote")} for an option.`;
  id("legend").replaceChildren(...shown.map((o, n) => element("li", "", {}, element("span", "", { class: `key line-${n}` }), element("bdi", o.label))));
}
