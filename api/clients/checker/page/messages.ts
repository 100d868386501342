// What the page and its worker send each other.

import type { CheckOptions, ReceiptReport } from "../src/index.js";

export interface Request {
  receipt: string;
  options: Omit<CheckOptions, "progress" | "beforeRecount" | "fetch" | "signal">;
}

export type Message = { progress: number } | { before: ReceiptReport } | { report: ReceiptReport } | { refused: string };
