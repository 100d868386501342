package httpapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Section 4.12, rule 4: a purchase that would be too many takes no coins, and a transaction
// of bits that is refused is in the log.
func TestTooManyOpenPurchases(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, func(c *apiSettings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	openShop(t, a, 1000)
	const life = `{"sku":"life","price":10}`
	for range 31 { // beside the bits that paid for the coins
		a.as(owner(), "POST", "/coins/purchase", life).is(200)
	}
	a.as(owner(), "POST", "/coins/purchase", life).refused(429, "Too many open purchases of this viewer; nothing was stored")
	a.as(owner(), "GET", "/coins", "").want(200, `{"balance":690}`)
	bits := func(n int) answer {
		return a.as(owner(), "POST", "/bits/transactions", fmt.Sprintf(`{"transactionReceipt":%q}`, receipt(t, "ext", fmt.Sprint("n", n), owner().user, 1)))
	}
	for n := range 256 - 32 {
		bits(n).is(201)
	}
	bits(256).refused(429, "Too many open purchases of this viewer; nothing was stored")
	bits(0).is(200)
	a.as(owner(), "GET", "/coins", "").want(200, fmt.Sprintf(`{"balance":%d}`, 690+224))
	if text := log.String(); strings.Count(text, "a paid transaction is refused") != 1 || !strings.Contains(text, "transaction=n256") {
		t.Error(text)
	}
}
