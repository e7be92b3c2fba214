// Uses a pool as tests/pools/check.py asks. `configured` is in pool.go, which is made of pool.go.in.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

type user struct {
	db *sql.DB
	// Of the wait for a connection and the statement together.
	limit time.Duration
	held  []*sql.Conn
}

func (u *user) run(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), u.limit)
	defer cancel()
	_, err := u.db.ExecContext(ctx, text)
	return err
}

func (u *user) take(connections int) error {
	type taken struct {
		connection *sql.Conn
		err        error
	}
	answers := make(chan taken)
	for range connections {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), u.limit)
			defer cancel()
			connection, err := u.db.Conn(ctx)
			if err == nil {
				_, err = connection.ExecContext(ctx, "SELECT 1")
			}
			answers <- taken{connection, err}
		}()
	}
	var failure error
	for range connections {
		answer := <-answers
		if answer.connection != nil {
			u.held = append(u.held, answer.connection)
		}
		if answer.err != nil {
			failure = answer.err
		}
	}
	return failure
}

func (u *user) give() error {
	for _, connection := range u.held {
		connection.Close()
	}
	u.held = nil
	return nil
}

func (u *user) obey(line string) error {
	command, argument, _ := strings.Cut(line, " ")
	switch command {
	case "take":
		connections, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return u.take(connections)
	case "give":
		return u.give()
	case "run":
		return u.run(argument)
	}
	return fmt.Errorf("unknown command %q", command)
}

func main() {
	start := time.Now()
	db, ctx, cancel, err := configured(context.Background())
	if err != nil {
		fmt.Println("error 0", err)
		os.Exit(1)
	}
	deadline, _ := ctx.Deadline()
	cancel()
	u := user{db: db, limit: deadline.Sub(start).Round(100 * time.Millisecond)}
	fmt.Println("ok 0")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		start := time.Now()
		err := u.obey(lines.Text())
		milliseconds := time.Since(start).Milliseconds()
		if err == nil {
			fmt.Println("ok", milliseconds)
		} else {
			fmt.Println("error", milliseconds, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
}
