package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/rudderlabs/analytics-go/v4"
)

type start struct {
	Url     string
	Key     string
	Options struct {
		// Between two tries, milliseconds; its own growing times by default.
		RetryMs int
	}
}

// Counts what became of the messages.
type counter struct{ delivered, failed atomic.Int64 }

func (c *counter) Success(analytics.Message) { c.delivered.Add(1) }

func (c *counter) Failure(analytics.Message, error) { c.failed.Add(1) }

// The fields of the SDK's messages carry the names of its wire.
func read[T analytics.Message](line []byte) analytics.Message {
	var message T
	check(json.Unmarshal(line, &message))
	return message
}

var readers = map[string]func([]byte) analytics.Message{
	"alias":    read[analytics.Alias],
	"group":    read[analytics.Group],
	"identify": read[analytics.Identify],
	"page":     read[analytics.Page],
	"screen":   read[analytics.Screen],
	"track":    read[analytics.Track],
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type quiet struct{}

func (quiet) Logf(string, ...interface{}) {}

func (quiet) Errorf(string, ...interface{}) {}

func main() {
	var from start
	check(json.Unmarshal([]byte(os.Args[1]), &from))
	count := &counter{}
	config := analytics.Config{DataPlaneUrl: from.Url, Interval: 200 * time.Millisecond, Callback: count, Logger: quiet{}}
	if from.Options.RetryMs > 0 {
		config.RetryAfter = func(int) time.Duration { return time.Duration(from.Options.RetryMs) * time.Millisecond }
	}
	client, err := analytics.NewWithConfig(from.Key, config)
	check(err)

	var calls int64
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var kind struct{ Type string }
		check(json.Unmarshal(lines.Bytes(), &kind))
		calls++
		check(client.Enqueue(readers[kind.Type](lines.Bytes())))
	}
	// A client that is closed tries nothing again.
	for count.delivered.Load()+count.failed.Load() < calls {
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Printf("{\"delivered\":%d,\"failed\":%d}\n", count.delivered.Load(), count.failed.Load())
	client.Close()
}
