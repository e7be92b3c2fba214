# The two main goals are `make demo` and `make test`. Both install missing packages (and announce it first), can be
# repeated at any time, and print their steps. A third one takes long: `make test-servers`.

.PHONY: help demo test test-servers build

# Servers to fetch for the tests. A server that cannot be fetched is SKIPPED, and listed again at the end of `make test`;
# tests that do not find a fetched server fail. Another list: make test TEST_SERVERS="mysql-9.7 mariadb-11.8".
TEST_SERVERS = mysql-5.7 mysql-8.0 mysql-9.7 mariadb-11.8
test-servers: TEST_SERVERS = $(shell scripts/get-test-servers.sh --list | cut -d' ' -f1)

# The servers of this list that were fetched; the others are listed with the reason on stderr.
servers_fetched = scripts/get-test-servers.sh --fetched $(TEST_SERVERS)

# The servers of this list that this machine can have.
servers_here = $$(scripts/get-test-servers.sh --here $(TEST_SERVERS) 2>/dev/null | tr '\n' ' ')

help:
	@echo "make demo           build truetps and measure, in about two minutes, what each durability setting costs here"
	@echo "make test           check formatting, lints, tests (with real servers and a real browser) and the tree"
	@echo "make test-servers   run the tests that depend on the server's version with every server that this machine can have;"
	@echo "                    20 runs against external servers, killed at random"

build:
	@echo "truetps: building"
	@cargo build --release --locked --package truetps

demo:
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory build
	@echo "truetps: running \`truetps sweep durability --quick\`"
	@# 3 = measured, but no comparison could be decided on this machine, as the printed answer says.
	@target/release/truetps sweep durability --quick || [ $$? -eq 3 ]

test:
	@scripts/install-deps.sh test $(TEST_SERVERS)
	@TRUETPS_REQUIRE_SERVER=1 TRUETPS_REQUIRE_BROWSER=1 TRUETPS_REQUIRE_POSTGRES=1 \
		TRUETPS_REQUIRE_SERVERS="$$($(servers_fetched) 2>/dev/null | tr '\n' ' ')" \
		cargo run --locked --quiet --package xtask -- ci; \
		code=$$?; $(servers_fetched) >/dev/null || true; exit $$code

test-servers: export TRUETPS_REQUIRE_SERVER = 1
test-servers: export TRUETPS_REQUIRE_POSTGRES = 1
test-servers:
	@scripts/install-deps.sh test-servers $(TEST_SERVERS)
	@export TRUETPS_TEST_SERVERS="$(TEST_SERVERS)" TRUETPS_REQUIRE_SERVERS="$(servers_here)"; \
	cargo test --locked --package truetps-sandbox --test matrix --test postgres_versions -- --nocapture && \
	cargo test --locked --package truetps-knowledge --test servers && \
	cargo test --locked --package truetps --test server_versions && \
	TRUETPS_KILLS=20 cargo test --locked --package truetps --test external_kills -- --nocapture
