package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// drawTrace writes the spans of a trace as a picture: a bar for each on a scale of time, one
// color for each replica.
func drawTrace(t *testing.T, file string, spans []replicaSpan) {
	t.Helper()
	const width, height, left, right, top = 860, 26, 230, 90, 34
	begin, end := spans[0].StartTime, spans[0].EndTime
	for _, s := range spans {
		if s.EndTime.After(end) {
			end = s.EndTime
		}
	}
	x := func(at time.Time) float64 {
		return left + float64(width-left-right)*float64(at.Sub(begin))/float64(end.Sub(begin))
	}
	colors := map[string]string{spans[0].replica: "#4878a8"}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, top+height*len(spans)+10)
	fmt.Fprintf(&b, `<title>The trace of a forwarded vote</title>`+"\n"+`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	depth := map[string]int{}
	for i, s := range spans {
		level := depth[s.Parent.SpanID().String()]
		depth[s.SpanContext.SpanID().String()] = level + 1
		if colors[s.replica] == "" {
			colors[s.replica] = "#d08030"
		}
		y := top + height*i
		from, to := x(s.StartTime), x(s.EndTime)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#222">%s</text>`+"\n", 10+14*level, y+15, s.Name)
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="16" rx="2" fill="%s"/>`+"\n", from, y+2, max(to-from, 1.5), colors[s.replica])
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#555" font-size="11">%d µs</text>`+"\n", to+5, y+14, s.EndTime.Sub(s.StartTime).Microseconds())
	}
	at := left
	for _, s := range []string{spans[0].replica, spans[len(spans)-1].replica} {
		fmt.Fprintf(&b, `<rect x="%d" y="10" width="12" height="12" fill="%s"/><text x="%d" y="21" fill="#222">%s</text>`+"\n", at, colors[s], at+18, s)
		at += 110
	}
	b.WriteString("</svg>\n")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
