//! Reads any bytes as each of the three headers. A header is read or refused, and a read header
//! survives its own encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use x402_wire::{PaymentPayload, PaymentRequired, SettlementResponse, encode_header};

fuzz_target!(|data: &[u8]| {
    if let Ok(payload) = PaymentPayload::from_header(data) {
        let again = PaymentPayload::from_header(encode_header(payload.raw()).as_bytes());
        assert_eq!(
            again.map(|again| again.raw().to_owned()).as_deref(),
            Ok(payload.raw())
        );
    }
    if let Ok(response) = SettlementResponse::from_header(data) {
        let header = response.to_header();
        let again = SettlementResponse::from_header(header.as_bytes());
        assert_eq!(again.map(|again| again.to_header()).as_ref(), Ok(&header));
    }
    if let Ok(challenge) = PaymentRequired::from_header(data) {
        let header = challenge.to_header();
        let again = PaymentRequired::from_header(header.as_bytes()).unwrap();
        assert!(again.options().eq(challenge.options()));
        assert_eq!(
            again.extensions.iter().len(),
            challenge.extensions.iter().len()
        );
    }
});
