# Two goals for everybody: `make demo` and `make test`. Both install what is missing (they say so first), can be run
# again at any time, and say what they are doing.

.PHONY: help demo test build

help:
	@echo "make demo   build truetps and measure, in about two minutes, what each durability setting costs here"
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
		cargo run --locked --quiet --package xtask -- ci
