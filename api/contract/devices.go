package contract

// Limits of the credentials with which devices vote.
const (
	DeviceHours             = 12
	DevicesPerSecond        = 2 // of an address at an extension
	DevicesAtOnce           = 200
	ChannelDevicesPerSecond = 20
	ChannelDevicesAtOnce    = 20_000
)
