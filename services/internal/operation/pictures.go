package operation

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/picture"
)

const (
	// keepPictureFor is the time for which a picture that was read answers further requests: one that
	// another process removes is served as long.
	keepPictureFor = time.Minute
	// knownPictures and knownPictureBytes limit what a process remembers. The least recently used is
	// dropped.
	knownPictures, knownPictureBytes = 1 << 12, 16 << 20
)

func picturesOfChannel() limit.Rate {
	return limit.Rate{PerSecond: contract.PicturesPerSecond, Burst: contract.PicturesAtOnce}
}

func errNoPicture() error { return fault.New(fault.NotFound, "No such picture") }

func (c *Caller) pictureChannel() picture.Channel {
	return picture.Channel{Environment: string(c.Environment), Extension: c.Extension.ClientID, ID: c.ChannelID}
}

// AddPicture adds a picture, a PNG or a WebP, to the caller's channel.
func (s *Service) AddPicture(ctx context.Context, c *Call, data []byte) (added contract.Picture, err error) {
	if c.Caller.ChannelID == "" {
		return added, errNoChannel()
	}
	ofChannel := limit.Claim{
		Kind: limit.Pictures, Holder: c.Caller.extensionQuotaHolder + "\x00" + c.Caller.ChannelID, Scope: limit.Channel,
		Rate: picturesOfChannel(), Amount: 1,
	}
	if err := s.takeRate(c.Caller.who(), ofChannel); err != nil {
		return added, err
	}
	encoded, err := s.encodePicture(c.Caller, data)
	if err != nil {
		return added, err
	}
	if c.Caller.hasQuotas() { // what was sent is paid for
		limits := c.Caller.Limits()
		claims := c.Caller.claims(limit.Bytes, limits.IdentityBytes, limits.ExtensionBytes, int64(encoded.Size()))
		if err := s.take(c, "Too many bytes stored", claims[:]...); err != nil {
			return added, err
		}
	}
	channel := c.Caller.pictureChannel()
	if added, err = s.Config.Pictures.Add(ctx, channel, encoded, s.Config.Now()); err == nil {
		s.public.absent.Remove(channel.Picture(added.ID))
	}
	return added, err
}

// encodePicture decodes a picture and encodes it again, beside few others.
func (s *Service) encodePicture(c *Caller, data []byte) (*picture.Image, error) {
	lease, err := s.Config.Budgets.takePicture(c)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	return picture.Encode(data)
}

// ListPictures returns the pictures of the caller's channel, the oldest first.
func (s *Service) ListPictures(ctx context.Context, c *Call) ([]contract.Picture, error) {
	return s.Config.Pictures.List(ctx, c.Caller.pictureChannel())
}

// RemovePicture removes a picture of the caller's channel.
func (s *Service) RemovePicture(ctx context.Context, c *Call, id string) error {
	channel := c.Caller.pictureChannel()
	err := s.Config.Pictures.Remove(ctx, channel, id)
	if err == nil {
		s.pictures.drop(channel.Picture(id))
	}
	return err
}

// servedPicture is a picture that a process has read.
type servedPicture struct {
	png  []byte
	read time.Time
}

// servedPictures are the pictures that a process has read, by the names of documents.
type servedPictures struct {
	known *lru.Cache[string, servedPicture]
	mu    sync.Mutex
	bytes int // of those that are known
}

func newServedPictures() *servedPictures {
	p := &servedPictures{}
	known, err := lru.NewWithEvict(knownPictures, func(_ string, dropped servedPicture) { p.bytes -= len(dropped.png) })
	if err != nil {
		panic(err) // only a size below one is refused
	}
	p.known = known
	return p
}

func (p *servedPictures) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.Remove(name)
}

func (p *servedPictures) keep(name string, read servedPicture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.Remove(name) // which Add would not count
	p.known.Add(name, read)
	for p.bytes += len(read.png); p.bytes > knownPictureBytes; {
		p.known.RemoveOldest()
	}
}

// ReadPicture returns a picture as a PNG to every caller. One that does not exist is fault.NotFound.
func (s *Service) ReadPicture(ctx context.Context, c *Call, name contract.PictureName) ([]byte, error) {
	extension, ok := s.Config.Registry().ByClientID(name.Client)
	if !ok || len(name.Channel) > contract.MaxID || !contract.IsPictureID(name.Picture) {
		return nil, errNoPicture()
	}
	channel := picture.Channel{Environment: string(s.Config.Environment), Extension: extension.ClientID, ID: name.Channel}
	document := channel.Picture(name.Picture)
	if png, done, err := s.recallPicture(document); done {
		return png, err
	}
	who := limit.Caller{Environment: channel.Environment, Extension: channel.Extension, Channel: channel.ID}
	if !s.pictures.known.Contains(document) {
		if err := s.admitAddress(c, who, limit.PublicNames, namesOfAddress(), namesInAll(), 1); err != nil {
			return nil, err
		}
	}
	read, err, _ := s.public.reads.Do(document, func() (any, error) { return s.readPicture(ctx, who, channel, name.Picture) })
	if err != nil {
		return nil, err
	}
	return read.([]byte), nil
}

// recallPicture returns what is known of a picture, itself or that there is none. done is false where
// it has to be read.
func (s *Service) recallPicture(document string) (png []byte, done bool, err error) {
	now := s.Config.Now()
	if known, ok := s.pictures.known.Get(document); ok && now.Sub(known.read) < keepPictureFor {
		return known.png, true, nil
	}
	if until, ok := s.public.absent.Get(document); ok && now.Before(until) {
		return nil, true, errNoPicture()
	}
	return nil, false, nil
}

// readPicture reads a picture for all requests that wait for it, and goes on without the one that
// began it.
func (s *Service) readPicture(ctx context.Context, who limit.Caller, channel picture.Channel, id string) ([]byte, error) {
	document := channel.Picture(id)
	if png, done, err := s.recallPicture(document); done { // another request has just read it
		return png, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publicPatience)
	defer cancel()
	lease, err := s.Config.Budgets.takePictureRead(who)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	now := s.Config.Now()
	png, err := s.Config.Pictures.Read(ctx, channel, id)
	switch {
	case err == nil:
		s.pictures.keep(document, servedPicture{png, now})
	case fault.KindOf(err) == fault.NotFound:
		s.pictures.drop(document)
		s.public.absent.Add(document, now.Add(keepNotPublicFor))
	}
	return png, err
}
