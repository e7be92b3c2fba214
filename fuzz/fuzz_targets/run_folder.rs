#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| truetps_fuzz::run_folder(data));
