package language

// indirectBeginning matches the beginning of a comment that does not say what its
// subject does.
const indirectBeginning = `^([\w.]+ (is|are|says?|tells?) (that|what|who|whom|whose|how|where|when|whether)|Who)\b`

// formerTerms lists words that the glossary of CONTRIBUTING.md replaces.
const formerTerms = `
term                     | say instead
hubs?                    | broker
lanes?                   | queue
courtesy                 | contention backoff
rivals?                  | contenders
strangers?               | unknown peers
birth|born               | initialization, initialized
husks?                   | tombstone
faded                    | hashed id
farewell                 | drain
patience                 | timeout
poke[sd]?                | wake, schedule
keepers?                 | retention worker
erasers?                 | erasure service
rivalry                  | contention
pass(es|ed|ing)? on      | forward
trim(s|med|ming)?        | truncate
unsettled|untold         | unknown outcome
`

// phrases lists what comments, help, logs, errors and Markdown do not say, and
// what to say instead. A phrase is a regular expression in lower case that
// matches whole words, in either case, across line ends.
const phrases = `
phrase                                        | say instead
nobody('s)?                                   | no process, no client, "unused"
somebody('s)?                                 | another process, another client
anybody('s)?                                  | any client, any process
everybody('s)?                                | every client, every process
whoever                                       | the caller, the process that
whom(ever)?                                   | name the subject: "the client that"
those who                                     | name them: "the clients that"
[.;] who                                      | name the subject: "a client that"
(to|for|by|from|than|as|of|with) who          | name the subject: "the process that"
(is|are|was|were|be|been|being) told          | receives, reads, gets the error
hear(s|d|ing)?                                | receives, is notified of
at home                                       | owned by
anew                                          | again
of which                                      | two sentences, or "whose"
lest                                          | so that … not
for ever                                      | forever, without end
at hand                                       | available, in memory
c[oa]mes? across                              | finds
(is|are) (what|who|whom)                      | a verb: "X holds", "X returns"
what there (is|was)                           | name it
there is (nothing )?to                        | name it: "no work is left"
says (whether|of|to whom)                     | reports whether, returns
mend(s|ed|ing)?                               | fix, repair
till                                          | until
(there|here|where)(by|in|of|upon|from)        | two sentences
hitherto|henceforth|thereafter                | before, after
vouch(es|ed|ing)?                             | verify, guarantee
give or take                                  | plus jitter, about
in (the place|stead) of                       | instead of
otherwise than                                | differently from, not as
needs not                                     | does not need
sees? to it|seen to                           | ensures, handles
(is|are) at it                                | is running, is working
(it|that|which) (is|are) none                 | is not one, is invalid
in vain                                       | without success
for want of                                   | without
no leave|without leave|by leave               | permission
stands in                                     | is listed in, is in
in the way of                                 | blocks, delays
(who|what) (is|are) to be                     | the X to read, to erase
of its own accord                             | by itself, automatically
out of turn                                   | early, at once
betimes|erstwhile|aught|naught|unto|albeit    | plain English
`
