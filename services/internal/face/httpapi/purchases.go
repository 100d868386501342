package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/purchase"
	"github.com/acclaim-dev/acclaim/services/state"
)

// Purchases is the part of package purchase that its routes use.
type Purchases interface {
	Record(ctx context.Context, c purchase.Channel, t purchase.Transaction) (recorded purchase.Transaction, isNew bool, err error)
	Spend(ctx context.Context, c purchase.Channel, o purchase.Order, now time.Time) (purchase.Receipt, error)
	Balance(ctx context.Context, c purchase.Channel, userID string) (int64, error)
}

// purchaseRoutes returns the routes on which viewers buy.
func purchaseRoutes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/bits/transactions", access: anyone(), handle: (*API).postBits},
		{Method: http.MethodPost, Path: "/coins/purchase", access: anyone(), handle: (*API).postCoins},
		{Method: http.MethodGet, Path: "/coins", access: anyone(), handle: (*API).getCoins},
	}
}

func (c *Caller) purchases() purchase.Channel {
	return purchase.Channel{Environment: string(c.Environment), Extension: c.Extension.ClientID, ID: c.ChannelID}
}

func errReceipt() error { return fault.New(fault.Invalid, "Invalid transaction receipt") }

// receiptClaims is the payload of the platform's receipt.
type receiptClaims struct {
	Topic string  `json:"topic"`
	Exp   float64 `json:"exp"`
	Data  struct {
		TransactionID string `json:"transactionId"`
		Time          string `json:"time"`
		UserID        string `json:"userId"`
		Product       struct {
			DomainID    string `json:"domainId"`
			SKU         string `json:"sku"`
			DisplayName string `json:"displayName"`
			Cost        struct {
				Amount int32  `json:"amount"`
				Type   string `json:"type"`
			} `json:"cost"`
		} `json:"product"`
	} `json:"data"`
}

func (a *API) postBits(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	receipt, username := body.text("transactionReceipt"), body.text("displayName")
	if body.err != nil {
		return body.err
	}
	if r.caller.ChannelID == "" {
		return fault.New(fault.Invalid, "The JWT names no channel")
	}
	t, err := a.parseReceipt(r.caller.Extension, receipt)
	if err != nil {
		return err
	}
	t.Username = username
	isNew := false
	if err := a.editDocuments(r, 3, func(existing bool) (err error) {
		if existing {
			return fault.New(fault.NotFound, "A transaction is new")
		}
		t, isNew, err = a.config.Purchases.Record(r.Context(), r.caller.purchases(), t)
		return err
	}); err != nil {
		a.logUnrecorded(r, t, err)
		return err
	}
	if !isNew {
		return writeDone(w, nil)
	}
	if err := a.announcePurchase(r, t); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, []byte("{}"))
	return nil
}

// logUnrecorded logs a refused transaction, which the viewer has paid to the platform.
func (a *API) logUnrecorded(r *apiRequest, t purchase.Transaction, err error) {
	if fault.KindOf(err) == fault.RateLimited {
		a.config.Logger.Warn("a paid transaction is refused", "extension", r.caller.Extension.ClientID,
			"channel", r.caller.ChannelID, "transaction", t.ID, "reason", err.Error())
	}
}

// announcePurchase tells the games in the channel, for each key once.
func (a *API) announcePurchase(r *apiRequest, t purchase.Transaction, keys ...*once.Key) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var announced []*once.Key
	for _, key := range keys { // the keys themselves tell whether the purchase is repeated
		announced = append(announced, &once.Key{Marks: key.Marks, At: key.At})
	}
	m := message.Message{Name: PurchaseMessage, To: t.UserID, Data: data}
	return a.config.Messages.Announce(r.Context(), r.caller.gameFeed(), m, announced...)
}

// parseReceipt returns the transaction of a receipt. In the sandbox it is approved whatever
// its signature and its end.
func (a *API) parseReceipt(extension *tenant.Extension, receipt string) (t purchase.Transaction, err error) {
	parts := strings.Split(receipt, ".")
	if len(parts) != 3 {
		return t, errReceipt()
	}
	for i := range parts { // base64 or base64url, padded or not
		parts[i] = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(parts[i], "="))
	}
	payload, err := jwt.NewParser().DecodeSegment(parts[1])
	var claims receiptClaims
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return t, errReceipt()
	}
	data := claims.Data
	if data.TransactionID == "" || len(data.TransactionID) > maxID || len(data.UserID) > maxID || data.Product.Cost.Amount < 0 {
		return t, errReceipt()
	}
	if a.config.Environment == tenant.Production && !a.isGenuine(extension, receipt, parts, &claims) {
		return t, errReceipt()
	}
	return purchase.Transaction{
		ID: data.TransactionID, SKU: data.Product.SKU, DisplayName: data.Product.DisplayName, UserID: data.UserID,
		Cost: data.Product.Cost.Amount, Timestamp: a.timeOf(data.Time).UnixMilli(), Additional: json.RawMessage("{}"),
	}, nil
}

