//! What the seller asks for: assets, terms, payment options and the 402 challenge.

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::Eip712Domain;
use serde::{Deserialize, Serialize};

use crate::{MicroUsd, Network, Offer, Scheme, ascii_json, strict};

/// A token in which the service is paid: an ERC-20 with EIP-3009 and six decimals.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asset {
    /// The token contract.
    pub address: Address,
    /// `name` of the token's EIP-712 domain, byte for byte.
    pub name: String,
    /// `version` of the token's EIP-712 domain.
    pub version: String,
}

impl Asset {
    /// The three assets of service document 2.1 on `eip155:196`, in its order.
    #[must_use]
    pub fn chain_196() -> [Self; 3] {
        let asset = |address, name: &str, version: &str| Self {
            address,
            name: name.to_owned(),
            version: version.to_owned(),
        };
        [
            asset(
                address!("0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
                "USD\u{20ae}0",
                "1",
            ),
            asset(
                address!("0xB6CEceAB302E2E4948951eE7843FC24E92933061"),
                "USD Coin",
                "2",
            ),
            asset(
                address!("0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"),
                "Global Dollar",
                "1",
            ),
        ]
    }

    /// The EIP-712 domain separator that this token must answer to `DOMAIN_SEPARATOR()`.
    #[must_use]
    pub fn domain_separator(&self, network: Network) -> B256 {
        domain_separator(&self.name, &self.version, network, self.address)
    }
}

/// What the seller takes on every route: where, to whom, in which assets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The network on which payments settle.
    pub network: Network,
    /// The receiving address, the same on every route.
    pub pay_to: Address,
    /// For how long a caller's authorization is meant to be valid.
    pub max_timeout_seconds: u64,
    /// The accepted assets; their order is the order of the options, and an untuned client pays
    /// with the first.
    pub assets: Vec<Asset>,
}

impl Terms {
    /// The options at one price: every asset with scheme `exact`, then every asset with
    /// `aggr_deferred`.
    #[must_use]
    pub fn offer(&self, price: MicroUsd) -> Offer {
        Offer::new(self, price)
    }
}

/// `extra` of a payment option: the asset's EIP-712 name and version, without which a client cannot
/// sign.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AssetName {
    /// Display name of the asset and `name` of its EIP-712 domain.
    pub name: String,
    /// `version` of its EIP-712 domain.
    pub version: String,
}

/// One payment option: an element of `accepts`, flat as x402 v2 section 5.1 has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequirements {
    /// How to pay.
    pub scheme: Scheme,
    /// The network on which the payment settles.
    pub network: Network,
    /// The price in the asset's smallest unit; a decimal string on the wire.
    #[serde(with = "strict::decimal")]
    pub amount: U256,
    /// The token contract.
    #[serde(with = "strict::address")]
    pub asset: Address,
    /// The receiving address.
    #[serde(with = "strict::address")]
    pub pay_to: Address,
    /// For how long the authorization is meant to be valid, in seconds.
    pub max_timeout_seconds: u64,
    /// The asset's EIP-712 name and version.
    pub extra: AssetName,
}

impl PaymentRequirements {
    /// The EIP-712 domain separator under which a payment of this option is signed.
    #[must_use]
    pub fn domain_separator(&self) -> B256 {
        domain_separator(
            &self.extra.name,
            &self.extra.version,
            self.network,
            self.asset,
        )
    }

    /// The option as compact ASCII JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        ascii_json(self)
    }
}

/// What is paid for: `resource` of a challenge (x402 v2 section 5.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The public URL of the request that is paid for.
    pub url: String,
    /// What it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// The 402 challenge: content of the header `PAYMENT-REQUIRED` (x402 v2 section 5.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    /// Always [`X402_VERSION`](crate::X402_VERSION).
    pub x402_version: u64,
    /// Why payment is asked for, as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is paid for.
    pub resource: Resource,
    /// The payment options, in the seller's order of preference.
    pub accepts: Vec<PaymentRequirements>,
    /// Extensions by name, each `{info, schema}`.
    #[serde(default)]
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

fn domain_separator(name: &str, version: &str, network: Network, contract: Address) -> B256 {
    Eip712Domain::new(
        Some(name.to_owned().into()),
        Some(version.to_owned().into()),
        Some(U256::from(network.chain_id())),
        Some(contract),
        None,
    )
    .separator()
}
