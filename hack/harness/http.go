package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Send makes a request with a credential, unless that is empty, and with headers, each a name
// and a value. The caller closes the answer's body.
func Send(ctx context.Context, c *http.Client, method, url, credential, body string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if credential != "" {
		request.Header.Set("Authorization", credential)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return c.Do(request)
}

// Ask sends a request as Send does and reads the answer to its end.
func Ask(ctx context.Context, c *http.Client, method, url, credential, body string, headers ...string) (status int, answer []byte, err error) {
	response, err := Send(ctx, c, method, url, credential, body, headers...)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// FreeAddress returns an address of the loopback interface on which nothing listens at the
// moment, for servers that cannot choose a port themselves. Its port is below those that systems
// give to connections and to listeners without one, so that none takes it before it is used.
func FreeAddress(ctx context.Context) (string, error) {
	for {
		address := fmt.Sprint("127.0.0.1:", 16_000+rand.IntN(16_000))
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return address, listener.Close()
	}
}
