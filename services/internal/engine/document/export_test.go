package document

// Tuning holds the limits that only tests set.
type Tuning = internalLimits

// Tuned returns the options with other limits.
func (o Options) Tuned(t Tuning) Options {
	o.tuning = t
	return o
}
