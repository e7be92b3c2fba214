#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| truetps_fuzz::binlog(data));
