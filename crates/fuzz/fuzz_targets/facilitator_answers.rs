//! Answers of a facilitator of any bytes are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use x402_wire::facilitator::{SettleResponse, SupportedResponse, VerifyResponse};

fuzz_target!(|data: &[u8]| {
    let _ = serde_json::from_slice::<VerifyResponse>(data);
    let _ = serde_json::from_slice::<SettleResponse>(data);
    let _ = serde_json::from_slice::<SupportedResponse>(data);
});
