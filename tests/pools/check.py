"""Checks the configurations that `truetps pool` prints, each with its real library.

    check.py libraries RUN.json                             prints the names of the libraries
    check.py configure RUN.json LIBRARY ADDRESS TEMPLATE    prints the template with the configuration in it
    check.py check RUN.json LIBRARY SERVER READY COMMAND... uses the pool of a program, and prints a row of the matrix;
                                                            makes the file READY when the program has opened it
    check.py table < ROWS                                   prints the matrix

The program opens the pool and obeys a line of stdin each time: `take N` (N users in parallel take a connection, use and
keep it), `give` (all are given back), `run SQL` (one statement). It answers `ok MILLISECONDS`, or `error MILLISECONDS TEXT`.
How many connections are open is what the server says.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

# Where the version of a library is pinned.
VERSIONS = {
    "hikaricp": ("java/pom.xml", "HikariCP"),
    "dbcp2": ("java/pom.xml", "commons-dbcp2"),
    "druid": ("java/pom.xml", "druid"),
    "go": ("go/go.mod", "go-sql-driver/mysql"),
    "sqlalchemy": ("python/requirements.txt", "SQLAlchemy"),
    "sqlx": ("rust/Cargo.toml", "sqlx"),
    "mysql2": ("node/package.json", "mysql2"),
}
HEAD = ["library", "version", "server", "opens", "refuses one more", "renews", "ends a statement"]
PASSWORD = "pools-1"
DATABASE = "pools"
# These open connections when they are first used.
LAZY = ("go", "sqlalchemy", "mysql2")
# Late by a busy machine: less than the acquire timeout, so that one limit is not taken for another.
LATE_S = 1.8
# HikariCP ends connections up to a quarter earlier, so that not all end together.
EARLY = 0.7
# Old connections end when they are next used, or when a thread of the library next looks: every 30 s.
RENEWED_S = 45
HANGING_S = 60


def read(path, library):
    run = json.loads(Path(path).read_text())
    return run["parameters"], dict(run["libraries"])[library]


def configure(path, library, address, template):
    _, text = read(path, library)
    for name, value in {"USER": library, "PASSWORD": PASSWORD, "DB": DATABASE}.items():
        text = re.sub(rf"\b{name}\b", value, text)
    text = re.sub(r"\bHOST:\d+", address, text)
    statement = re.search(r"there is no statement timeout: (.*)", text)
    database = "sqlx::MySql" if "mysql://" in text else "sqlx::Postgres"
    filled = Path(template).read_text().replace("@CONFIGURATION@", text).replace("@DATABASE@", database)
    print(filled.replace("@STATEMENT@", statement[1] if statement else "async { Ok(statement.await) }"))


class Server:
    """What the server says about the user's connections."""

    def __init__(self, name, user):
        self.name = name
        self.is_postgres = name.startswith("p")
        # MySQL makes a certificate of its own.
        self.has_tls = name.startswith("mysql")
        if self.is_postgres:
            self.ids_sql = f"SELECT pid FROM pg_stat_activity WHERE usename = '{user}'"
        else:
            table = "performance_schema.processlist" if name.startswith("mysql") else "information_schema.processlist"
            self.ids_sql = f"SELECT id FROM {table} WHERE user = '{user}'"
        self.sleep_sql = f"SELECT {'pg_sleep' if self.is_postgres else 'SLEEP'}({HANGING_S})"

    def connections(self):
        command = [os.environ["TRUETPS"], "server", "sql", self.name, self.ids_sql]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[1:]
        return set(lines)

    def count(self):
        return len(self.connections())


class Program:
    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.answer()

    def answer(self):
        """Seconds, and the error."""
        line = self.process.stdout.readline().strip()
        status, milliseconds, *error = line.split(" ", 2) if line else ("error", "0", "the program has ended")
        return int(milliseconds) / 1e3, None if status == "ok" else " ".join(error) or "no text"

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
        except BrokenPipeError:
            pass
        return self.answer()

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()

    def must(self, command):
        seconds, error = self.ask(command)
        if error:
            raise Wrong(f"{command}: {error}")
        return seconds


class Wrong(Exception):
    pass


def expect(is_so, text):
    if not is_so:
        raise Wrong(text)


