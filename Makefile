# The two main goals are `make demo` and `make test`. Both install missing packages (and announce it first), can be
# repeated at any time, and print their steps; so does `make gateway-demo`. `make test-servers` takes long.

.PHONY: help demo gateway-demo test test-servers test-promise test-pools test-slurm test-deploy test-h2spec test-clients test-package test-release build stage install uninstall deb image release

# Where `make install` installs to; DESTDIR is put before it.
PREFIX = /usr/local
installed = $(DESTDIR)$(PREFIX)
share = $(installed)/share

target = $(or $(CARGO_TARGET_DIR),target)
built = $(target)/release
program = $(built)/truetps
# Files that the program writes itself, for packages. `make release` lets a program of this machine write them for others.
staged = $(built)/package
writer = $(program)

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
	@echo "make gateway-demo   build truetps; the gateway, 1,000 clients for a minute, a killed database, and the verdict"
	@echo "make test           check formatting, lints, tests (with real servers and a real browser) and the tree"
	@echo "make test-servers   run the tests that depend on the server's version with every server that this machine can have;"
	@echo "                    20 runs against external servers, killed at random"
	@echo "make test-promise   try to break the promise of the gateway with random tables, for PROMISE_SECONDS (3600) a family"
	@echo "make test-pools     run the configurations that \`truetps pool\` prints with their libraries, in Java, Go, Python, Rust, Node.js"
	@echo "make test-slurm     run deploy/slurm in a real Slurm of one node (root; installs slurm-wlm)"
	@echo "make test-deploy    check the files of deploy/kubernetes as \`kubectl kustomize\` and the API read them, with Go"
	@echo "make test-h2spec    run the cases of h2spec, a test of HTTP/2, against the gateway; Go fetches it"
	@echo "make test-clients   HTTP clients of Python, Go, Java, Node.js and curl, while gateway and database are killed"
	@echo "make build          build the program: target/release/truetps"
	@echo "make install        install program, manual pages, completions and plans to PREFIX (/usr/local), below DESTDIR"
	@echo "make uninstall      remove them"
	@echo "make deb            make a package for Debian; \`make test-package\` installs it on a bare system, uses and removes it"
	@echo "make image          make a container image, with docker"
	@echo "make release        make the files of a release: programs that run on other systems, packages, checksums, list of parts"
	@echo "make test-release   use them on bare systems: Debian 11, 12 and 13"

build:
	@echo "truetps: building"
	@cargo build --release --locked --package truetps

demo:
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory build
	@echo "truetps: running \`truetps sweep durability --quick\`"
	@# 3 = measured, but no comparison could be decided on this machine, as the printed answer says.
	@$(program) sweep durability --quick || [ $$? -eq 3 ]

gateway-demo:
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory build
	@TRUETPS=$(program) scripts/gateway-demo.sh

test:
	@scripts/install-deps.sh test $(TEST_SERVERS)
	@TRUETPS_REQUIRE_SERVER=1 TRUETPS_REQUIRE_BROWSER=1 TRUETPS_REQUIRE_POSTGRES=1 \
		TRUETPS_REQUIRE_SERVERS="$$($(servers_fetched) 2>/dev/null | tr '\n' ' ')" \
		sh -c 'cargo build --locked --quiet --workspace --bin xtask && $(target)/debug/xtask ci'; \
		code=$$?; $(servers_fetched) >/dev/null || true; scripts/test-package.sh --not-run-here; exit $$code

test-servers: export TRUETPS_REQUIRE_SERVER = 1
test-servers: export TRUETPS_REQUIRE_POSTGRES = 1
test-servers:
	@scripts/install-deps.sh test-servers $(TEST_SERVERS)
	@export TRUETPS_TEST_SERVERS="$(TEST_SERVERS)" TRUETPS_REQUIRE_SERVERS="$(servers_here)"; \
	cargo test --locked --package truetps-sandbox --test servers -- matrix:: postgres_versions:: --nocapture && \
	cargo test --locked --package truetps-knowledge --test servers && \
	TRUETPS_KILL_ROUNDS=50 cargo test --locked --package truetps-batch --test servers -- kills:: binlog --nocapture && \
	TRUETPS_TEST_KILLS=100 cargo test --locked --package truetps-prealloc --test servers && \
	TRUETPS_TEST_CUTS=1 cargo test --locked --package truetps --test private_servers -- server_versions:: power_cuts:: && \
	TRUETPS_KILLS=20 cargo test --locked --package truetps --test external_servers -- external_kills:: external_settings:: --nocapture

