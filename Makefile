# Two goals for everybody: `make demo` and `make test`. Both install what is missing (they say so first), can be run
# again at any time, and say what they are doing.

.PHONY: help demo test test-servers build

help:
	@echo "make demo   build truetps and measure, in about two minutes, what each durability setting costs here"
	@echo "make test-servers   what depends on the server's version, with every server that there is"
	@echo "make test   check formatting, lints, tests (with real servers and a real browser) and the tree"

build:
	@echo "truetps: building"
	@cargo build --release --locked --package truetps

demo:
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory build
	@echo "truetps: running \`truetps sweep durability --quick\`"
	@# 3 = measured, but no comparison could be decided on this machine: the answer says so itself.
	@target/release/truetps sweep durability --quick || [ $$? -eq 3 ]

test:
	@scripts/install-deps.sh test
	@TRUETPS_REQUIRE_SERVER=1 TRUETPS_REQUIRE_BROWSER=1 TRUETPS_REQUIRE_POSTGRES=1 \
		TRUETPS_REQUIRE_SERVERS="mysql-5.7 mysql-8.0" \
		cargo run --locked --quiet --package xtask -- ci

test-servers:
	@scripts/install-deps.sh test
	@scripts/get-test-servers.sh $$(scripts/get-test-servers.sh --list | cut -d' ' -f1) >/dev/null || \
		echo "truetps: not all test servers could be fetched: their tests are skipped."
	@TRUETPS_TEST_SERVERS=all cargo test --locked --package truetps-sandbox --test matrix -- --nocapture
	@TRUETPS_TEST_SERVERS=all cargo test --locked --package truetps --test server_versions
