package contract

// Reasons for which a terminal has no session yet and asks again (section 4.23).
const (
	SignInPending = "The person has not signed in yet"
	SignInTooFast = "The terminal asks too often; wait 5 seconds longer from now on"
)
