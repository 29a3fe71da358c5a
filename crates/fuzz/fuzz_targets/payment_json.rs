//! Judges a payment of any JSON. Nothing panics, and a payment that passes pays exactly the price
//! to the payee.
#![no_main]

use libfuzzer_sys::fuzz_target;
use x402_wire::{Asset, MicroUsd, Network, Payment, PaymentPayload, Terms, facilitator};

fuzz_target!(|data: &[u8]| {
    let Ok(payload) = PaymentPayload::from_json(data) else {
        return;
    };
    let terms = Terms {
        network: Network::evm(196),
        pay_to: [0x90; 20].into(),
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    };
    let offer = terms.offer(MicroUsd::dollars("0.002"));
    let Ok(payment) = Payment::matching(&offer, payload) else {
        return;
    };
    let _ = payment.check_window(1_795_219_200, 10);
    let _ = payment.check_signature();
    if payment.check_terms().is_ok() {
        assert_eq!(payment.authorization().to, terms.pay_to);
        assert_eq!(payment.authorization().value, payment.requirements().amount);
    }
    let body = facilitator::request_body(&payment, Some(true));
    assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok());
});
