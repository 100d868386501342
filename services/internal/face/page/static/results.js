// The results of a poll as files: a table for spreadsheets, and a picture for posts.

import { number } from "./desk.js";
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

// save has the browser save a file. The name of a poll may have characters that a file's may not.
export function save(name, content) {
  const address = URL.createObjectURL(content), link = document.createElement("a");
  [link.href, link.download] = [address, name.replace(/[\\/:*?"<>|\p{C}]/gu, "_")];
  link.click();
  URL.revokeObjectURL(address);
}
