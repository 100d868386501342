package purchase

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

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

// ParseReceipt returns the transaction of a receipt that the platform has signed for an extension
// with one of the keys, and that is in force. Where keys is nil, any signature and any end is good.
// Another receipt is fault.Invalid.
func ParseReceipt(receipt, extension string, keys [][]byte, now time.Time) (t Transaction, err error) {
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
	if data.TransactionID == "" || len(data.TransactionID) > contract.MaxID || len(data.UserID) > contract.MaxID || data.Product.Cost.Amount < 0 {
		return t, errReceipt()
	}
	if keys != nil && (!claims.areFor(extension, now) || !isSigned(receipt, parts, keys)) {
		return t, errReceipt()
	}
	return Transaction{
		ID: data.TransactionID, SKU: data.Product.SKU, DisplayName: data.Product.DisplayName, UserID: data.UserID,
		Cost: data.Product.Cost.Amount, Timestamp: parseReceiptTime(data.Time, now).UnixMilli(), Additional: json.RawMessage("{}"),
	}, nil
}

// areFor reports whether the claims are those of a receipt for an extension that is in force.
func (c *receiptClaims) areFor(extension string, now time.Time) bool {
	return c.Topic == "bits_transaction_receipt" && int64(c.Exp) > now.Unix() && c.Data.Product.DomainID == "twitch.ext."+extension
}

// isSigned reports whether one of the keys has signed a receipt. The signature is over the
// segments as they were sent.
func isSigned(receipt string, parts []string, keys [][]byte) bool {
	signature, err := jwt.NewParser().DecodeSegment(parts[2])
	header, invalid := jwt.NewParser().DecodeSegment(parts[0])
	var form struct {
		Alg string `json:"alg"`
	}
	if err != nil || invalid != nil || json.Unmarshal(header, &form) != nil || form.Alg != jwt.SigningMethodHS256.Alg() {
		return false
	}
	signed := receipt[:strings.LastIndexByte(receipt, '.')]
	for _, key := range keys {
		if jwt.SigningMethodHS256.Verify(signed, signature, key) == nil {
			return true
		}
	}
	return false
}

// parseReceiptTime reads the time of a receipt, which is now where it is unreadable.
func parseReceiptTime(text string, now time.Time) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return now
}

// product is a product that coins buy, in the configuration of a channel.
type product struct {
	Price       int32  `json:"price"`
	DisplayName string `json:"displayName"`
}

// NewOrder returns the order of a user for a product of the configuration of a channel, for its
// price. The order has a refusal where there is no such product, or its price is another.
func NewOrder(channel []byte, userID, sku string, price int64) Order {
	p, refusal := findProduct(channel, sku, price)
	return Order{
		Transaction: Transaction{SKU: sku, DisplayName: p.DisplayName, UserID: userID, Cost: p.Price, Additional: json.RawMessage("{}")},
		Refusal:     refusal,
	}
}

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
