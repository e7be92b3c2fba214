package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// Needs a server: `ROWS_DSN='user:password@tcp(127.0.0.1:3306)/db' go test`.
func TestStatusSaysWhetherTheRowIsThere(t *testing.T) {
	dsn := os.Getenv("ROWS_DSN")
	if dsn == "" {
		t.Skip("SKIPPED: no server in ROWS_DSN")
	}
	db, err := open(dsn, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := httptest.NewServer(saveRows(db, 300*time.Millisecond))
	defer service.Close()
	expect := func(expected int, body string) {
		t.Helper()
		answer, err := http.Post(service.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != expected {
			t.Errorf("%s: status %d, not %d", body, answer.StatusCode, expected)
		}
	}
	client := time.Now().UnixNano()
	body := func(seq int) string { return fmt.Sprintf(`{"client": %d, "seq": %d, "payload": "ä1"}`, client, seq) }
	expect(http.StatusOK, body(1))
	expect(http.StatusInternalServerError, body(1))
	expect(http.StatusBadRequest, "no row")

	held, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	expect(http.StatusServiceUnavailable, body(2))
	held.Close()

	var rows int
	var payload string
	saved := "SELECT COUNT(*), MIN(payload) FROM client_rows WHERE client = ?"
	if err := db.QueryRow(saved, client).Scan(&rows, &payload); err != nil {
		t.Fatal(err)
	}
	if rows != 1 || payload != "ä1" {
		t.Errorf("%d rows, payload %q", rows, payload)
	}
}
