//! Reads a facilitator's answer from any bytes. It is refused, or read as a general JSON parser
//! reads it; an outcome survives being passed on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use x402_wire::{
    Network, Scheme, SettlementResponse,
    facilitator::{SettleResponse, SupportedResponse, VerifyResponse},
};

fuzz_target!(|data: &[u8]| {
    // The general parser has no value when an unread member holds a number out of range.
    let value = serde_json::from_slice::<Value>(data).unwrap_or_default();
    let known = value.is_object();
    if let Ok(answer) = serde_json::from_slice::<VerifyResponse>(data)
        && known
    {
        assert_eq!(value["isValid"], answer.is_valid);
        assert_eq!(value["payer"].as_str(), answer.payer.as_deref());
        assert_eq!(
            value["invalidReason"].as_str(),
            answer.invalid_reason.as_deref()
        );
    }
    if let Ok(answer) = serde_json::from_slice::<SettleResponse>(data) {
        if known {
            assert_eq!(value["success"], answer.success);
            assert_eq!(
                value["transaction"].as_str().unwrap_or_default(),
                answer.transaction
            );
            assert_eq!(value["status"].as_str(), answer.status.as_deref());
        }
        let header = answer.to_header();
        let again = SettlementResponse::from_header(header.as_bytes()).unwrap();
        assert_eq!(again.to_header(), header);
        assert_eq!(
            (again.success, again.transaction),
            (answer.success, answer.transaction)
        );
    }
    // An array in place of an object is read by position.
    if let Ok(answer) = serde_json::from_slice::<SupportedResponse>(data)
        && let Some(kinds) = value["kinds"].as_array()
        && kinds.iter().all(Value::is_object)
    {
        let listed = kinds.iter().any(|kind| {
            kind["x402Version"] == 2 && kind["scheme"] == "exact" && kind["network"] == "eip155:196"
        });
        assert_eq!(answer.supports(Scheme::Exact, Network::evm(196)), listed);
    }
});
