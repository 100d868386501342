package main

import (
	"testing"
	"time"
)

func TestAudienceAge(t *testing.T) {
	start := time.Now()
	a := &audience{acknowledged: []time.Time{{}, start, start.Add(time.Second), start.Add(3 * time.Second)}}
	for _, test := range []struct {
		count  string
		sent   time.Duration
		oldest time.Duration
	}{
		{"3", 9 * time.Second, 0},                 // it has every vote
		{"2", 3100 * time.Millisecond, 1e8},       // the third came a tenth of a second before
		{"0", 500 * time.Millisecond, 5e8},        // the first came half a second before
		{"2", 2 * time.Second, 5e8},               // nothing was missing yet
		{"1", 1500 * time.Millisecond, 5e8},       // as old as the oldest
		{"1", 1900 * time.Millisecond, 9e8},       // older
		{"3", 20 * time.Second, 9e8},              // the oldest stays
		{"1", 1900*time.Millisecond + 1, 9e8 + 1}, // a nanosecond older
	} {
		if err := a.check(answer{200, []byte(`{"now":{"count":` + test.count + `,"sum":0}}`)}, start.Add(test.sent)); err != nil {
			t.Fatal(err)
		}
		if a.oldest != test.oldest {
			t.Errorf("count %s at %s: the oldest is %s, want %s", test.count, test.sent, a.oldest, test.oldest)
		}
	}
	for _, bad := range []answer{{404, []byte(`{"count":1}`)}, {200, []byte(`{}`)}, {200, []byte(`{"count":}`)}} {
		if a.check(bad, start) == nil {
			t.Errorf("%d %s is taken for a result", bad.status, bad.body)
		}
	}
}
