//! Pays for one call: `cargo run -p api-server --example pay -- URL`, with the key in `BUYER_KEY`.
//!
//! Try it against `api-server demo`, which prints a funded buyer's key.

#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "an example that prints, and that a test includes"
)]

use std::error::Error;

use alloy_primitives::{B256, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use reqwest::{Client, Response};
use serde_json::json;
use x402_wire::{
    Authorization, PaymentRequired, Scheme, SettlementResponse, ascii_json, decode_header,
    encode_header, header,
};

/// The most that one call may cost, in millionths of a dollar: an agent's own spend control.
const MOST: u64 = 100_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("expected a URL")?;
    let key = std::env::var("BUYER_KEY").map_err(|_| "expected a private key in BUYER_KEY")?;
    let response = pay(&url, &key.parse()?).await?;
    if let Some(receipt) = response.headers().get(header::PAYMENT_RESPONSE) {
        let receipt = SettlementResponse::from_header(receipt.as_bytes())?;
        println!(
            "settled: {}, transaction {}",
            receipt.success, receipt.transaction
        );
    }
    println!("{} {}", response.status(), response.text().await?);
    Ok(())
}

/// Asks, signs the first `exact` option that is cheap enough, and asks again.
pub async fn pay(url: &str, signer: &PrivateKeySigner) -> Result<Response, Box<dyn Error>> {
    let client = Client::builder().no_proxy().build()?;
    let unpaid = client.get(url).send().await?;
    let Some(challenge) = unpaid.headers().get(header::PAYMENT_REQUIRED) else {
        return Ok(unpaid);
    };
    let challenge: PaymentRequired = serde_json::from_str(&decode_header(challenge.as_bytes())?)?;
    let option = challenge
        .accepts
        .iter()
        .find(|option| option.scheme == Scheme::Exact && option.amount <= U256::from(MOST))
        .ok_or("no option is cheap enough")?;

    let mut nonce = B256::ZERO;
    getrandom::fill(nonce.as_mut_slice())?;
    let now = u64::try_from(jiff::Timestamp::now().as_second())?;
    let authorization = Authorization {
        from: signer.address(),
        to: option.pay_to,
        value: option.amount,
        valid_after: U256::ZERO,
        valid_before: U256::from(now + option.max_timeout_seconds),
        nonce,
    };
    let signature = signer.sign_hash_sync(&authorization.digest(option.domain_separator()))?;
    let payment = json!({
        "x402Version": 2,
        "resource": challenge.resource,
        "accepted": option,
        "payload": {
            "signature": hex::encode_prefixed(signature.as_bytes()),
            "authorization": authorization,
        },
    });
    // Should this request get lost, send the same header again: it is charged once, whatever
    // happens.
    let payment = encode_header(&ascii_json(&payment));
    Ok(client
        .get(url)
        .header(header::PAYMENT_SIGNATURE, payment)
        .send()
        .await?)
}
