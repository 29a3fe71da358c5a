#![doc = include_str!("../README.md")]

mod ascii;
mod authorization;
mod codec;
pub mod facilitator;
mod money;
mod network;
mod offer;
mod payload;
mod payment;
mod reason;
mod requirements;
mod response;
mod strict;

pub use ascii::{ascii_json, push_ascii_escaped};
pub use authorization::{Authorization, AuthorizationKey};
pub use codec::{HeaderError, MAX_DEPTH, decode_header, encode_header};
pub use money::{MicroUsd, PriceError};
pub use network::{Network, NetworkError, Scheme, UnknownScheme};
pub use offer::{Mismatch, Offer, PaymentOption};
pub use payload::{Accepted, AcceptedExtra, PayloadResource, PaymentPayload, PaymentSignature};
pub use payment::{
    Invalid, MAX_WINDOW_SECONDS, MIN_REMAINING_SECONDS, Payment, RestoreError, SignatureStanding,
};
pub use reason::Reason;
pub use requirements::{Asset, AssetName, PaymentRequired, PaymentRequirements, Resource, Terms};
pub use response::SettlementResponse;

/// The protocol version that every message carries (`x402Version`).
pub const X402_VERSION: u64 = 2;

/// The chain of service document 2.1.
pub const CHAIN_ID: u64 = 196;

/// Names of the HTTP headers of x402 v2, in the lower case in which HTTP libraries keep them.
pub mod header {
    /// The 402 answer's challenge: base64 of [`PaymentRequired`](crate::PaymentRequired).
    pub const PAYMENT_REQUIRED: &str = "payment-required";
    /// The caller's payment: base64 of a [`PaymentPayload`](crate::PaymentPayload).
    pub const PAYMENT_SIGNATURE: &str = "payment-signature";
    /// The receipt: base64 of a [`SettlementResponse`](crate::SettlementResponse).
    pub const PAYMENT_RESPONSE: &str = "payment-response";
    /// The payment header of x402 v1, which is not accepted; named to tell its users so.
    pub const X_PAYMENT: &str = "x-payment";
}
