//! The seller's side of a challenge: assets, terms and payment options.

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::Eip712Domain;
use serde::{Deserialize, Serialize};

use crate::{Network, Scheme, ascii::own_json, strict};

/// A token that pays for calls: an ERC-20 with EIP-3009 and six decimals.
///
/// # Example
/// ```
/// use alloy_primitives::address;
/// use x402_wire::{Asset, Network};
///
/// let usdc_on_base = Asset {
///     address: address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
///     name: "USD Coin".to_owned(),
///     version: "2".to_owned(),
/// };
/// // Compare it with the token's own DOMAIN_SEPARATOR().
/// println!("{}", usdc_on_base.domain_separator(Network::evm(8453)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asset {
    /// The token contract.
    pub address: Address,
    /// The `name` of the token's EIP-712 domain, byte for byte.
    pub name: String,
    /// The `version` of the token's EIP-712 domain.
    pub version: String,
}

impl Asset {
    /// USD₮0, USD Coin and Global Dollar on `eip155:196`, in this order.
    ///
    /// # Example
    /// ```
    /// use x402_wire::Asset;
    ///
    /// let [usdt0, usdc, usdg] = Asset::chain_196();
    /// assert_eq!(usdt0.name, "USD₮0");
    /// assert_eq!((usdc.name.as_str(), usdg.name.as_str()), ("USD Coin", "Global Dollar"));
    /// ```
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

    /// Computes the EIP-712 domain separator of this token. The token's `DOMAIN_SEPARATOR()`
    /// returns the same value if address, name and version are right.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::b256;
    /// use x402_wire::{Asset, Network};
    ///
    /// let [usdt0, ..] = Asset::chain_196();
    /// assert_eq!(
    ///     usdt0.domain_separator(Network::evm(196)),
    ///     b256!("0xd591d9baf744328d9400b923cb02c9474d367d591ca1ab24d8c4068be527599d"),
    /// );
    /// ```
    #[must_use]
    pub fn domain_separator(&self, network: Network) -> B256 {
        domain_separator(&self.name, &self.version, network, self.address)
    }
}

/// A seller's terms for every route: the network, the receiving address and the accepted assets.
///
/// # Example
/// ```
/// use x402_wire::{Asset, MicroUsd, Network, Terms};
///
/// let terms = Terms {
///     network: Network::X_LAYER,
///     pay_to: alloy_primitives::address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
///     max_timeout_seconds: 300,
///     assets: Asset::chain_196().to_vec(),
/// };
/// let offer = terms.offer(MicroUsd::dollars("0.002"));
/// let first = offer.options().next().ok_or("no option")?;
/// assert_eq!((first.pay_to, first.amount.to_string().as_str()), (terms.pay_to, "2000"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The network on which payments settle.
    pub network: Network,
    /// The receiving address, the same on every route.
    pub pay_to: Address,
    /// The offered life of an authorization, in seconds.
    pub max_timeout_seconds: u64,
    /// The accepted assets. Their order is the order of the options; a client without preferences
    /// pays with the first.
    pub assets: Vec<Asset>,
}

/// `extra` of a payment option: the name and version of the asset's EIP-712 domain. A client needs
/// both to sign.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AssetName {
    /// The display name of the asset, which is also the `name` of its EIP-712 domain.
    pub name: String,
    /// The `version` of its EIP-712 domain.
    pub version: String,
}

/// One payment option: a known entry of `accepts`, in the flat form of x402 v2 section 5.1.2.
///
/// # Example
/// ```
/// use x402_wire::{PaymentRequired, Scheme};
///
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
/// let challenge = PaymentRequired::from_json(json.as_bytes())?;
/// let exact: Vec<_> = challenge.options().filter(|option| option.scheme == Scheme::Exact).collect();
/// assert_eq!(exact[0].extra.name, "USD₮0");
/// assert!(exact[0].to_json().is_ascii());
/// # Ok::<(), x402_wire::HeaderError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequirements {
    /// The payment scheme.
    pub scheme: Scheme,
    /// The network on which the payment settles.
    pub network: Network,
    /// The price in the asset's smallest unit. Messages contain it as a decimal string.
    #[serde(with = "strict::decimal")]
    pub amount: U256,
    /// The token contract.
    #[serde(with = "strict::address")]
    pub asset: Address,
    /// The receiving address.
    #[serde(with = "strict::address")]
    pub pay_to: Address,
    /// The offered life of an authorization, in seconds.
    pub max_timeout_seconds: u64,
    /// The asset's EIP-712 name and version.
    pub extra: AssetName,
}

impl PaymentRequirements {
    /// Computes the EIP-712 domain separator under which a payer signs this option.
    #[must_use]
    pub fn domain_separator(&self) -> B256 {
        domain_separator(
            &self.extra.name,
            &self.extra.version,
            self.network,
            self.asset,
        )
    }

    /// Returns the option as compact ASCII JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        own_json(self)
    }
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
