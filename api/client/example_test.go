package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// exampleBackend serves an extension until stop is called, and returns the credentials of its
// back end. Against a real service the base is its address, such as https://acclaim.example/v1.
func exampleBackend() (base string, signer client.Signer, stop func()) {
	folder, err := os.MkdirTemp("", "acclaim-example-")
	if err != nil {
		log.Fatal(err)
	}
	server, err := votingtest.New(folder, time.Now)
	if err != nil {
		log.Fatal(err)
	}
	if err := server.SetKeys(map[string][]string{"quiz": {first}}); err != nil {
		log.Fatal(err)
	}
	if err := server.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	return server.Base(), client.Signer{ClientID: "quiz", Keys: [][]byte{[]byte(decodedFirst)}, Channel: "1"}, func() {
		if err := server.Stop(context.Background()); err != nil {
			log.Fatal(err)
		}
		_ = os.RemoveAll(folder) // what is left is in the folder for temporary files
	}
}

// A chat bot opens a poll, submits what its chat says and reads the result. The key makes the
// votes of a message count once, however often the bot sends them.
func Example() {
	base, signer, stop := exampleBackend()
	defer stop()
	ctx, c := context.Background(), client.New(base, signer.Credentials, client.Options{})

	config := client.NewPollConfig()
	config.Prompt, config.Options = "What is for lunch?", []string{"Soup", "Salad"}
	if err := c.ConfigurePoll(ctx, "lunch", config); err != nil {
		log.Fatal(err)
	}
	votes := []client.Vote{{OpaqueUserID: "Uanna", Value: 0}, {OpaqueUserID: "Uberta", Value: 1}, {OpaqueUserID: "Uclara", Value: 2}}
	for range 2 { // the second time because the answer was lost, say
		_, results, err := c.SubmitVotes(ctx, "lunch", votes, "message-4711")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(results[0].Accepted, results[2].Accepted, results[2].Reason)
	}
	statistics, err := c.ReadStatistics(ctx, "lunch")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(statistics.Count, statistics.Specific[:2])
	// Output:
	// true false value names no option of the poll
	// true false refused when the key was first used
	// 2 [1 1]
}

// ChangePoll ends a poll in a minute and leaves its votes and everything else as they are.
func ExampleClient_ChangePoll() {
	base, signer, stop := exampleBackend()
	defer stop()
	ctx, c := context.Background(), client.New(base, signer.Credentials, client.Options{})
	if err := c.ConfigurePoll(ctx, "lunch", client.NewPollConfig()); err != nil {
		log.Fatal(err)
	}

	if err := c.ChangePoll(ctx, "lunch", map[string]any{"endsAt": time.Now().Add(time.Minute).Unix()}); err != nil {
		log.Fatal(err)
	}
	poll, err := c.ReadPoll(ctx, "lunch")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(poll.Status, poll.EndsAt > time.Now().Unix())

	err = c.ChangePoll(ctx, "dinner", map[string]any{"endsAt": time.Now().Unix()})
	fmt.Println(client.StatusOf(err))
	// Output:
	// active true
	// 404
}
