#!/bin/sh
# test-clients.sh: tests/clients against the gateway and a private MariaDB, which are restarted and killed meanwhile. All
# languages must be installed here; in `make test`, those that are missing are skipped.
set -eu
cd "$(dirname "$0")/.."
TRUETPS_REQUIRE_SERVER=1 TRUETPS_REQUIRE_CLIENTS=1 \
    cargo test --locked --package truetps --test external_servers -- gateway_clients:: --nocapture
