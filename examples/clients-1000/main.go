// A service that saves a row for each request, as many are written: a fixed pool, one INSERT a request, 200 after the
// INSERT. It neither retries nor batches. The guide `clients-1000` measures it.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const (
	table = `CREATE TABLE IF NOT EXISTS client_rows (
		client BIGINT NOT NULL, seq BIGINT NOT NULL, payload VARCHAR(1000) NOT NULL,
		PRIMARY KEY (client, seq)) ENGINE=InnoDB`
	insert       = "INSERT INTO client_rows (client, seq, payload) VALUES (?, ?, ?)"
	requestBytes = 64 << 10
)

type row struct {
	Client  int64  `json:"client"`
	Seq     int64  `json:"seq"`
	Payload string `json:"payload"`
}

// Pool of a fixed size, with the table.
func open(dsn string, connections int) (*sql.DB, error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if _, err := db.Exec(table); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// 200: the row is saved. 400: it is no row. 503: no connection was free in time. 500: the INSERT failed.
func saveRows(db *sql.DB, acquireTimeout time.Duration) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		var sent row
		if err := json.NewDecoder(http.MaxBytesReader(answer, request.Body, requestBytes)).Decode(&sent); err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(request.Context(), acquireTimeout)
		connection, err := db.Conn(ctx)
		cancel()
		if err != nil {
			http.Error(answer, "no connection is free: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer connection.Close()
		// A client that leaves does not stop its INSERT.
		_, err = connection.ExecContext(context.WithoutCancel(request.Context()), insert, sent.Client, sent.Seq, sent.Payload)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
		}
	}
}

// The login is in a file or in the environment, because everyone on the host can read a command line.
func readDSN(file string) (string, error) {
	if file == "" {
		return os.Getenv("ROWS_DSN"), nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	dsnFile := flag.String("dsn-file", "", "file with the server's DSN, user:password@tcp(host:3306)/db; default: ROWS_DSN")
	connections := flag.Int("pool", 10, "connections")
	acquireTimeout := flag.Duration("acquire-timeout", 2*time.Second, "longest wait for a free connection")
	flag.Parse()
	if *connections < 1 {
		log.Fatal("-pool: at least 1 connection is needed")
	}
	dsn, err := readDSN(*dsnFile)
	if err != nil {
		log.Fatal(err)
	}
	if dsn == "" {
		log.Fatal("no DSN: set ROWS_DSN, or name a file with -dsn-file")
	}
	db, err := open(dsn, *connections)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /rows", saveRows(db, *acquireTimeout))
	log.Printf("POST http://%s/rows, %d connections", *listen, *connections)
	log.Fatal(http.ListenAndServe(*listen, nil))
}
