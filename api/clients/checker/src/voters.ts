// The voters of a recount and their ballots, in columns: an object for each of a million voters takes
// longer to free than to count.

import type { Ballot, Choice } from "./ballots.js";

const maxWeight = 2n ** 64n - 1n;

export class Voters {
  #size = 0;
  #places = new Int32Array(1024); // by voter number: where in the columns, from 1
  #numbers = new Float64Array(1024);
  #values = new Int16Array(1024); // of the only choice
  #times = new Uint16Array(1024); // 0 without such a choice
  readonly #choices = new Map<number, Choice[]>(); // of voters who have several
  readonly #modifiers = new Map<number, bigint>();

  get size(): number {
    return this.#size;
  }

  has(voter: number): boolean {
    return (this.#places[voter] ?? 0) !== 0;
  }

  // add takes a new voter. Numbers rise.
  add(voter: number): void {
    const place = this.#size++;
    if (voter >= this.#places.length) this.#places = grown(this.#places, new Int32Array(2 * voter));
    if (place === this.#numbers.length) {
      this.#numbers = grown(this.#numbers, new Float64Array(2 * place));
      this.#values = grown(this.#values, new Int16Array(2 * place));
      this.#times = grown(this.#times, new Uint16Array(2 * place));
    }
    this.#places[voter] = place + 1;
    this.#numbers[place] = voter;
  }

  // choicesOf returns the choices of a known voter by rising value.
  choicesOf(voter: number): Choice[] {
    const place = this.#places[voter]! - 1, times = this.#times[place]!;
    if (times > 0) return [{ value: this.#values[place]!, times }];
    return this.#choices.get(voter) ?? [];
  }

  // set replaces the ballot of a known voter.
  set(voter: number, value: number, times: number): void {
    const place = this.#places[voter]! - 1;
    this.#values[place] = value;
    this.#times[place] = times;
    if (this.#choices.size > 0) this.#choices.delete(voter);
  }

  // cast adds votes to the ballot of a known voter.
  cast(voter: number, value: number, times: number): void {
    const choices = this.choicesOf(voter), at = choices.findIndex((choice) => choice.value >= value), known = choices[at];
    if (known?.value === value) known.times += times;
    else choices.splice(at < 0 ? choices.length : at, 0, { value, times });
    this.#times[this.#places[voter]! - 1] = 0;
    this.#choices.set(voter, choices);
  }

  modify(voter: number, add: bigint): void {
    this.#modifiers.set(voter, (this.#modifiers.get(voter) ?? 0n) + add);
  }

  // ballotOf returns the ballot of a voter, if there is one. Its weight has at most 64 bits.
  ballotOf(voter: number): Ballot | undefined {
    const choices = this.has(voter) ? this.choicesOf(voter) : [];
    return choices.length > 0 ? { voter, weight: this.#weightOf(voter) & maxWeight, choices } : undefined;
  }

  #weightOf(voter: number): bigint {
    if (this.#modifiers.size === 0) return 1n;
    const n = 1n + (this.#modifiers.get(voter) ?? 0n);
    return n < 0n ? 0n : n;
  }

  // overflowing returns the voters with a ballot whose weight has more than 64 bits.
  overflowing(): number[] {
    return [...this.#modifiers.keys()].filter((voter) => this.choicesOf(voter).length > 0 && this.#weightOf(voter) > maxWeight);
  }

  get ballotCount(): number {
    let n = this.#choices.size;
    for (let place = 0; place < this.#size; place++) if (this.#times[place]! > 0) n++;
    return n;
  }

  // ballots returns the ballots by rising voter number.
  *ballots(): Generator<Ballot> {
    for (let place = 0; place < this.#size; place++) {
      const ballot = this.ballotOf(this.#numbers[place]!);
      if (ballot) yield ballot;
    }
  }
}

function grown<Column extends Int16Array | Uint16Array | Int32Array | Float64Array>(old: Column, longer: Column): Column {
  longer.set(old);
  return longer;
}
