// h2spec-check runs all cases of h2spec against HOST:PORT, and compares those that fail with the lines of a file.
//
//	h2spec-check HOST:PORT EXPECTED-FAILURES
//
// A line is the section, the number of the case in it, and after a colon the reason why it stays.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// A case that fails is tried again: each looks at times of a busy machine.
const attempts = 3

func main() {
	host, portText, err := net.SplitHostPort(os.Args[1])
	check(err)
	port, err := strconv.Atoi(portText)
	check(err)
	expected := read(os.Args[2])
	var failed map[string]string
	for n := 0; n < attempts && (n == 0 || len(differences(expected, failed)) > 0); n++ {
		var passed int
		failed, passed = run(&config.Config{
			Host: host, Port: port, Path: "/healthz", Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true,
		})
		fmt.Printf("h2spec: %d passed, %d failed\n", passed, len(failed))
	}
	wrong := differences(expected, failed)
	for _, line := range wrong {
		fmt.Println(line)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// read returns the names of a file's cases.
func read(path string) map[string]bool {
	text, err := os.ReadFile(path)
	check(err)
	names := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, _, found := strings.Cut(line, ": "); found && !strings.HasPrefix(line, "#") {
			names[name] = true
		}
	}
	return names
}

func run(config *config.Config) (failed map[string]string, passed int) {
	failed = map[string]string{}
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(config)
		passed += collect(group, failed)
	}
	return failed, passed
}

func collect(group *spec.TestGroup, failed map[string]string) (passed int) {
	for n, test := range group.Tests {
		if test.Result == nil {
			continue
		}
		if test.Result.Failed {
			name := fmt.Sprintf("%s %d", group.ID(), n+1)
			failed[name] = test.Desc + ": " + strings.ReplaceAll(test.Result.Error.Error(), "\n", " ")
		} else {
			passed++
		}
	}
	for _, inner := range group.Groups {
		passed += collect(inner, failed)
	}
	return passed
}

func differences(expected map[string]bool, failed map[string]string) []string {
	var lines []string
	for name, reason := range failed {
		if !expected[name] {
			lines = append(lines, "fails, and is not expected to: "+name+": "+reason)
		}
	}
	for name := range expected {
		if _, fails := failed[name]; !fails {
			lines = append(lines, "passes: take it out of the list: "+name)
		}
	}
	return lines
}
