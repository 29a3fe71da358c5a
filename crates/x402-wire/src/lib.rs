#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accepts;
mod ascii;
mod authorization;
pub mod buyer;
mod challenge;
mod codec;
mod extensions;
pub mod facilitator;
mod money;
mod network;
mod offer;
mod payload;
mod payment;
mod payment_id;
mod reason;
#[cfg(feature = "recover")]
mod recover;
mod requirements;
mod response;
mod signature;
mod strict;

pub use accepts::{AcceptsEntry, UnknownOffer};
pub use ascii::{ascii_json, push_ascii_escaped};
pub use authorization::{Authorization, AuthorizationKey};
pub use challenge::{PaymentRequired, Resource};
pub use codec::{HeaderError, MAX_DEPTH, decode_header, encode_header};
pub use extensions::Extensions;
pub use money::{MicroUsd, PriceError};
pub use network::{Network, NetworkError, Scheme, UnknownScheme};
pub use offer::{Mismatch, Offer, PaymentOption};
pub use payload::{Accepted, AcceptedExtra, PayloadResource, PaymentPayload, PaymentSignature};
pub use payment::{Invalid, MAX_WINDOW_SECONDS, MIN_REMAINING_SECONDS, Payment, RestoreError};
pub use payment_id::{PaymentId, PaymentIdError};
pub use reason::Reason;
#[cfg(feature = "recover")]
pub use recover::SignatureStanding;
pub use requirements::{Asset, AssetName, PaymentRequirements, Terms};
pub use response::SettlementResponse;

use strict::clip;

/// The protocol version that every message carries (`x402Version`).
pub const X402_VERSION: u64 = 2;

/// Names of the HTTP headers of x402 v2, in lower case as HTTP libraries keep them.
pub mod header {
    /// The challenge of a 402: base64 of [`PaymentRequired`](crate::PaymentRequired).
    pub const PAYMENT_REQUIRED: &str = "payment-required";
    /// The payment: base64 of a [`PaymentPayload`](crate::PaymentPayload).
    pub const PAYMENT_SIGNATURE: &str = "payment-signature";
    /// The receipt: base64 of a [`SettlementResponse`](crate::SettlementResponse).
    pub const PAYMENT_RESPONSE: &str = "payment-response";
    /// The payment header of x402 v1. This crate does not read it; a server names it in its
    /// refusal.
    pub const X_PAYMENT: &str = "x-payment";
}
