// Rows over net/http: see README.md.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var client = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}

// try returns whether the row is stored, and how long to wait if it is not.
func try(url, row string) (bool, time.Duration) {
	answer, err := client.Post(url, "application/json", strings.NewReader(row))
	if err != nil {
		return false, 100 * time.Millisecond
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return false, 100 * time.Millisecond
	}
	switch answer.StatusCode {
	case 200:
		return true, 0
	case 429, 503:
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1
		}
		return false, time.Duration(seconds) * time.Second
	}
	fmt.Fprintln(os.Stderr, row, answer.Status, string(text))
	os.Exit(1)
	return false, 0
}

func main() {
	url, stop := os.Args[1], os.Args[3]
	first, _ := strconv.Atoi(os.Args[2])
	var all sync.WaitGroup
	for n := first; n < first+4; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			rows := 0
			for {
				if _, err := os.Stat(stop); err == nil {
					break
				}
				row := fmt.Sprintf(`{"client":%d,"seq":%d,"text":"%d-%d"}`, n, rows, n, rows)
				stored, wait := try(url, row)
				for !stored {
					time.Sleep(wait)
					stored, wait = try(url, row)
				}
				rows++
			}
			fmt.Println(n, rows)
		}()
	}
	all.Wait()
}
