package main

import (
	"context"
	"strconv"
)

// workload is a sequence of requests, and what the server must hold after the
// first n of them were answered with 200.
type workload interface {
	// request appends request n of the sequence to buf. It is called from one
	// goroutine for each connection.
	request(buf []byte, conn int, n int64) []byte
	// verify compares what the server holds with the first n requests.
	verify(ctx context.Context, server *client, n int64) error
}

// appendRequest appends an HTTP/1.1 request with a JSON body, or with none when
// body is empty.
func appendRequest(buf []byte, method, target, credential string, body []byte) []byte {
	buf = append(buf, method...)
	buf = append(buf, " /v1/"...)
	buf = append(buf, target...)
	buf = append(buf, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: "...)
	buf = append(buf, credential...)
	if len(body) > 0 {
		buf = append(buf, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		buf = strconv.AppendInt(buf, int64(len(body)), 10)
	}
	buf = append(buf, "\r\n\r\n"...)
	return append(buf, body...)
}
