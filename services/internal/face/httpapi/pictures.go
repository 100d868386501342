package httpapi

import (
	"encoding/base64"
	"net/http"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// pictureCaching lets caches keep a picture, which never changes, for an hour. A removed one is shown
// no longer than that.
const pictureCaching = "public, max-age=3600"

// picturePolicy keeps a browser that opens a picture as a page from running or loading anything.
const picturePolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

func (a *API) postPicture(w http.ResponseWriter, r *apiRequest) error {
	body := operation.DecodeObject(r.Sent)
	text := body.Text("data")
	if body.Err != nil {
		return body.Err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return operation.NewInvalidMember("data must be base64")
	}
	added, err := a.AddPicture(r.Context(), &r.Call, data)
	if err != nil {
		return err
	}
	return writeValue(w, added)
}

func (a *API) getPictures(w http.ResponseWriter, r *apiRequest) error {
	pictures, err := a.ListPictures(r.Context(), &r.Call)
	if err != nil {
		return err
	}
	return writeValue(w, map[string][]contract.Picture{"pictures": append([]contract.Picture{}, pictures...)})
}

func (a *API) deletePicture(w http.ResponseWriter, r *apiRequest) error {
	id, _ := r.queryParameter("id")
	return writeDone(w, a.RemovePicture(r.Context(), &r.Call, id))
}

// getPicture answers everyone alike, as getPublicResult does.
func (a *API) getPicture(w http.ResponseWriter, r *apiRequest) error {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return fault.New(fault.Invalid, "A picture has no query")
	}
	name, err := publicNameIn(r.URL)
	if err != nil {
		return err
	}
	png, err := a.ReadPicture(r.Context(), &r.Call, contract.PictureName{Client: name.Client, Channel: name.Channel, Picture: name.Poll})
	if fault.KindOf(err) == fault.NotFound {
		w.Header().Set("Cache-Control", noPublicCaching)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Security-Policy", picturePolicy)
	writeTaggedBody(w, r, `"`+name.Poll+`"`, pictureCaching, png)
	return nil
}
