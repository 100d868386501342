package rewrite_test

import "github.com/acclaim-dev/acclaim/services/internal/testing/ledger"

const testStream = ledger.Stream

// Nearly every line of the tests calls one of these.
var newEngine, mustClose, sum, verify = ledger.New, ledger.MustClose, ledger.Sum, ledger.Verify
