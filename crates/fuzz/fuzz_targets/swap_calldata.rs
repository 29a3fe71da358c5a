//! Router calldata of any bytes is decoded or refused by name.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = data_sources::calldata::decode(data);
});
