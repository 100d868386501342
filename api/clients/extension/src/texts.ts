/**
 * The language of the page: the one that the platform asks for in the page's address, or else
 * English. For another language, add a file to `texts` and a line to `languages`.
 */
import de from "./texts/de.js";
import en from "./texts/en.js";
import es from "./texts/es.js";
import ja from "./texts/ja.js";

type Plural = { one: string; other: string };
export type Texts = { [Name in keyof typeof en]: (typeof en)[Name] extends string ? string : Plural };

const languages: Record<string, Texts> = { en, de, es, ja };

const wanted = new URLSearchParams(location.search).get("language")?.toLowerCase().split("-")[0] ?? "";
const language = Object.hasOwn(languages, wanted) ? wanted : "en";
document.documentElement.lang = language;

/** The texts of the page's language. */
const texts = languages[language] ?? en;

const plural = new Intl.PluralRules(language);
export const number = new Intl.NumberFormat(language);
export const percent = new Intl.NumberFormat(language, { style: "percent" });
export const list = new Intl.ListFormat(language);

/** Returns a text with its parts filled in; `n` also chooses between singular and plural. */
export function say(name: keyof Texts, parts: Record<string, string | number> = {}): string {
  const text = texts[name];
  const chosen = typeof text === "string" ? text : plural.select(Number(parts.n)) === "one" ? text.one : text.other;
  return chosen.replace(/\{(\w+)\}/g, (_, part: string) => {
    const value = parts[part] ?? "";
    return typeof value === "number" ? number.format(value) : value;
  });
}

/** Returns a time of day, such as 18:05:00. */
export function timeOfDay(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString(language, { timeStyle: "medium" });
}

/** Returns seconds as minutes and seconds, such as 1:05. */
export function duration(seconds: number): string {
  return `${number.format(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, "0")}`;
}
