// The answers to a question as a cloud of words: the more give one, the larger it is. Of several
// questions it shows the live one.

import { LiveQuestion } from "./live.js";
import { number, percent, text } from "./texts.js";

const id = (name) => document.getElementById(name);
const most = 40; // words

let answers = []; // as GET /rank has them, the best first
let sizes = []; // of the words, between 0 and 1

// followAnswers shows the answers to a question until the page is closed: those to the live one
// of several, none between two. entitle is called with the question that is shown, or null, and whether it has answers;
// say tells the reader why nothing changes for now, check whether trying again is of use.
export function followAnswers(client, questions, linger, { entitle, say, check }) {
  const live = questions.length > 1 ? new LiveQuestion(linger) : null;
  const boards = new Map(); // by question
  let heard = 0, shown;
  const pick = () => live ? live.pick((Date.now() + client.skew) / 1000) : questions[0];
  const render = () => {
    shown = pick();
    const found = boards.get(shown)?.data ?? [];
    entitle(shown, found.length > 0);
    show(found);
  };
  const keep = (question, board) => {
    boards.set(question, { data: board.data.slice(0, most) });
    live?.update(question, board);
  };
  const read = async () => {
    const before = heard, found = await Promise.all(questions.map((q) => client.request("GET", `/rank?id=${encodeURIComponent(q)}&limit=${most}`)));
    if (before !== heard) return read();
    questions.forEach((question, n) => keep(question, found[n]));
    render();
  };
  client.listen(questions.map((q) => `rank_update:${q}`), {
    opened: () => { say(""); read().catch((e) => say(e.message)); },
    closed: () => { say(text("reconnecting")); check(client); },
    heard: (name, board) => { heard++; keep(board.id, board); render(); },
  });
  if (live) setInterval(() => { if (pick() !== shown) render(); }, 250); // nothing is asked for
  new ResizeObserver(fit).observe(id("cloud"));
}

function show(found) {
  answers = found;
  const top = answers[0]?.score ?? 1;
  sizes = answers.map((answer) => 0.35 + 0.65 * Math.sqrt(answer.score / top));
  id("cloud").replaceChildren(...answers.map((answer, rank) => {
    const word = document.createElement("li");
    const shown = document.createElement("bdi");
    shown.textContent = answer.key;
    word.append(shown);
    word.dataset.leads = rank === 0;
    word.style.order = rank % 2 === 0 ? rank : -rank; // the best in the middle
    return word;
  }));
  const sum = answers.reduce((n, a) => n + a.score, 0), total = text("answers", { n: sum });
  id("total").textContent = total;
  const spoken = answers.length > 0 ? text("leads", { names: answers[0].key, share: percent.format(answers[0].score / sum), total }) : text("noAnswersYet");
  if (id("spoken").textContent !== spoken) id("spoken").textContent = spoken;
  fit();
}

// fit gives the words the largest sizes with which all of them are in sight.
function fit() {
  const cloud = id("cloud");
  const size = (scale) => {
    [...cloud.children].forEach((word, n) => { word.style.fontSize = `${scale * sizes[n]}em`; });
    return cloud.scrollHeight <= cloud.clientHeight;
  };
  let [low, high] = [0.1, 6];
  for (let step = 0; step < 8; step++) {
    const middle = (low + high) / 2;
    if (size(middle)) low = middle; else high = middle;
  }
  size(low);
}
