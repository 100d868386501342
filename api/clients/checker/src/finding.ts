// What a check finds wrong, with the sentence that a viewer reads.

export const sentences = {
  // About signatures and the log.
  "signature": "This is not signed with the key that you gave.",
  "not-included": "The signed list does not contain this.",
  "log-forked": "The server signed two histories that contradict each other: not everyone sees the same results.",
  "log-rewound": "The log is shorter than it was: the server went back to an older copy, or an old file answers.",
  "log-leaf": "The log holds a record that no honest server writes.",
  "log-entries": "The records that the server shows are not those that it signed.",
  "second-tree": "There are two lists of votes for one poll: different viewers can be shown different results.",
  "tree-rewound": "This poll was restored from an older copy; votes that it had are missing.",
  "tree-forked": "The poll's list of votes was changed after it was signed.",
  "final-changed": "The final result was changed after the poll had closed.",
  "leaf-late": "The result shows votes that the server has not signed for more than 10 seconds.",

  // About a receipt.
  "other-poll": "The receipt belongs to another poll than it names.",
  "other-vote": "The receipt shows another viewer's vote: yours is not recorded by it.",
  "other-config": "The receipt shows another question than the one your vote was counted for.",
  "vote-replaced": "Your vote was replaced by one that does not carry your secret. If you did not vote again, the server did it.",
  "ballot-missing": "Your vote is not in the final result.",
  "ballot-differs": "The final result counts another vote for you than the one on your receipt.",
  "ballot-proof": "The proof that your vote is in the final result is wrong.",

  // About a poll's entries and its result.
  "root-differs": "The votes that the server shows are not those that it signed.",
  "sums-differ": "Counting the votes gives another result than the signed one.",
  "ballot-root-differs": "The signed table of ballots is not that of the votes.",
  "status-differs": "The signed status of the poll is not that of its entries.",
  "shown-result-differs": "The result on display is not the signed one.",
  "erasures-differ": "The number of erased viewers is not the signed one.",
  "entry-malformed": "The list of votes holds an entry that has no meaning.",
  "begin": "The list of votes does not begin as the list of this poll.",
  "unknown-voter": "A vote or a weight belongs to a voter number that does not exist.",
  "wrong-config": "A vote names another question than the one in force.",
  "over-limit": "A voter has more votes than the poll allows, or a vote of a kind that it does not allow.",
  "vote-while-disabled": "A vote was accepted while the poll was disabled.",
  "vote-after-close": "A vote was accepted after the poll had closed.",
  "weight-after-close": "The weight of a vote was changed after the poll had closed.",
  "question-changed": "The question was changed while the poll had votes.",
  "identity-changed": "The rule that tells voters apart was changed while the poll had votes: a viewer can count twice.",
  "rules-changed": "The rules for the list of votes and receipts were changed while the poll had votes.",
  "entries-withheld": "The site keeps the list of votes secret that the signed configuration promises to publish.",
  "nonce-twice": "Two entries carry the same secret: one of them is a copy.",
  "wrong-salt-key": "The key that opened the hidden votes is not the one fixed before them.",
  "hiding": "Votes are hidden or shown where the list says the opposite.",
  "overflow": "The sums are larger than any votes can make them.",
  "late-close": "The poll was closed later than announced; votes in between cannot be distinguished from those in time.",
  "order": "The poll closes, opens, hides or reveals in an order that makes no sense.",
  "tie-break": "The option that was chosen as the winner is not one of several that lead with equal votes.",
} as const;

export type FindingKind = keyof typeof sentences;

// Finding is something wrong: its kind, the place of the first case, and the number of cases.
export interface Finding {
  kind: FindingKind;
  sentence: string;
  detail: string;
  cases: number;
}

// Findings collects findings, one for each kind, with the first case.
export class Findings {
  readonly list: Finding[] = [];

  add(kind: FindingKind, detail: string): void {
    const known = this.list.find((f) => f.kind === kind);
    if (known) known.cases++;
    else this.list.push({ kind, sentence: sentences[kind], detail, cases: 1 });
  }

  // addAll appends the findings of another check.
  addAll(others: Finding[]): void {
    this.list.push(...others);
  }

  get any(): boolean {
    return this.list.length > 0;
  }
}

// reason is the message of an error.
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