class Check:
    def __init__(self, library, server, parameters, configuration, program):
        self.library, self.server, self.program = library, server, program
        self.size, self.lifetime_s = parameters["size"], parameters["max_lifetime_s"]
        self.acquire_s = parameters["acquire_timeout_ms"] / 1e3
        self.statement_s = parameters["statement_timeout_ms"] / 1e3
        queue = re.search(r"queueLimit: (\d+)", configuration)
        self.queue = int(queue[1]) if queue else 0
        self.opened = time.monotonic()

    def opens(self):
        if self.library in LAZY:
            expect(self.server.count() <= 1, "opened connections before a user came")
        else:
            end = time.monotonic() + 10
            while self.server.count() < self.size and time.monotonic() < end:
                time.sleep(0.2)
            expect(self.server.count() == self.size, f"{self.server.count()} without users")
        self.program.must(f"take {self.size}")
        self.opened = time.monotonic()
        expect(self.server.count() == self.size, f"{self.server.count()} with {self.size} users")
        return f"{self.size}{', when used' if self.library in LAZY else ' at its start'}"

    def refuses(self):
        waiting = self.queue + 1
        # The context of a call in Go bounds the wait and the statement together.
        limit_s = 0 if self.queue else self.acquire_s + (self.statement_s if self.library == "go" else 0)
        seconds, error = self.program.ask(f"take {waiting}")
        expect(error, "one user more was served")
        expect(limit_s - 0.1 <= seconds <= limit_s + LATE_S, f"refused after {seconds:.1f} s: {error}")
        expect(self.server.count() == self.size, f"{self.server.count()} with one user more")
        self.program.must("give")
        print(f"{self.library}: refused: {error}", file=sys.stderr)
        return f"after {seconds:.1f} s" + (f", {self.queue} wait" if self.queue else "")

    def renews(self):
        first = self.server.connections()
        expect(len(first) == self.size, f"{len(first)} after the users have left")
        if self.library == "mysql2":
            return self.replaces()
        gone_s = None
        while first & self.server.connections():
            age_s = time.monotonic() - self.opened
            expect(age_s <= self.lifetime_s + RENEWED_S, f"not in {age_s:.0f} s")
            time.sleep(1)
            self.program.must(f"take {self.size}")
            now = self.server.connections()
            expect(len(now) <= self.size, f"{len(now)} connections")
            self.program.must("give")
            if gone_s is None and not first <= now:
                gone_s = time.monotonic() - self.opened
                expect(gone_s >= EARLY * self.lifetime_s, f"the first one after {gone_s:.0f} s")
        return f"{gone_s or age_s:.0f} to {time.monotonic() - self.opened:.0f} s"

    def replaces(self):
        """Without a max lifetime, the server ends idle connections, and the pool must notice."""
        end = time.monotonic() + 2 * self.lifetime_s + RENEWED_S
        while self.server.count() > 0:
            expect(time.monotonic() < end, "the server has not ended idle connections")
            time.sleep(2)
        self.program.must(f"take {self.size}")
        self.program.must("give")
        return "none; replaces what the server ends"

    def ends_statement(self):
        seconds, error = self.program.ask(f"run {self.server.sleep_sql}")
        expect(error, "the statement was not ended")
        # After a timeout of TLS, Java waits as long again for the server's end of the connection.
        is_closed_by_java = self.library == "hikaricp" and self.server.has_tls
        latest_s = self.statement_s * (2 if is_closed_by_java else 1) + LATE_S
        is_in_time = self.statement_s - 0.1 <= seconds <= latest_s
        expect(is_in_time, f"ended after {seconds:.1f} s: {error}")
        print(f"{self.library}: statement: {error}", file=sys.stderr)
        self.program.must("run SELECT 1")
        return f"{seconds:.1f} s"


def version(library, server):
    file, name = VERSIONS[library]
    if library == "go" and server.startswith("p"):
        name = "jackc/pgx/v5"
    text = (Path(__file__).parent / file).read_text()
    found = re.search(rf"{name}[^0-9\n]*([0-9.]+)", text)[1]
    return f"{name} {found}" if library == "go" else found


def check(path, library, server, ready, command):
    parameters, configuration = read(path, library)
    program = Program(command)
    Path(ready).touch()
    checks = Check(library, Server(server, library), parameters, configuration, program)
    row, is_right = [library, version(library, server), server], True
    for step in (checks.opens, checks.refuses, checks.renews, checks.ends_statement):
        try:
            row.append(step())
        except Wrong as wrong:
            row.append(f"WRONG: {wrong}")
            is_right = False
    checks.program.end()
    print("\t".join(row))
    return is_right


def table(lines):
    rows = [HEAD, *sorted(line.rstrip("\n").split("\t") for line in lines)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main(command, *arguments):
    if command == "libraries":
        print("\n".join(name for name, _ in json.loads(Path(arguments[0]).read_text())["libraries"]))
    elif command == "configure":
        configure(*arguments)
    elif command == "table":
        table(sys.stdin)
    else:
        path, library, server, ready, *program = arguments
        return 0 if check(path, library, server, ready, program) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
