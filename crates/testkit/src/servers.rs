//! The list of servers that can be fetched, `scripts/servers.toml`, as `build.rs` writes it.

include!(concat!(env!("OUT_DIR"), "/servers.rs"));
