package operation

import (
	"context"
	"encoding/json"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/state"
)

func (c *Caller) purchases() purchase.Channel {
	return purchase.Channel{Environment: string(c.Environment), Extension: c.Extension.ClientID, ID: c.ChannelID}
}

// RecordBits records the transaction of a receipt, which the viewer has paid to the platform, and
// announces it to the games in the channel. isNew is false for one that is recorded already. In the
// sandbox a receipt is approved whatever its signature and its end.
func (s *Service) RecordBits(ctx context.Context, c *Call, receipt, username string) (isNew bool, err error) {
	if c.Caller.ChannelID == "" {
		return false, errNoChannel()
	}
	var keys [][]byte
	if s.Config.Environment == tenant.Production {
		keys = [][]byte{}
		for _, secret := range c.Caller.Extension.ActiveSecrets(s.Config.Environment, s.Config.Now()) {
			keys = append(keys, secret.Value)
		}
	}
	t, err := purchase.ParseReceipt(receipt, c.Caller.Extension.ClientID, keys, s.Config.Now())
	if err != nil {
		return false, err
	}
	t.Username = username
	if err := s.editDocuments(c, 3, func(existing bool) (err error) {
		if existing {
			return fault.New(fault.NotFound, "A transaction is new")
		}
		t, isNew, err = s.Config.Purchases.Record(ctx, c.Caller.purchases(), t)
		return err
	}); err != nil {
		s.logUnrecorded(c.Caller, t, err)
		return false, err
	}
	if !isNew {
		return false, nil
	}
	return true, s.announcePurchase(ctx, c.Caller, t)
}

// logUnrecorded logs a refused transaction, which the viewer has paid to the platform.
func (s *Service) logUnrecorded(c *Caller, t purchase.Transaction, err error) {
	if fault.KindOf(err) == fault.RateLimited {
		s.Config.Logger.Warn("a paid transaction is refused", "extension", c.Extension.ClientID,
			"channel", c.ChannelID, "transaction", t.ID, "reason", err.Error())
	}
}

// announcePurchase tells the games in the channel, for each key once.
func (s *Service) announcePurchase(ctx context.Context, c *Caller, t purchase.Transaction, keys ...*once.Key) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var announced []*once.Key
	for _, key := range keys { // the keys themselves tell whether the purchase is repeated
		announced = append(announced, &once.Key{Marks: key.Marks, At: key.At})
	}
	m := message.Message{Name: PurchaseMessage, To: t.UserID, Data: data}
	return s.Config.Messages.Announce(ctx, c.gameFeed(), m, announced...)
}

// checkBuys refuses a caller that has no coins.
func (c *Caller) checkBuys() error {
	switch {
	case c.UserID == "":
		return fault.New(fault.Invalid, "The JWT names no user")
	case c.ChannelID == "":
		return errNoChannel()
	}
	return nil
}

// SpendCoins buys a product of the channel's configuration for a price, and announces that to the
// games in the channel. It returns the balance of the caller.
func (s *Service) SpendCoins(ctx context.Context, c *Call, sku string, price int64) (balance int64, err error) {
	if err := c.Caller.checkBuys(); err != nil {
		return 0, err
	}
	keys, err := s.requestKeys(c, "")
	if err != nil {
		return 0, err
	}
	found, err := s.Config.State.Scopes.Read(ctx, c.Caller.stateCaller(), state.ChannelConfig)
	if err != nil {
		return 0, err
	}
	order := purchase.NewOrder(found[0].Body, c.Caller.UserID, sku, price)
	order.Once = once.First(keys)
	receipt, err := s.Config.Purchases.Spend(ctx, c.Caller.purchases(), order, s.Config.Now())
	if err != nil {
		return 0, err
	}
	if receipt.Open {
		// A repetition announces it, too: what ended the first request may have come before.
		err = s.announcePurchase(ctx, c.Caller, receipt.Transaction, keys...)
	}
	return receipt.Balance, err
}

// ReadCoins returns the balance of the caller.
func (s *Service) ReadCoins(ctx context.Context, c *Call) (balance int64, err error) {
	if err := c.Caller.checkBuys(); err != nil {
		return 0, err
	}
	return s.Config.Purchases.Balance(ctx, c.Caller.purchases(), c.Caller.UserID)
}
