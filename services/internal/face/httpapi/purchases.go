package httpapi

import (
	"net/http"

	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

func (a *API) postBits(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	receipt, username := body.Text("transactionReceipt"), body.Text("displayName")
	if body.Err != nil {
		return body.Err
	}
	isNew, err := a.RecordBits(r.Context(), &r.Call, receipt, username)
	if err != nil || !isNew {
		return writeDone(w, err)
	}
	writeJSON(w, http.StatusCreated, []byte("{}"))
	return nil
}

func (a *API) postCoins(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	sku, price := body.Text("sku"), body.Integer("price", -1)
	if body.Err != nil {
		return body.Err
	}
	balance, err := a.SpendCoins(r.Context(), &r.Call, sku, price)
	return writeBalance(w, balance, err)
}

func (a *API) getCoins(w http.ResponseWriter, r *apiRequest) error {
	balance, err := a.ReadCoins(r.Context(), &r.Call)
	return writeBalance(w, balance, err)
}

func writeBalance(w http.ResponseWriter, balance int64, err error) error {
	if err != nil {
		return err
	}
	return writeValue(w, map[string]int64{"balance": balance})
}
