package gamelink

import (
	"context"
	"encoding/json"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/purchase"
)

func (c *connection) purchases() purchase.Channel {
	return purchase.Channel{Environment: string(c.server.options.Environment), Extension: c.extension.ClientID, ID: c.identity.channel}
}

// product returns the product that a request names, "*" for all.
func (r *gameRequest) product() (string, error) {
	sku := r.data.text("sku")
	if sku == "" {
		sku = "*"
	}
	return sku, r.data.err
}

func (c *connection) subscribePurchases(r *gameRequest) (any, error) {
	sku, err := r.product()
	if err != nil {
		return nil, err
	}
	return done{true}, c.subscribe(topicKey{contract.PushPurchase, sku}, []string{operation.PurchaseMessage}, func(_ context.Context, e *event.Event) error {
		var t purchase.Transaction
		if e.Name == operation.PurchaseMessage && json.Unmarshal(e.Data, &t) == nil && (sku == "*" || t.SKU == sku) {
			c.push(contract.PushPurchase, t)
		}
		return nil
	})
}

func (c *connection) unsubscribePurchases(r *gameRequest) (any, error) {
	sku, err := r.product()
	c.unsubscribe(topicKey{contract.PushPurchase, sku})
	return done{true}, err
}

func (c *connection) getTransactions(r *gameRequest) (any, error) {
	sku, err := r.product()
	if err != nil {
		return nil, err
	}
	open, err := c.server.options.Purchases.Open(c.ctx, c.purchases(), sku)
	if open == nil {
		open = []purchase.Transaction{}
	}
	return map[string]any{"transactions": open}, err
}

func (c *connection) validateTransaction(r *gameRequest) (any, error) {
	id := r.data.required("transaction_id")
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.server.options.Purchases.Validate(c.ctx, c.purchases(), id)
}

func (c *connection) refundTransaction(r *gameRequest) (any, error) {
	user, id, sku := r.data.required("user_id"), r.data.text("transaction_id"), r.data.text("sku")
	if id == "" && sku == "" {
		r.data.fail("sku")
	}
	if r.data.err != nil {
		return nil, r.data.err
	}
	return done{true}, c.server.options.Purchases.Refund(c.ctx, c.purchases(), user, id, sku)
}