# A seed that fails is printed, and fails again: TRUETPS_MACHINE_SEED=… make test-promise
PROMISE_SECONDS = 3600
test-promise:
	@scripts/install-deps.sh test-servers mysql-9.7
	@TRUETPS_REQUIRE_SERVER=1 TRUETPS_REQUIRE_POSTGRES=1 TRUETPS_MACHINE_SECONDS=$(PROMISE_SECONDS) \
		cargo test --locked --package truetps-batch --test servers -- machine:: --nocapture

# Fetches the libraries, with the clients of their languages.
test-pools:
	@scripts/test-pools.sh

test-slurm:
	@scripts/test-slurm.sh

# Without a cluster: each object as the types of the API decode it. Go fetches these.
test-deploy:
	@cd deploy/check && go test -count=1 ./...

# Go fetches h2spec.
test-h2spec:
	@scripts/test-h2spec.sh

# With what is installed of these languages, and nothing that is fetched.
test-clients:
	@scripts/test-clients.sh

# What the program writes itself. It is built if it is not there: with `sudo make install` there may be no Rust.
stage:
	@test -x $(program) || $(MAKE) --no-print-directory build
	@rm -rf $(staged) && mkdir -p $(staged)
	@$(writer) man-pages $(staged)/man
	@cp -r $(staged)/man $(staged)/man.gz && gzip -9n $(staged)/man.gz/*
	@for shell in bash zsh fish; do $(writer) completions $$shell >$(staged)/completions.$$shell || exit 1; done

install: stage
	@install -D -m 755 $(program) $(installed)/bin/truetps
	@install -d $(share)/man/man1 && install -m 644 $(staged)/man/*.1 $(share)/man/man1
	@install -D -m 644 $(staged)/completions.bash $(share)/bash-completion/completions/truetps
	@install -D -m 644 $(staged)/completions.zsh $(share)/zsh/site-functions/_truetps
	@install -D -m 644 $(staged)/completions.fish $(share)/fish/vendor_completions.d/truetps.fish
	@install -d $(share)/truetps/plans && install -m 644 plans/*.toml $(share)/truetps/plans
	@install -d $(share)/truetps/workloads && install -m 644 workloads/* $(share)/truetps/workloads
	@install -d $(share)/doc/truetps && install -m 644 README.md CHANGELOG.md LICENSE-* $(share)/doc/truetps
	@echo "truetps: installed to $(installed)"

uninstall:
	@rm -f $(installed)/bin/truetps $(share)/man/man1/truetps.1 $(share)/man/man1/truetps-*.1
	@rm -f $(share)/bash-completion/completions/truetps $(share)/zsh/site-functions/_truetps
	@rm -f $(share)/fish/vendor_completions.d/truetps.fish
	@rm -rf $(share)/truetps $(share)/doc/truetps
	@echo "truetps: removed from $(installed)"

# `make release` gives the target of Rust, and the folder.
deb_target =
debs = $(target)/debian/
deb: $(if $(deb_target),,build) stage
	@command -v cargo-deb >/dev/null || { \
		echo "truetps: installing cargo-deb"; cargo install --locked --quiet cargo-deb@3.8.0; }
	@cargo deb --locked --no-build --no-strip --package truetps \
		$(addprefix --variant release --target ,$(deb_target)) --output $(debs)
	@echo "truetps: \`sudo apt install $$(realpath "$$(ls -t $(debs)/truetps_*.deb | head -1)")\` installs it"

image: build
	@rm -rf $(target)/release/image
	@$(MAKE) --no-print-directory install DESTDIR=$(target)/release/image PREFIX=/usr
	@docker build --file packaging/Dockerfile --tag truetps $(target)/release/image

# Needs root and debootstrap; where they are missing, it says so. It takes two minutes, besides the build.
test-package:
	@if scripts/test-package.sh --can-run; then \
		$(MAKE) --no-print-directory deb && \
		scripts/test-package.sh "$$(ls -t $(target)/debian/truetps_*.deb | head -1)"; fi

# For x86-64 and aarch64: those that Rust has a standard library for here. It takes some ten minutes.
release:
	@scripts/release.sh

# Of what `make release` made, the files that this machine can run. It takes some ten minutes, the first time longer.
test-release:
	@if scripts/test-package.sh --can-run; then scripts/test-release.sh $(target)/release-files; fi
