//! The reviewed, versioned fee configuration, as typed values. The embedder reads it from a file.

mod basis_points;
mod split;

use alloy_primitives::{Address, B256, Selector, U256};

pub use self::{
    basis_points::BasisPoints,
    split::{FeeSplit, Rounding},
};

/// The reviewed fees and swap contracts, as one version.
///
/// The checks believe it, and this crate does not review it: a value that is made by hand is as
/// good as its maker. `plan_builder::ReviewedFees` is one that has passed the review of a document.
///
/// # Example
/// `plan_builder::FeeDocument` reads one from a reviewed file. In code:
/// ```
/// use alloy_primitives::{B256, Selector, U256, address};
/// use calldata_checks::fees::{
///     BasisPoints, BridgeCaps, FeeModel, FeePolicy, FeeRecipient, ReviewedChain, ReviewedLeg,
///     Rounding,
/// };
///
/// let recipient = |role: &str, address, bps| FeeRecipient {
///     role: role.to_owned(),
///     address,
///     bps: BasisPoints::new(bps).unwrap(),
/// };
/// let policy = FeePolicy {
///     version: "2026-11-01".to_owned(),
///     fee_model: FeeModel::ForwarderV2,
///     integrator: "svc".to_owned(),
///     aggregate_cap: BasisPoints::new(60).unwrap(),
///     rounding: Rounding::Floor,
///     recipients: vec![
///         recipient("own", address!("00000000000000000000000000000000000fee01"), 30),
///         recipient("aggregator", address!("C06ebbefD94032B85424D51906e2A335EFAe264B"), 25),
///     ],
///     chains: vec![ReviewedChain {
///         chain_id: 8453,
///         router: address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"),
///         forwarder: address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd"),
///         selectors: vec![Selector::from([0x5f, 0xd9, 0xae, 0x2e])],
///         legs: vec![ReviewedLeg::new(
///             address!("AC4c6e212A361c968F1725b4d055b47E63F80b75"),
///             vec![Selector::from([0x5f, 0x3b, 0xd1, 0xc8])],
///         )],
///     }],
///     deny_tools: Vec::new(),
///     pm_builder_code: B256::ZERO,
///     pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE,
///     perp_builder: None,
///     perp_max_trigger_slippage: BasisPoints::new(1_000).unwrap(),
///     perp_price_band: FeePolicy::PERP_PRICE_BAND,
///     perp_assets: Vec::new(),
///     bridge_caps: BridgeCaps::DEFAULT,
/// };
/// let charge = policy.split(U256::from(1_000_000_007)).unwrap();
/// assert_eq!(charge.parts, [U256::from(3_000_000), U256::from(2_500_000)]);
/// assert_eq!(policy.own().map(|own| own.bps.get()), Some(30));
/// assert!(policy.chain(1).is_none() && policy.perp_asset("BTC").is_none()); // not reviewed
/// assert_eq!(policy.chains[0].tools(), None); // a leg without keys
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeePolicy {
    /// The version, shown in `fee_attribution`.
    pub version: String,
    /// The way in which the fee reaches its recipients.
    pub fee_model: FeeModel,
    /// The integrator's exact string.
    pub integrator: String,
    /// The most that all recipients together may take.
    pub aggregate_cap: BasisPoints,
    /// The rounding of a recipient's amount.
    pub rounding: Rounding,
    /// The complete set of recipients, each once; exactly one has the role [`FeePolicy::OWN`].
    pub recipients: Vec<FeeRecipient>,
    /// The reviewed contracts, per chain.
    pub chains: Vec<ReviewedChain>,
    /// The aggregator's keys of exchanges that are never asked.
    pub deny_tools: Vec<String>,
    /// The attribution code of prediction-market orders; zero when absent.
    pub pm_builder_code: B256,
    /// The most that the venue may charge for that code.
    pub pm_max_builder_fee: BasisPoints,
    /// The builder fee of perpetuals orders.
    pub perp_builder: Option<PerpBuilder>,
    /// The most that a market trigger's limit may be worse than its trigger price.
    pub perp_max_trigger_slippage: BasisPoints,
    /// The most that an entry's limit price may be worse than the mark price.
    pub perp_price_band: BasisPoints,
    /// The perpetuals whose asset id was reviewed, each coin and each id once. For other coins the
    /// checks rely on the venue's reading.
    pub perp_assets: Vec<ReviewedPerpAsset>,
    /// The most that a bridge may cost.
    pub bridge_caps: BridgeCaps,
}

impl FeePolicy {
    /// The role of the service's own recipient.
    pub const OWN: &'static str = "own";
    /// [`Self::pm_max_builder_fee`] of a configuration without one: the venue's own limit for
    /// takers, 1 %.
    pub const PM_MAX_BUILDER_FEE: BasisPoints = BasisPoints(100);
    /// [`Self::perp_price_band`] of a configuration without one: 5 %, which the venue's own clients
    /// use for a market order.
    pub const PERP_PRICE_BAND: BasisPoints = BasisPoints(500);

    /// Finds the review of a chain.
    #[must_use]
    pub fn chain(&self, chain_id: u64) -> Option<&ReviewedChain> {
        self.chains.iter().find(|chain| chain.chain_id == chain_id)
    }

    /// Finds the review of a perpetual, by its exact name at the venue.
    #[must_use]
    pub fn perp_asset(&self, coin: &str) -> Option<&ReviewedPerpAsset> {
        self.perp_assets.iter().find(|asset| asset.coin == coin)
    }

    /// Finds the service's own recipient.
    #[must_use]
    pub fn own(&self) -> Option<&FeeRecipient> {
        self.recipients
            .iter()
            .find(|recipient| recipient.role == Self::OWN)
    }
}

