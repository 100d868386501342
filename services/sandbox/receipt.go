package sandbox

import (
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Receipt is the content of a receipt for bits, as the platform signs it for an extension.
type Receipt struct {
	ExtensionID   string
	TransactionID string
	UserID        string
	Product       Product
}

// Product describes an item that a viewer buys with bits.
type Product struct {
	SKU         string `json:"sku"`
	DomainID    string `json:"domainId"`
	DisplayName string `json:"displayName"`
	Cost        Cost   `json:"cost"`
}

// Cost is the price of a product.
type Cost struct {
	Amount int32  `json:"amount"`
	Type   string `json:"type"`
}

// receiptClaims is the payload of a receipt.
type receiptClaims struct {
	jwt.RegisteredClaims
	Topic string      `json:"topic"`
	Data  transaction `json:"data"`
}

type transaction struct {
	TransactionID string  `json:"transactionId"`
	Time          string  `json:"time"`
	UserID        string  `json:"userId"`
	Product       Product `json:"product"`
}

// IssueReceipt signs a receipt. It completes the product with the extension's domain and the
// type of its cost.
func IssueReceipt(r Receipt, secret []byte, now time.Time) (string, error) {
	r.Product.DomainID, r.Product.Cost.Type = "twitch.ext."+r.ExtensionID, "bits"
	return jwt.NewWithClaims(jwt.SigningMethodHS256, receiptClaims{
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(now.Add(contract.SandboxTokenLifetime))},
		Topic:            "bits_transaction_receipt",
		Data:             transaction{TransactionID: r.TransactionID, Time: now.UTC().Format(time.RFC3339), UserID: r.UserID, Product: r.Product},
	}).SignedString(secret)
}
