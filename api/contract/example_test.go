package contract_test

import (
	"fmt"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// A form can refuse what the service would refuse, in the same words.
func ExamplePollConfig_Bounds() {
	config := contract.DefaultPollConfig()
	config.Prompt = strings.Repeat("?", contract.MaxPrompt+1)
	fmt.Println(contract.FirstBroken(config.Bounds()))

	config.Prompt = "What is for lunch?"
	fmt.Printf("%q\n", contract.FirstBroken(config.Bounds()))
	// Output:
	// prompt must be at most 256 bytes
	// ""
}
