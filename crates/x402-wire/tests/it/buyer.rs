//! Tests of a buyer: it signs only what its policy allows, once for a purchase, and reads the
//! outcome.

mod authorizing;
mod choosing;
mod sending;
mod signing;
mod stepping;

use alloy_primitives::{Address, B256, U256, address, hex};
use k256::ecdsa::SigningKey;
use serde_json::Value;
use x402_wire::{
    Asset, Network, PaymentRequired,
    buyer::{Allowance, Budget, NoOffer, Purchase, SignedPayment, SpendPolicy, UnsignedPayment},
};

const NOW: u64 = 1_795_219_200;
const XLAYER: Network = Network::evm(196);
const PAYEE: Address = address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906");
const PAYER: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const KEY: [u8; 32] = hex!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");

fn challenge() -> Value {
    serde_json::from_str(include_str!("../data/challenge.json")).unwrap()
}

fn read(challenge: &Value) -> PaymentRequired {
    PaymentRequired::from_json(challenge.to_string().as_bytes()).unwrap()
}

fn usdt0() -> Asset {
    Asset::chain_196()[0].clone()
}

fn usdc() -> Asset {
    Asset::chain_196()[1].clone()
}

/// Allows up to 20,000 units of USD₮0 for one payment.
fn policy() -> SpendPolicy {
    SpendPolicy::new([Allowance::of(&usdt0(), XLAYER, U256::from(20_000))])
}

fn budget() -> Budget {
    [usdt0(), usdc()]
        .iter()
        .fold(Budget::new(), |budget, asset| {
            budget.with(XLAYER, asset.address, U256::from(1_000_000))
        })
}

fn purchase() -> Purchase {
    Purchase::new(PAYER, NOW, B256::repeat_byte(7))
}

fn unsigned(challenge: &Value) -> UnsignedPayment {
    let choice = policy().choose(&read(challenge), &budget()).unwrap();
    choice.authorize(purchase(), &mut budget()).unwrap()
}

fn sign(digest: B256) -> [u8; 65] {
    let key = SigningKey::from_slice(&KEY).unwrap();
    let (signature, parity) = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
    let mut bytes = [0; 65];
    bytes[..64].copy_from_slice(&signature.to_bytes());
    bytes[64] = parity.to_byte();
    bytes
}

fn signed() -> SignedPayment {
    let unsigned = unsigned(&challenge());
    unsigned.sign(sign(unsigned.digest())).unwrap()
}

fn refusals(
    policy: &SpendPolicy,
    challenge: &Value,
    budget: &Budget,
) -> Vec<(usize, &'static str)> {
    let refused: Vec<_> = match policy.choose(&read(challenge), budget) {
        Ok(choice) => choice.not_chosen().to_vec(),
        Err(NoOffer { refusals, .. }) => refusals,
    };
    refused
        .iter()
        .map(|other| (other.index, other.refusal.code()))
        .collect()
}
