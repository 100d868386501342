// The page: it takes receipt, key and address, lets a worker check, and shows the report.

import workerScript from "worker:script";

import { text } from "../src/bytes.js";
import { type ReceiptReport, type Verdict, describeReceipt } from "../src/index.js";
import type { Message, Request } from "./messages.js";

const find = <T extends HTMLElement = HTMLElement>(id: string): T => document.getElementById(id) as T;
const field = (id: string): HTMLTextAreaElement => find<HTMLTextAreaElement>(id);

// element returns an element with a text, which cannot become markup.
function element(tag: string, content: string, attributes: Record<string, string> = {}): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = content;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const site = field("site");
let typed = false; // the viewer has changed the address

// showReceipt names the poll of the receipt, and fills in the address of its log.
function showReceipt(): void {
  const named = find("named");
  try {
    const { name, log, site: address } = describeReceipt(field("receipt").value);
    named.textContent = `Receipt of the poll “${name.poll}” of ${name.client}${name.channel && `, channel ${name.channel}`}, in the log ${log}`;
    if (!typed) site.value = address;
    named.hidden = false;
  } catch {
    named.hidden = true;
  }
  showHost();
}

// showHost warns where the page comes from the server that it checks.
function showHost(): void {
  let same = false;
  try {
    same = location.host !== "" && new URL(site.value).hostname === location.hostname;
  } catch {
    // not an address yet
  }
  find("own-host").hidden = !same;
}

async function takeFile(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    field("receipt").value = text(new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    refuse(`${file.name} is no receipt: ${error instanceof Error ? error.message : String(error)}`);
  }
  showReceipt();
}

function refuse(why: string): void {
  find("refused").textContent = why;
  find("refused").hidden = false;
}

let worker: Worker | undefined;
let onMessage: ((message: Message) => void) | undefined; // while a check runs

// startWorker makes the worker of all checks from the script in this file, before the first one needs it.
function startWorker(): Worker {
  const address = URL.createObjectURL(new Blob([workerScript], { type: "text/javascript" }));
  const started = new Worker(address);
  started.addEventListener("message", ({ data }: MessageEvent<Message>) => onMessage?.(data));
  started.addEventListener("error", () => {
    worker = undefined;
    onMessage?.({ refused: "this browser does not run the checker. Try a current one" });
  });
  return started;
}

function start(): void {
  find("refused").hidden = find("report").hidden = true;
  const button = find<HTMLButtonElement>("check"), progress = find<HTMLProgressElement>("progress");
  button.disabled = true;
  progress.removeAttribute("value");
  progress.hidden = false;
  onMessage = (message) => {
    if ("progress" in message) {
      progress.value = message.progress;
      return;
    }
    if ("before" in message) {
      show(message.before, true);
      return;
    }
    onMessage = undefined;
    button.disabled = false;
    progress.hidden = true;
    if ("refused" in message) refuse(`Not checked: ${message.refused}.`);
    else show(message.report, false);
  };
  const receipt = field("receipt").value;
  const request: Request = {
    receipt: receipt.endsWith("\n") ? receipt : receipt + "\n", // which is easily lost when one copies a text
    options: { key: field("key").value.split(/\s+/).filter(Boolean), site: site.value.trim(), policy: field("policy").value.trim() && field("policy").value, monitor: field("monitor").value.trim() },
  };
  (worker ??= startWorker()).postMessage(request);
}

const marks = { yes: ["✓", "Yes"], no: ["✗", "No"], unknown: ["?", "Not known"] } as const;

function verdictRow(question: string, verdict: Verdict): HTMLElement {
  const row = element("li", "", { "data-answer": verdict.answer });
  const [mark, word] = marks[verdict.answer];
  const told = element("div", "");
  told.append(element("strong", `${question} ${word}.`), element("span", verdict.text));
  row.append(element("span", mark, { class: "mark", "aria-hidden": "true" }), told);
  return row;
}

// show shows a report, which may be that before the recount.
function show(report: ReceiptReport, counting: boolean): void {
  const shown = !find("report").hidden;
  showVote(report);
  find("verdicts").replaceChildren(
    verdictRow("Is your vote recorded?", report.recorded),
    verdictRow("Is it counted?", report.counted),
    verdictRow("Is the result the same for all viewers?", report.same),
  );
  find("missing").hidden = report.missing === undefined;
  find("missing").textContent = `The check is not complete, as something is missing: ${report.missing ?? ""}.`;
  find("wrong").hidden = report.findings.length === 0;
  find("findings").replaceChildren(...report.findings.map((f) => {
    const row = element("li", f.sentence + " ");
    row.append(element("small", `(${f.kind}: ${f.detail}${f.cases > 1 ? `; ${f.cases} cases` : ""})`));
    return row;
  }));
  showResult(report, counting);
  find("report").hidden = false;
  if (!shown) find("report").focus();
}

function showVote(report: ReceiptReport): void {
  const rows: [string, string | undefined][] = [
    ["Poll", report.name.poll],
    ["Question", report.question],
    ["Your vote", report.vote],
    ["Weight", report.weight?.toString()],
    ["In the log since", report.at === undefined ? undefined : new Date(report.at).toLocaleString()],
    ["Entry", report.index === undefined ? undefined : `${report.index} of voter ${report.voter}`],
  ];
  find("vote").replaceChildren(...rows.flatMap(([name, value]) => (value === undefined ? [] : [element("dt", name), element("dd", value, { dir: "auto" })])));
}

function showResult({ result, recount, findings }: ReceiptReport, counting: boolean): void {
  find("result").hidden = !result || findings.length > 0;
  find("options").replaceChildren(...(result ?? []).map(({ option, count }) => {
    const row = element("tr", "");
    row.append(element("td", option, { dir: "auto" }), element("td", count.toLocaleString()));
    return row;
  }));
  find("recount").textContent = counting ? "All votes are being counted again …" : "Not counted again: the list of votes is not public.";
  if (!recount) return;
  const { votes, ballots, byStaff, noNonce, erasures } = recount;
  find("recount").textContent = `Counted again: ${votes} votes of ${ballots} voters. ${byStaff} of the votes were submitted by staff or the extension’s own server; `
    + `${noNonce} have no secret, so their voters cannot recognize them. ${erasures} viewers were erased.`;
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
field("receipt").addEventListener("input", showReceipt);
site.addEventListener("input", () => {
  typed = true;
  showHost();
});
find<HTMLInputElement>("file").addEventListener("change", (event) => takeFile((event.target as HTMLInputElement).files?.[0]));
const drop = find("drop");
for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
  });
}
drop.addEventListener("drop", (event) => takeFile(event.dataTransfer?.files[0]));
showReceipt();
worker = startWorker();
