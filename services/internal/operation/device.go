package operation

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// deviceMark stands before the token in a credential of a device. It is no beginning of a JWT.
const deviceMark = "device."

// The rates of credentials of devices: of one client address at an extension, where it is known, of
// the extension, and of the devices of one channel.
func devicesOfAddress() limit.Rate {
	return limit.Rate{PerSecond: contract.DevicesPerSecond, Burst: contract.DevicesAtOnce}
}
func devicesInAll() limit.Rate { return limit.Rate{PerSecond: 500, Burst: 5_000} }
func devicesOfChannel() limit.Rate {
	return limit.Rate{PerSecond: contract.ChannelDevicesPerSecond, Burst: contract.ChannelDevicesAtOnce}
}

func errNoDevicePoll() error { return fault.New(fault.NotFound, "No such poll for devices") }

// deviceKey returns the key of the tokens of devices that follows from a secret of the extension.
// It is the same in every process, and goes when the secret is removed.
func deviceKey(secret tenant.Secret, environment tenant.Environment, clientID string) []byte {
	key, err := hkdf.Key(sha256.New, secret.Value, nil, fmt.Sprintf("acclaim device %q %q", environment, clientID), sha256.Size)
	if err != nil {
		panic(err) // only a longer key is refused
	}
	return key
}

// verifierOfDevices returns verifyToken for tokens of devices. The signer is the secret of the
// extension from which the key of the token follows.
func verifierOfDevices(environment tenant.Environment, clientID string) func(string, []tenant.Secret) ([]byte, tenant.Secret, error) {
	return func(token string, secrets []tenant.Secret) (claims []byte, signer tenant.Secret, err error) {
		err = jwt.ErrTokenSignatureInvalid
		for _, signer = range secrets {
			key := tenant.NewSecret(deviceKey(signer, environment, clientID))
			if claims, _, err = verifyToken(token, []tenant.Secret{key}); err == nil {
				return claims, signer, nil
			}
		}
		return nil, signer, err
	}
}

// OpenDevice returns the credential of a device for a poll that takes votes of devices now. The same
// secret of a device has the same voter id in a poll, and another one in any other poll.
func (s *Service) OpenDevice(ctx context.Context, c *Call, name contract.PublicName, device string) (credential string, err error) {
	extension, ok := s.Config.Registry().ByClientID(name.Client)
	if !ok || !mayTakeDevices(name) {
		return "", errNoDevicePoll()
	}
	who := limit.Caller{Environment: string(s.Config.Environment), Extension: extension.ClientID, Channel: name.Channel}
	if err := s.admitAddress(c, who, limit.Devices, devicesOfAddress(), devicesInAll(), 1); err != nil {
		return "", err
	}
	poll := voting.Poll{Environment: who.Environment, Extension: who.Extension, Channel: name.Channel, ID: name.Poll}
	if err := s.checkDevicesVote(ctx, poll); err != nil {
		return "", err
	}
	ofChannel := limit.Claim{
		Kind: limit.Devices, Holder: who.Environment + "\x00" + who.Extension + "\x00channel\x00" + who.Channel, Scope: limit.Channel,
		Rate: devicesOfChannel(), Amount: 1,
	}
	if err := s.takeRate(who, ofChannel); err != nil {
		return "", err
	}
	return s.signDevice(extension, poll, device)
}

// mayTakeDevices reports whether a poll of that name may take votes of devices: one of a channel.
func mayTakeDevices(name contract.PublicName) bool {
	return name.Channel != "" && len(name.Channel) <= contract.MaxID &&
		name.Poll != "" && !contract.PollIDBound("", name.Poll).IsBroken() && !isGlobal(name.Poll)
}

// checkDevicesVote refuses a poll in which no device may vote now. One read answers the requests
// that wait for it, and goes on without the one that began it.
func (s *Service) checkDevicesVote(ctx context.Context, poll voting.Poll) error {
	_, err, _ := s.public.reads.Do("devices\x00"+poll.Stream(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publicPatience)
		defer cancel()
		return nil, s.readDevicesVote(ctx, poll)
	})
	return err
}

// readDevicesVote reads a poll that anyone may have named, in a way that keeps nothing in memory.
func (s *Service) readDevicesVote(ctx context.Context, poll voting.Poll) error {
	lease, err := s.Config.Budgets.takePublicRead(poll, false)
	if err != nil {
		return err
	}
	defer lease.Release()
	overview, err := s.Config.Voting.Configs.PublicOverview(ctx, poll, true)
	switch {
	case err != nil:
		return err
	case !overview.Configured || !overview.Config.DeviceVoting:
		return errNoDevicePoll()
	case overview.Config.Disabled || overview.Config.Status(s.Config.Now()) != contract.Active:
		return fault.New(fault.Invalid, "poll is closed")
	}
	return nil
}

func (s *Service) signDevice(extension *tenant.Extension, poll voting.Poll, device string) (string, error) {
	now := s.Config.Now()
	secret, ok := extension.SigningSecret(s.Config.Environment, now)
	if !ok {
		return "", fault.New(fault.Invalid, "The extension has no active secret")
	}
	key := deviceKey(secret, s.Config.Environment, extension.ClientID)
	voter := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(voter, "voter %q %q %q", poll.Channel, poll.ID, device) // it never fails
	life := min(contract.DeviceHours*time.Hour, extension.Limits(s.Config.Environment).TokenLife)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"exp": now.Add(life).Unix(), "role": string(Device), "channel_id": poll.Channel, "poll": poll.ID,
		"opaque_user_id": voting.DevicePrefix + strings.ToLower(base32.StdEncoding.EncodeToString(voter.Sum(nil)))[:26],
		"extension_id":   extension.ClientID, "allowed_stage": string(s.Config.Environment),
	}).SignedString(key)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "a device's token is not signed")
	}
	return extension.ClientID + " " + deviceMark + token, nil
}

// ReadDeviceVote returns the poll of the caller, which is a device, and what it may see of the tally. A
// device that names a time is refused: anyone is a device, and a time costs the folding of a log.
func (s *Service) ReadDeviceVote(ctx context.Context, c *Call, id string, at int64) (view voting.PollView, tally voting.Tally, err error) {
	if at != 0 {
		return view, tally, errRole()
	}
	if err := c.Caller.CheckReads(id); err != nil {
		return view, tally, err
	}
	if err := s.checkDevice(ctx, c.Caller, id); err != nil {
		return view, tally, err
	}
	if view, err = s.ReadPoll(ctx, c, id); err != nil {
		return view, tally, err
	}
	tally, err = s.ReadTally(ctx, c, id, 0)
	return view, tally, err
}

// checkDevice refuses a device where the poll does not take votes of devices any more.
func (s *Service) checkDevice(ctx context.Context, c *Caller, id string) error {
	if c.Role != Device {
		return nil
	}
	config, _, saved, err := s.Config.Voting.Configs.Config(ctx, c.poll(id))
	if err == nil && (!saved || !config.DeviceVoting) {
		err = errNoDevicePoll()
	}
	return err
}
