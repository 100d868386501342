// Policies that name witnesses and how many of them have to confirm a checkpoint (c2sp.org/tlog-policy).

import { FormatError, equal } from "./bytes.js";
import { type Verifier, openNote, witnessVerifier } from "./note.js";

interface Group {
  least: number;
  members: string[];
}

const noQuorum = "none";

export class Policy {
  readonly #witnesses = new Map<string, ReturnType<typeof witnessVerifier>>();
  readonly #groups = new Map<string, Group>();
  #quorum = "";

  // It ignores the logs that a policy names: a checker has the log's key.
  constructor(text: string) {
    for (const line of text.split("\n")) {
      const words = line.trim().split(/\s+/);
      if (words[0] === "" || words[0]?.startsWith("#")) continue;
      try {
        this.#readLine(words);
      } catch (error) {
        throw new FormatError(`policy, ${JSON.stringify(line.trim())}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    if (this.#quorum === "") throw new FormatError("policy: it has no quorum");
  }

  #readLine(words: string[]): void {
    const [what, name = "", ...rest] = words;
    if (what === "log" && words.length >= 2) return;
    if (what === "witness" && (rest.length === 1 || rest.length === 2)) this.#addWitness(name, rest[0]!);
    else if (what === "group" && rest.length >= 2) this.#addGroup(name, rest[0]!, rest.slice(1));
    else if (what === "quorum" && rest.length === 0 && this.#quorum === "" && this.#knows(name)) this.#quorum = name;
    else throw new FormatError("the line has no meaning, or a name in it is unknown");
  }

  #knows(name: string): boolean {
    return this.#witnesses.has(name) || this.#groups.has(name) || name === noQuorum;
  }

  #addWitness(name: string, vkey: string): void {
    const witness = witnessVerifier(vkey);
    if ([...this.#witnesses.values()].some((known) => equal(known.key, witness.key))) throw new FormatError("two witnesses have one key");
    if (this.#knows(name)) throw new FormatError("the name is used before");
    this.#witnesses.set(name, witness);
  }

  #addGroup(name: string, number: string, members: string[]): void {
    const least = number === "any" ? 1 : number === "all" ? members.length : /^[0-9]+$/.test(number) ? Number(number) : 0;
    if (least < 1 || least > members.length) throw new FormatError("the number of members is out of range");
    members.forEach((member, i) => {
      if (!this.#knows(member) || member === noQuorum || members.indexOf(member) !== i) throw new FormatError(`the member ${member} is unknown or doubled`);
    });
    if (this.#knows(name)) throw new FormatError("the name is used before");
    this.#groups.set(name, { least, members });
  }

  // asksWitnesses reports whether the policy needs a cosignature.
  get asksWitnesses(): boolean {
    return this.#quorum !== noQuorum;
  }

  // accepts reports whether the quorum has cosigned a checkpoint.
  async accepts(checkpoint: string): Promise<boolean> {
    let signers: Set<Verifier>;
    try {
      ({ signers } = await openNote(checkpoint, [...this.#witnesses.values()]));
    } catch {
      return false;
    }
    const holds = (name: string): boolean => {
      const group = this.#groups.get(name), witness = this.#witnesses.get(name);
      if (!group) return witness !== undefined && signers.has(witness);
      return group.members.filter(holds).length >= group.least;
    };
    return holds(this.#quorum);
  }
}
