//! A header of any bytes is read or refused as each of the three; what is read survives its own
//! encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use x402_wire::{
    PaymentPayload, PaymentRequired, SettlementResponse, ascii_json, decode_header, encode_header,
};

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
    if let Ok(text) = decode_header(data)
        && let Ok(challenge) = serde_json::from_str::<PaymentRequired>(&text)
    {
        let header = encode_header(&ascii_json(&challenge));
        let text = decode_header(header.as_bytes()).unwrap();
        let again: PaymentRequired = serde_json::from_str(&text).unwrap();
        assert_eq!(again, challenge);
    }
});