/// The way in which a swap's fee reaches its recipients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeeModel {
    /// The aggregator's fee forwarder pays it in the same transaction, on the gross input, as the
    /// first leg.
    ForwarderV2,
}

impl FeeModel {
    /// The name in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ForwarderV2 => "B/forwarder-v2",
        }
    }
}

/// One recipient of the fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeRecipient {
    /// The recipient's owner: `own`, `aggregator`, …
    pub role: String,
    /// The address.
    pub address: Address,
    /// The recipient's share of the gross input.
    pub bps: BasisPoints,
}

/// The review of one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedChain {
    /// The chain.
    pub chain_id: u64,
    /// The aggregator's router: spender of the approval and target of the call.
    pub router: Address,
    /// The aggregator's fee forwarder: target of the fee leg.
    pub forwarder: Address,
    /// The router's functions that may be called.
    pub selectors: Vec<Selector>,
    /// The contracts and functions that a swap leg may call.
    pub legs: Vec<ReviewedLeg>,
}

impl ReviewedChain {
    /// Finds the review of a contract's function; of several rows the one with this spender.
    #[must_use]
    pub fn leg(
        &self,
        contract: Address,
        function: Selector,
        spender: Address,
    ) -> Option<&ReviewedLeg> {
        let known = || {
            self.legs
                .iter()
                .filter(|leg| leg.contract == contract && leg.selectors.contains(&function))
        };
        known()
            .find(|leg| leg.spender == spender)
            .or_else(|| known().next())
    }

    /// Returns the aggregator's keys of the exchanges with reviewed legs, each once. `None` when a
    /// leg has no keys, because then no exchange may be left out.
    #[must_use]
    pub fn tools(&self) -> Option<Vec<&str>> {
        let mut tools: Vec<&str> = Vec::new();
        for leg in &self.legs {
            if leg.tools.is_empty() {
                return None;
            }
            tools.extend(leg.tools.iter().map(String::as_str));
        }
        tools.sort_unstable();
        tools.dedup();
        Some(tools)
    }
}

/// A contract that a swap leg may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedLeg {
    /// The contract.
    pub contract: Address,
    /// The contract's functions.
    pub selectors: Vec<Selector>,
    /// The spender that the router must approve for the contract: the contract itself, or its own
    /// approval proxy.
    pub spender: Address,
    /// The aggregator's keys of the exchanges behind the contract. Quotes ask for these only, once
    /// every leg of the chain has keys.
    pub tools: Vec<String>,
    /// Whether the contract runs code that the quote chooses: only the minimum output then protects
    /// the account.
    pub runs_arbitrary_code: bool,
    /// The life of the contract's quotes in seconds, where market makers may have signed a part of
    /// them.
    pub max_life_seconds: Option<u64>,
}

impl ReviewedLeg {
    /// Creates a leg whose contract is its own spender, without further marks.
    #[must_use]
    pub const fn new(contract: Address, selectors: Vec<Selector>) -> Self {
        Self {
            contract,
            selectors,
            spender: contract,
            tools: Vec::new(),
            runs_arbitrary_code: false,
            max_life_seconds: None,
        }
    }
}

/// The builder fee of perpetuals orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerpBuilder {
    /// The recipient of the fee.
    pub address: Address,
    /// The fee in tenths of a basis point, at most 100 (0.1 %).
    pub fee_tenth_bps: u16,
}

/// A perpetual whose asset id was reviewed: an order names its asset by that number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedPerpAsset {
    /// The coin's exact name at the venue: `BTC`, or `dex:COIN` on a builder-deployed dex.
    pub coin: String,
    /// The coin's asset id on the wire.
    pub asset_id: u32,
    /// The decimals of a size.
    pub size_decimals: u8,
}

/// The most that a bridge may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeCaps {
    /// The cap of the protocol's fast transfer, as a share of the amount.
    pub fast: BasisPoints,
    /// The cap of the protocol's standard transfer, as a share of the amount.
    pub standard: BasisPoints,
    /// The cap of forwarding, in the smallest unit of USDC.
    pub forward: U256,
    /// The cap of forwarding, as a share of the amount.
    pub forward_share: BasisPoints,
}

impl BridgeCaps {
    /// The caps of a configuration without any: 20 basis points, 20 USDC and a tenth of the amount.
    /// They are above every current fee and below the cost of a mistake.
    pub const DEFAULT: Self = Self {
        fast: BasisPoints(20),
        standard: BasisPoints(20),
        forward: U256::from_limbs([20_000_000, 0, 0, 0]),
        forward_share: BasisPoints(1_000),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_what_it_reviews() {
        assert_eq!(FeeModel::ForwarderV2.as_str(), "B/forwarder-v2");
        let asset = |coin: &str, asset_id| ReviewedPerpAsset {
            coin: coin.to_owned(),
            asset_id,
            size_decimals: 4,
        };
        let policy = FeePolicy {
            version: "1".to_owned(),
            fee_model: FeeModel::ForwarderV2,
            integrator: "svc".to_owned(),
            aggregate_cap: BasisPoints::MAX,
            rounding: Rounding::Floor,
            recipients: Vec::new(),
            chains: Vec::new(),
            deny_tools: Vec::new(),
            pm_builder_code: B256::ZERO,
            pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE,
            perp_builder: None,
            perp_max_trigger_slippage: BasisPoints::MAX,
            perp_price_band: FeePolicy::PERP_PRICE_BAND,
            perp_assets: vec![asset("BTC", 0), asset("ETH", 1)],
            bridge_caps: BridgeCaps::DEFAULT,
        };
        let id = |coin| policy.perp_asset(coin).map(|reviewed| reviewed.asset_id);
        assert_eq!((id("BTC"), id("ETH"), id("eth")), (Some(0), Some(1), None));
    }
}
