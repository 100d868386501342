package verifiable_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

func TestPolicies(t *testing.T) {
	key := witnessKey("w.example", ed25519.NewKeyFromSeed(make([]byte, 32)))
	for _, bad := range []string{
		"", "quorum a\n", "witness a x\nquorum a\n", "witness a " + key + "\nwitness b " + key + "\nquorum a\n",
		"witness a " + key + "\ngroup g 2 a\nquorum g\n", "witness a " + key + "\ngroup a any a\nquorum a\n", "witness a " + key + "\ngroup g any none\nquorum g\n",
		"witness a " + key + "\nquorum a\nquorum a\n", "witness none " + key + "\nquorum none\n", "ship a\nquorum none\n", "witness a " + key[:len(key)-4] + "AAA=\nquorum a\n",
		"witness a " + key + "\ngroup g all a a\nquorum g\n",
	} {
		if _, err := verifiable.ParsePolicy(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	_, err := verifiable.ParsePolicy("log example.com/x+00000000+AAAA https://example.com\n\t# comment\n\nwitness a " + key + "\ngroup g 1 a\nquorum g\n")
	must(t, err)
}

func witnessKey(name string, key ed25519.PrivateKey) string {
	data := append([]byte{4}, key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(name+"\n"), data...))
	return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(data))
}

func cosign(t *testing.T, checkpoint []byte, name string, key ed25519.PrivateKey) []byte {
	t.Helper()
	text, _, _ := bytes.Cut(checkpoint, []byte("\n\n"))
	sig := ed25519.Sign(key, fmt.Appendf(nil, "cosignature/v1\ntime 1800000000\n%s\n", text))
	data := append([]byte{4}, key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(name+"\n"), data...))
	sig = append(binary.BigEndian.AppendUint64(sum[:4:4], 1800000000), sig...)
	return fmt.Appendf(checkpoint, "— %s %s\n", name, base64.StdEncoding.EncodeToString(sig))
}
