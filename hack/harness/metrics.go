package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Metrics holds the values that an admin listener reports, by name and labels as they stand there.
type Metrics map[string]float64

// ReadMetrics reads the metrics below an admin listener's base address.
func ReadMetrics(ctx context.Context, admin string) (Metrics, error) {
	response, err := Send(ctx, http.DefaultClient, http.MethodGet, admin+"/metrics", "", "")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s/metrics: %s", admin, response.Status)
	}
	return ParseMetrics(response.Body)
}

// ParseMetrics reads metrics in Prometheus' text format, without their types.
func ParseMetrics(text io.Reader) (Metrics, error) {
	values := Metrics{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		values[lines.Text()[:at]] = value
	}
	return values, lines.Err()
}

// Sum adds up the metrics of a name, of those whose labels contain a text.
func (m Metrics) Sum(name, labels string) float64 {
	var sum float64
	for metric, value := range m {
		base, its, _ := strings.Cut(metric, "{")
		if base == name && strings.Contains(its, labels) {
			sum += value
		}
	}
	return sum
}
