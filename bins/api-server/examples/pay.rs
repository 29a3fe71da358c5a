//! Pays for one call: `cargo run -p api-server --example pay -- URL`, with the key in `BUYER_KEY`.
//!
//! Try it against `api-server demo`, which prints a funded buyer's key.

#![allow(
    clippy::print_stdout,
    unreachable_pub,
    reason = "an example that prints, and that a test includes"
)]

use std::error::Error;

use alloy_primitives::{B256, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use reqwest::{Client, Response};
use x402_wire::buyer::{Allowance, Budget, PaymentOutcome, Purchase, SignedPayment, SpendPolicy};
use x402_wire::{Asset, Network, PaymentId, PaymentRequired, header};

/// The most that one call may cost, in the smallest unit of each asset: ten cents.
const MOST: u64 = 100_000;

/// The number of tries of a request whose answer got lost.
const ATTEMPTS: u32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("expected a URL")?;
    let key = std::env::var("BUYER_KEY").map_err(|_| "expected a private key in BUYER_KEY")?;
    let tls = outbound_tls::http()?;
    let client = Client::builder().tls_backend_preconfigured(tls).build()?;
    let (response, outcome) = pay(&client, &url, &key.parse()?).await?;
    if let Some(outcome) = outcome {
        println!("{outcome:?}");
    }
    println!("{} {}", response.status(), response.text().await?);
    Ok(())
}

/// Asks, signs one offer that the policy allows, and asks again.
pub async fn pay(
    client: &Client,
    url: &str,
    signer: &PrivateKeySigner,
) -> Result<(Response, Option<PaymentOutcome>), Box<dyn Error>> {
    let unpaid = client.get(url).send().await?;
    let Some(challenge) = unpaid.headers().get(header::PAYMENT_REQUIRED) else {
        return Ok((unpaid, None));
    };
    let challenge = PaymentRequired::from_header(challenge.as_bytes())?;

    // The three assets of chain 196, one call at most.
    let (network, most) = (Network::evm(196), U256::from(MOST));
    let assets = Asset::chain_196();
    let allowances = assets
        .each_ref()
        .map(|asset| Allowance::of(asset, network, most));
    let mut budget = assets.iter().fold(Budget::new(), |budget, asset| {
        budget.with(network, asset.address, most)
    });
    let choice = SpendPolicy::new(allowances).choose(&challenge, &budget)?;

    let (mut nonce, mut id) = (B256::ZERO, [0; 16]);
    getrandom::fill(nonce.as_mut_slice())?;
    getrandom::fill(&mut id)?;
    let now = u64::try_from(jiff::Timestamp::now().as_second())?;
    let purchase = Purchase::new(signer.address(), now, nonce);
    let purchase = purchase.with_id(PaymentId::from_random(id));
    let unsigned = choice.authorize(purchase, &mut budget)?;
    let signature = signer.sign_hash_sync(&unsigned.digest())?;
    let payment = unsigned.sign(signature.as_bytes())?;

    let response = send(client, url, &payment).await?;
    let receipt = response.headers().get(header::PAYMENT_RESPONSE);
    let outcome = receipt
        .map(|receipt| payment.outcome(receipt.as_bytes()))
        .transpose()?;
    Ok((response, outcome))
}

/// Sends the request with the payment. Should the answer get lost, the same header goes again: the
/// call is charged once.
async fn send(
    client: &Client,
    url: &str,
    payment: &SignedPayment,
) -> Result<Response, reqwest::Error> {
    let mut attempt = 1;
    loop {
        let request = client.get(url);
        let request = request.header(header::PAYMENT_SIGNATURE, payment.header());
        match request.send().await {
            Err(_) if attempt < ATTEMPTS => attempt += 1,
            sent => return sent,
        }
    }
}
