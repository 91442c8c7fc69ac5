package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
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

// What became of the messages.
type outcome struct {
	sync.Mutex
	delivered int
	gaveUp    []string
}

func (o *outcome) Success(analytics.Message) {
	o.Lock()
	o.delivered++
	o.Unlock()
}

func (o *outcome) Failure(message analytics.Message, _ error) {
	written, err := json.Marshal(message)
	check(err)
	var id struct{ MessageId string }
	check(json.Unmarshal(written, &id))
	o.Lock()
	o.gaveUp = append(o.gaveUp, id.MessageId)
	o.Unlock()
}

func (o *outcome) settled() int {
	o.Lock()
	defer o.Unlock()
	return o.delivered + len(o.gaveUp)
}

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
	out := &outcome{gaveUp: []string{}}
	config := analytics.Config{DataPlaneUrl: from.Url, Interval: 200 * time.Millisecond, Callback: out, Logger: quiet{}}
	if from.Options.RetryMs > 0 {
		config.RetryAfter = func(int) time.Duration { return time.Duration(from.Options.RetryMs) * time.Millisecond }
	}
	client, err := analytics.NewWithConfig(from.Key, config)
	check(err)

	calls := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var kind struct{ Type string }
		check(json.Unmarshal(lines.Bytes(), &kind))
		calls++
		check(client.Enqueue(readers[kind.Type](lines.Bytes())))
	}
	// A client that is closed tries nothing again.
	for out.settled() < calls {
		time.Sleep(20 * time.Millisecond)
	}
	report, err := json.Marshal(map[string]any{"delivered": out.delivered, "gaveUp": out.gaveUp})
	check(err)
	fmt.Println(string(report))
	client.Close()
}
