package verifiable

import "fmt"

// FindingKind names what a check found wrong.
type FindingKind string

// The kinds of findings.
const (
	// About signatures and the log.
	FoundSignature    FindingKind = "signature"
	FoundNotIncluded  FindingKind = "not-included"
	FoundLogForked    FindingKind = "log-forked"
	FoundLogRewound   FindingKind = "log-rewound"
	FoundLogLeaf      FindingKind = "log-leaf"
	FoundLogEntries   FindingKind = "log-entries"
	FoundSecondTree   FindingKind = "second-tree"
	FoundTreeRewound  FindingKind = "tree-rewound"
	FoundTreeForked   FindingKind = "tree-forked"
	FoundFinalChanged FindingKind = "final-changed"
	FoundLeafLate     FindingKind = "leaf-late"

	// About a receipt.
	FoundOtherPoll     FindingKind = "other-poll"
	FoundOtherVote     FindingKind = "other-vote"
	FoundOtherConfig   FindingKind = "other-config"
	FoundVoteReplaced  FindingKind = "vote-replaced"
	FoundBallotMissing FindingKind = "ballot-missing"
	FoundBallotDiffers FindingKind = "ballot-differs"
	FoundBallotProof   FindingKind = "ballot-proof"

	// About a poll's entries and its result.
	FoundRoot            FindingKind = "root-differs"
	FoundSums            FindingKind = "sums-differ"
	FoundBallotRoot      FindingKind = "ballot-root-differs"
	FoundStatus          FindingKind = "status-differs"
	FoundShownResult     FindingKind = "shown-result-differs"
	FoundErasures        FindingKind = "erasures-differ"
	FoundEntry           FindingKind = "entry-malformed"
	FoundBegin           FindingKind = "begin"
	FoundUnknownVoter    FindingKind = "unknown-voter"
	FoundWrongConfig     FindingKind = "wrong-config"
	FoundOverLimit       FindingKind = "over-limit"
	FoundWhileDisabled   FindingKind = "vote-while-disabled"
	FoundVoteAfterClose  FindingKind = "vote-after-close"
	FoundWeightAfter     FindingKind = "weight-after-close"
	FoundQuestionChanged FindingKind = "question-changed"
	FoundIdentityChanged FindingKind = "identity-changed"
	FoundRulesChanged    FindingKind = "rules-changed"
	FoundWithheld        FindingKind = "entries-withheld"
	FoundNonceTwice      FindingKind = "nonce-twice"
	FoundWrongSaltKey    FindingKind = "wrong-salt-key"
	FoundHiding          FindingKind = "hiding"
	FoundOverflow        FindingKind = "overflow"
	FoundLateClose       FindingKind = "late-close"
	FoundOrder           FindingKind = "order"
	FoundTieBreak        FindingKind = "tie-break"
)

// Sentence tells a viewer what the kind means.
func (k FindingKind) Sentence() string {
	if s, ok := logSentences()[k]; ok {
		return s
	}
	if s, ok := receiptSentences()[k]; ok {
		return s
	}
	return pollSentences()[k]
}

func logSentences() map[FindingKind]string {
	return map[FindingKind]string{
		FoundSignature:    "This is not signed with the key that you gave.",
		FoundNotIncluded:  "The signed list does not contain this.",
		FoundLogForked:    "The server signed two histories that contradict each other: not everyone sees the same results.",
		FoundLogRewound:   "The log is shorter than it was: the server went back to an older copy, or an old file answers.",
		FoundLogLeaf:      "The log holds a record that no honest server writes.",
		FoundLogEntries:   "The records that the server shows are not those that it signed.",
		FoundSecondTree:   "There are two lists of votes for one poll: different viewers can be shown different results.",
		FoundTreeRewound:  "This poll was restored from an older copy; votes that it had are missing.",
		FoundTreeForked:   "The poll's list of votes was changed after it was signed.",
		FoundFinalChanged: "The final result was changed after the poll had closed.",
		FoundLeafLate:     "The result shows votes that the server has not signed for more than 10 seconds.",
	}
}

func receiptSentences() map[FindingKind]string {
	return map[FindingKind]string{
		FoundOtherPoll:     "The receipt belongs to another poll than it names.",
		FoundOtherVote:     "The receipt shows another viewer's vote: yours is not recorded by it.",
		FoundOtherConfig:   "The receipt shows another question than the one your vote was counted for.",
		FoundVoteReplaced:  "Your vote was replaced by one that does not carry your secret. If you did not vote again, the server did it.",
		FoundBallotMissing: "Your vote is not in the final result.",
		FoundBallotDiffers: "The final result counts another vote for you than the one on your receipt.",
		FoundBallotProof:   "The proof that your vote is in the final result is wrong.",
	}
}

func pollSentences() map[FindingKind]string {
	return map[FindingKind]string{
		FoundRoot:            "The votes that the server shows are not those that it signed.",
		FoundSums:            "Counting the votes gives another result than the signed one.",
		FoundBallotRoot:      "The signed table of ballots is not that of the votes.",
		FoundStatus:          "The signed status of the poll is not that of its entries.",
		FoundShownResult:     "The result on display is not the signed one.",
		FoundErasures:        "The number of erased viewers is not the signed one.",
		FoundEntry:           "The list of votes holds an entry that has no meaning.",
		FoundBegin:           "The list of votes does not begin as the list of this poll.",
		FoundUnknownVoter:    "A vote or a weight belongs to a voter number that does not exist.",
		FoundWrongConfig:     "A vote names another question than the one in force.",
		FoundOverLimit:       "A voter has more votes than the poll allows, or a vote of a kind that it does not allow.",
		FoundWhileDisabled:   "A vote was accepted while the poll was disabled.",
		FoundVoteAfterClose:  "A vote was accepted after the poll had closed.",
		FoundWeightAfter:     "The weight of a vote was changed after the poll had closed.",
		FoundQuestionChanged: "The question was changed while the poll had votes.",
		FoundIdentityChanged: "The rule that tells voters apart was changed while the poll had votes: a viewer can count twice.",
		FoundRulesChanged:    "The rules for the list of votes and receipts were changed while the poll had votes.",
		FoundWithheld:        "The site keeps the list of votes secret that the signed configuration promises to publish.",
		FoundNonceTwice:      "Two entries carry the same secret: one of them is a copy.",
		FoundWrongSaltKey:    "The key that opened the hidden votes is not the one fixed before them.",
		FoundHiding:          "Votes are hidden or shown where the list says the opposite.",
		FoundOverflow:        "The sums are larger than any votes can make them.",
		FoundLateClose:       "The poll was closed later than announced; votes in between cannot be distinguished from those in time.",
		FoundOrder:           "The poll closes, opens, hides or reveals in an order that makes no sense.",
		FoundTieBreak:        "The option that was chosen as the winner is not one of several that lead with equal votes.",
	}
}

// Finding is something wrong.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// Detail names the place of the first case.
	Detail string `json:"detail"`
	// Cases counts those of the kind.
	Cases int `json:"cases"`
}

// String returns the kind, its sentence and the detail.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s (%s", f.Kind, f.Kind.Sentence(), f.Detail)
	if f.Cases > 1 {
		text += fmt.Sprintf("; %d cases", f.Cases)
	}
	return text + ")"
}

// findings collects findings, one for each kind, with the first case.
type findings []Finding

func (fs *findings) add(kind FindingKind, format string, args ...any) {
	for i := range *fs {
		if (*fs)[i].Kind == kind {
			(*fs)[i].Cases++
			return
		}
	}
	*fs = append(*fs, Finding{kind, fmt.Sprintf(format, args...), 1})
}