// isGenuine reports whether the platform has signed a receipt for the extension. The signature
// is over the segments as they were sent.
func (a *API) isGenuine(extension *tenant.Extension, receipt string, parts []string, claims *receiptClaims) bool {
	now := a.config.Now()
	if claims.Topic != "bits_transaction_receipt" || int64(claims.Exp) <= now.Unix() ||
		claims.Data.Product.DomainID != "twitch.ext."+extension.ClientID {
		return false
	}
	signature, err := jwt.NewParser().DecodeSegment(parts[2])
	header, invalid := jwt.NewParser().DecodeSegment(parts[0])
	var form struct {
		Alg string `json:"alg"`
	}
	if err != nil || invalid != nil || json.Unmarshal(header, &form) != nil || form.Alg != jwt.SigningMethodHS256.Alg() {
		return false
	}
	signed := receipt[:strings.LastIndexByte(receipt, '.')]
	for _, secret := range extension.ActiveSecrets(a.config.Environment, now) {
		if jwt.SigningMethodHS256.Verify(signed, signature, secret.Value) == nil {
			return true
		}
	}
	return false
}

// timeOf reads the time of a receipt, which is now where it is unreadable.
func (a *API) timeOf(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return a.config.Now()
}

func (r *apiRequest) buyer() error {
	switch {
	case r.caller.UserID == "":
		return fault.New(fault.Invalid, "The JWT names no user")
	case r.caller.ChannelID == "":
		return fault.New(fault.Invalid, "The JWT names no channel")
	}
	return nil
}

// product is a product that coins buy, in the configuration of the channel.
type product struct {
	Price       int32  `json:"price"`
	DisplayName string `json:"displayName"`
}

func (a *API) postCoins(w http.ResponseWriter, r *apiRequest) error {
	body := decodeObject(r.body)
	sku, price := body.text("sku"), body.integer("price", -1)
	if body.err != nil {
		return body.err
	}
	if err := r.buyer(); err != nil {
		return err
	}
	keys, err := a.requestKeys(r, "")
	if err != nil {
		return err
	}
	found, err := a.config.State.Read(r.Context(), r.caller.stateCaller(), state.ChannelConfig)
	if err != nil {
		return err
	}
	o := purchase.Order{Once: once.First(keys)}
	p, refusal := findProduct(bodyOf(found[0]), sku, price)
	o.Transaction = purchase.Transaction{SKU: sku, DisplayName: p.DisplayName, UserID: r.caller.UserID, Cost: p.Price, Additional: json.RawMessage("{}")}
	o.Refusal = refusal
	receipt, err := a.config.Purchases.Spend(r.Context(), r.caller.purchases(), o, a.config.Now())
	if err != nil {
		return err
	}
	if receipt.Open {
		// A repetition announces it, too: what ended the first request may have come before.
		if err := a.announcePurchase(r, receipt.Transaction, keys...); err != nil {
			return err
		}
	}
	markReplayed(w, keys)
	return writeValue(w, map[string]int64{"balance": receipt.Balance})
}

// findProduct returns a product of the configuration of a channel, for its price.
func findProduct(channel []byte, sku string, price int64) (p product, refusal error) {
	var config struct {
		SKUs map[string]json.RawMessage `json:"skus"`
	}
	_ = json.Unmarshal(channel, &config) // streamers write what they like there
	switch raw, ok := config.SKUs[sku]; {
	case !ok || json.Unmarshal(raw, &p) != nil || p.Price < 0:
		return product{}, fault.New(fault.Invalid, "No such product")
	case int64(p.Price) != price:
		return product{}, fault.New(fault.Invalid, "The price has changed")
	}
	return p, nil
}

func (a *API) getCoins(w http.ResponseWriter, r *apiRequest) error {
	if err := r.buyer(); err != nil {
		return err
	}
	coins, err := a.config.Purchases.Balance(r.Context(), r.caller.purchases(), r.caller.UserID)
	if err != nil {
		return err
	}
	return writeValue(w, map[string]int64{"balance": coins})
}
