// Measures the check of a receipt among generated votes, without a network: `npm run measure -- 1000000`.
// hack/browser/checker.test.mjs measures it in the page where ACCLAIM_CHECKER_VOTES says how many.

import { checkReceipt } from "../dist/src/index.js";
import { generateSite } from "./generate.mjs";

const votes = Number(process.argv[2] ?? 1_000_000);
const { receipt, key, files } = generateSite(votes);
const fetch = async (address) => {
  const data = files(new URL(address).pathname.slice(1));
  return data ? new Response(data) : new Response("", { status: 404 });
};
const begun = performance.now(), before = process.cpuUsage();
const report = await checkReceipt(receipt, { key, site: "http://site.example", fetch });
const { user, system } = process.cpuUsage(before);
console.log(`${votes} votes checked and counted again in ${((performance.now() - begun) / 1000).toFixed(2)} s, of processors ${((user + system) / 1e6).toFixed(2)} s`);
console.log(report.counted.text, report.findings, report.missing ?? "");
