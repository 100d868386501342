// The public part of a poll's configuration.

import { FormatError, text } from "./bytes.js";

export interface Config {
  disabled: boolean;
  distinctOptionsPerUser: number;
  endsAt: bigint; // Unix seconds, 0: none
  entries?: "live" | "never"; // when the list of votes is public; absent: after the close
  keepDays?: string; // absent: 30
  loggedInOnly: boolean;
  minVoters?: string; // absent: 50
  noReceipts?: true;
  options: string[];
  prompt: string;
  resultsVisibility: "always" | "afterVote" | "afterClose";
  showCount: boolean;
  startsAt: bigint;
  tieBreak?: bigint; // the option that staff chose after a tie
  totalVotesPerUser: number;
  userIDVoting: boolean;
  version: bigint;
  votesPerOption: bigint;
}

const maxText = 32 << 10;

// The types of the members, in the order of RFC 8785.
const members = {
  disabled: "boolean", distinctOptionsPerUser: "integer", endsAt: "integer", entries: "text", keepDays: "integer", loggedInOnly: "boolean",
  minVoters: "integer", noReceipts: "boolean", options: "texts", prompt: "text",
  resultsVisibility: "text", showCount: "boolean", startsAt: "integer", tieBreak: "integer", totalVotesPerUser: "integer", userIDVoting: "boolean",
  version: "integer", votesPerOption: "integer",
} as const;

// The members that a configuration may lack, with the forms that they have otherwise.
const optional: Partial<Record<keyof typeof members, RegExp>> = {
  entries: /^(live|never)$/,
  keepDays: /^([1-9]\d?|[12]\d\d|3[0-5]\d|36[0-5])$/,
  minVoters: /^([1-9]\d{0,5}|1000000)$/,
  noReceipts: /true/,
  tieBreak: /./,
};

const isText = (value: unknown): boolean => typeof value === "string" && !/[\ud800-\udfff]/u.test(value);

function isInteger(value: unknown): boolean {
  return typeof value === "string" && /^(0|-?[1-9][0-9]{0,18})$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value);
}

function fits(value: unknown, type: (typeof members)[keyof typeof members]): boolean {
  switch (type) {
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return isInteger(value);
    case "text":
      return isText(value);
    case "texts":
      return Array.isArray(value) && value.every(isText);
  }
}

// parseConfig reads the only form of a configuration: that of RFC 8785, which JSON.stringify gives.
export function parseConfig(data: Uint8Array): Config {
  const json = text(data);
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(json);
  } catch {
    throw new FormatError("configuration: the text is no JSON");
  }
  if (typeof value !== "object" || value === null || data.length > maxText) throw new FormatError("configuration: the JSON is no object, or too long");
  for (const [name, type] of Object.entries(members) as [keyof typeof members, (typeof members)[keyof typeof members]][]) {
    const form = optional[name];
    if (form && value[name] === undefined) continue;
    if (!fits(value[name], type) || (form && !form.test(String(value[name])))) throw new FormatError(`configuration: ${name} is malformed`);
  }
  if (JSON.stringify(Object.fromEntries(Object.keys(members).map((name) => [name, value[name]]))) !== json) {
    throw new FormatError("configuration: the JSON is not in the form of RFC 8785, or has another member");
  }
  const integer = (name: keyof typeof members): bigint => BigInt(value[name] as string);
  const within = (n: bigint, most: bigint): boolean => n >= 1n && n <= most;
  if (!within(integer("distinctOptionsPerUser"), 258n) || !within(integer("totalVotesPerUser"), 1024n) || integer("votesPerOption") < 1n) {
    throw new FormatError("configuration: a limit of votes is out of range");
  }
  if (!["always", "afterVote", "afterClose"].includes(value["resultsVisibility"] as string)) {
    throw new FormatError("configuration: resultsVisibility is unknown");
  }
  return {
    ...(value as unknown as Omit<Config, "tieBreak">),
    ...(value["tieBreak"] !== undefined && { tieBreak: integer("tieBreak") }),
    distinctOptionsPerUser: Number(value["distinctOptionsPerUser"]),
    totalVotesPerUser: Number(value["totalVotesPerUser"]),
    endsAt: integer("endsAt"),
    startsAt: integer("startsAt"),
    version: integer("version"),
    votesPerOption: integer("votesPerOption"),
  };
}

export function asksAnother(c: Config, d: Config): boolean {
  return c.prompt !== d.prompt || c.options.length !== d.options.length || c.options.some((option, i) => option !== d.options[i]);
}

// leastVoters is the number of voters from which on the list of votes is public.
export const leastVoters = (c: Config): number => Number(c.minVoters ?? 50);

// promisesAnother reports whether two configurations have different rules for publishing the list of
// votes, or for receipts.
export function promisesAnother(c: Config, d: Config): boolean {
  const promise = (c: Config): string => [c.entries, leastVoters(c), c.keepDays ?? 30, c.noReceipts].join();
  return promise(c) !== promise(d);
}

// optionText names the option with a value.
export function optionText(c: Config, value: number): string {
  const option = c.options[value];
  return option === undefined ? String(value) : `${JSON.stringify(option)} (${value})`;
}

