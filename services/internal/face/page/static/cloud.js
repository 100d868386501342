// The answers to a question as a cloud of words: the more give one, the larger it is.

const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en");
const most = 40; // words

let answers = []; // as GET /rank has them, the best first

// followAnswers shows the answers to a question until the page is closed. say tells its
// reader why nothing changes for now, check whether trying again is of use.
export function followAnswers(client, question, { say, check }) {
  let heard = 0;
  const read = async () => {
    const before = heard, { data } = await client.request("GET", `/rank?id=${encodeURIComponent(question)}&limit=${most}`);
    if (before === heard) show(data);
  };
  client.listen([`rank_update:${question}`], {
    opened: () => { say(""); read().catch((e) => say(e.message)); },
    closed: (reason) => { say(reason); check(client); },
    heard: (name, { data }) => { heard++; show(data.slice(0, most)); },
  });
  new ResizeObserver(fit).observe(id("cloud"));
}

function show(found) {
  answers = found;
  id("cloud").replaceChildren(...answers.map((answer, rank) => {
    const word = document.createElement("li");
    const text = document.createElement("bdi");
    text.textContent = answer.key;
    word.append(text);
    word.dataset.leads = rank === 0;
    word.style.order = rank % 2 === 0 ? rank : -rank; // the best in the middle
    return word;
  }));
  const sum = answers.reduce((n, a) => n + a.score, 0);
  id("total").textContent = `${number.format(sum)} ${sum === 1 ? "answer" : "answers"}`;
  id("spoken").textContent = answers.length > 0 ? `${answers[0].key} leads with ${number.format(answers[0].score)} of ${number.format(sum)} answers.` : "No answers yet.";
  fit();
}

// fit gives the words the largest sizes with which all of them are in sight.
function fit() {
  const cloud = id("cloud"), top = answers[0]?.score ?? 1;
  const size = (scale) => {
    [...cloud.children].forEach((word, n) => { word.style.fontSize = `${scale * (0.35 + 0.65 * Math.sqrt(answers[n].score / top))}em`; });
    return cloud.scrollHeight <= cloud.clientHeight;
  };
  let [low, high] = [0.1, 6];
  for (let step = 0; step < 8; step++) {
    const middle = (low + high) / 2;
    if (size(middle)) low = middle; else high = middle;
  }
  size(low);
}
