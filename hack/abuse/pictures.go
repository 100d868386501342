package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"sync"
	"time"
)

func pictureCases() []attackCase {
	return []attackCase{
		{name: "picture-uploads", what: "the broadcaster of an empty channel uploads pictures without end, and small files of a million pixels", run: floodUploads, buildUp: 2 * time.Second, growth: 32 << 20},
		{name: "picture-names", what: "ask for pictures that do not exist, without a credential", run: askForPictures, growth: 32 << 20},
	}
}

// uploadOf returns the body of an upload of a picture in one colour.
func uploadOf(side int, shade byte) string {
	pixels := image.NewGray(image.Rect(0, 0, side, side))
	pixels.SetGray(0, 0, color.Gray{Y: shade})
	var encoded bytes.Buffer
	_ = png.Encode(&encoded, pixels) // it has pixels, and a buffer takes all
	return `{"data":"` + base64.StdEncoding.EncodeToString(encoded.Bytes()) + `"}`
}

// floodUploads sends files that are bombs, and others that are not, while staff of the victims' channel
// uploads, too.
func floodUploads(ctx context.Context, a *attacker) {
	staff := mustCredential("broadcaster", channel, "U-broadcaster")
	const bombs = "bombs"
	bodies := map[string]string{bombs: uploadOf(1000, 0)}
	for shade := range byte(100) {
		bodies[fmt.Sprint(shade)] = uploadOf(16, shade)
	}
	var alive sync.WaitGroup
	alive.Go(func() {
		own := uploadOf(16, 0)
		a.repeatWell(ctx, "an upload of another channel", func(ctx context.Context) int {
			return a.from(240).status(ctx, staff, http.MethodPost, "/v1/pictures", own)
		})
	})
	client := a.newClient(8)
	defer client.CloseIdleConnections()
	a.flood(ctx, 8, func(ctx context.Context, n int64) (string, error) {
		kind := fmt.Sprint(n / 2 % 100)
		if n%2 == 0 {
			kind = bombs
		}
		outcome, err := a.send(ctx, client, a.Broadcaster, http.MethodPost, "/v1/pictures", bodies[kind])
		switch {
		case outcome == "429":
			return "uploads: 429", err
		case kind == bombs && outcome == "200":
			a.count("a bomb is stored")
		}
		return "uploads", err
	})
	alive.Wait()
	a.breachIf("a bomb is stored", "a picture of a million pixels is decoded")
	a.breachAbove(160, "uploads", "a channel uploads more than 160 pictures")
}

// askForPictures names another picture each time, while another address reads one that exists.
func askForPictures(ctx context.Context, a *attacker) {
	staff := mustCredential("broadcaster", channel, "U-broadcaster")
	own := a.made(ctx, staff, "/v1/pictures", uploadOf(16, 0)).ID
	address := "/public/" + extension + "/" + channel + "/%s/picture.png"
	var alive sync.WaitGroup
	alive.Go(func() {
		a.repeatWell(ctx, "a viewer's picture", func(ctx context.Context) int {
			return a.from(240).status(ctx, "", http.MethodGet, fmt.Sprintf(address, own), "")
		})
	})
	client := a.newClient(64)
	defer client.CloseIdleConnections()
	a.flood(ctx, 64, func(ctx context.Context, n int64) (string, error) {
		outcome, err := a.send(ctx, client, "", http.MethodGet, fmt.Sprintf(address, fmt.Sprintf("%022d", n)), "")
		return "unknown pictures: " + outcome, err
	})
	alive.Wait()
	a.breachAbove(2_000, "unknown pictures: 404", "an address asks for more than 2,000 unknown pictures")
}
