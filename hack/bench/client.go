package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// client asks a program what it holds. It is not used while anything is measured.
type client struct {
	base       string // of the API
	admin      string // of the admin listener
	credential string // of a backend
}

// get sends a GET to a route as the backend and hands over the body of its 200.
func (c *client) get(ctx context.Context, target string, decode func(*json.Decoder) error) error {
	return c.getAs(ctx, c.credential, target, decode)
}

func (c *client) getAs(ctx context.Context, credential, target string, decode func(*json.Decoder) error) error {
	body, err := fetch(ctx, c.base+"/"+target, credential)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := decode(json.NewDecoder(body)); err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	return nil
}

// readMetrics returns what the admin listener reports, by name and labels as they
// stand there.
func (c *client) readMetrics(ctx context.Context) (map[string]float64, error) {
	body, err := fetch(ctx, c.admin+"/metrics", "")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(body)
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

// sumMetric adds up the metrics of a name, of those that have the label if one is given.
func sumMetric(metrics map[string]float64, name, label string) float64 {
	var sum float64
	for metric, value := range metrics {
		base, labels, _ := strings.Cut(metric, "{")
		if base == name && strings.Contains(labels, label) {
			sum += value
		}
	}
	return sum
}

// post sends a write that must be answered with 200.
func (c *client) post(ctx context.Context, credential, target, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+target, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", credential)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("POST %s: %s: %.200s", target, response.Status, answer)
	}
	return err
}

func fetch(ctx context.Context, url, credential string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if credential != "" {
		request.Header.Set("Authorization", credential)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // best effort: the status says enough
		return nil, fmt.Errorf("GET %s: %s: %s", url, response.Status, reason)
	}
	return response.Body, nil
}
