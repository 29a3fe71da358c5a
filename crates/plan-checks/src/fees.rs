//! The reviewed, versioned fee configuration, as typed values (decisions section 7). Reading it from a file is the business
//! of whoever embeds this crate.

use alloy_primitives::{Address, B256, Selector, U256};

/// What was reviewed about fees and swap contracts, as one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeePolicy {
    /// The version, shown in `fee_attribution`.
    pub version: String,
    /// How the fee reaches its recipients.
    pub fee_model: FeeModel,
    /// The integrator's exact string.
    pub integrator: String,
    /// The most that all recipients together may take.
    pub aggregate_cap: BasisPoints,
    /// How a recipient's amount is rounded.
    pub rounding: Rounding,
    /// The complete set of recipients, each once; exactly one has the role [`FeePolicy::OWN`].
    pub recipients: Vec<FeeRecipient>,
    /// What is reviewed, per chain.
    pub chains: Vec<ReviewedChain>,
    /// The attribution code of prediction-market orders; zero when absent.
    pub pm_builder_code: B256,
    /// The builder fee of perpetuals orders.
    pub perp_builder: Option<PerpBuilder>,
    /// The most that a market trigger may slip from its trigger price.
    pub perp_max_trigger_slippage: BasisPoints,
    /// The perpetuals whose asset id was reviewed, each coin and each id once. What the venue says of another coin is taken
    /// as it is.
    pub perp_assets: Vec<ReviewedPerpAsset>,
    /// The most a bridge may cost.
    pub bridge_caps: BridgeCaps,
}

impl FeePolicy {
    /// The role of the service's own recipient.
    pub const OWN: &'static str = "own";

    /// What is reviewed on a chain.
    #[must_use]
    pub fn chain(&self, chain_id: u64) -> Option<&ReviewedChain> {
        self.chains.iter().find(|chain| chain.chain_id == chain_id)
    }

    /// What is reviewed about a perpetual, by its exact name at the venue.
    #[must_use]
    pub fn perp_asset(&self, coin: &str) -> Option<&ReviewedPerpAsset> {
        self.perp_assets.iter().find(|asset| asset.coin == coin)
    }

    /// The service's own recipient.
    #[must_use]
    pub fn own(&self) -> Option<&FeeRecipient> {
        self.recipients
            .iter()
            .find(|recipient| recipient.role == Self::OWN)
    }
}

/// How a swap's fee reaches its recipients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeeModel {
    /// Pushed in the same transaction by the aggregator's fee forwarder, on the gross input, as the first leg
    /// (decisions section 5, "Model B").
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

/// How a recipient's amount is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `floor(gross * bps / 10000)`, each recipient for itself.
    Floor,
}

impl Rounding {
    /// The name in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
        }
    }

    /// A recipient's amount of a gross input, in the token's smallest unit. `None` past 256 bits.
    #[must_use]
    pub fn share(self, gross: U256, bps: BasisPoints) -> Option<U256> {
        match self {
            Self::Floor => bps.floor_of(gross),
        }
    }
}

/// Hundredths of a percent, at most all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BasisPoints(u16);

impl BasisPoints {
    /// All of it.
    pub const MAX: Self = Self(10_000);

    /// `None` above 10,000.
    #[must_use]
    pub const fn new(bps: u16) -> Option<Self> {
        if bps <= Self::MAX.0 {
            Some(Self(bps))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// `floor(amount * bps / 10000)`; `None` past 256 bits.
    #[must_use]
    pub fn floor_of(self, amount: U256) -> Option<U256> {
        Some(amount.checked_mul(U256::from(self.0))? / U256::from(Self::MAX.0))
    }

    /// `floor(amount * (10000 - bps) / 10000)`: the least that a slippage of these basis points allows, rounded as
    /// aggregators round it. `None` past 256 bits.
    #[must_use]
    pub fn floor_of_rest(self, amount: U256) -> Option<U256> {
        let rest = Self::MAX.0.saturating_sub(self.0);
        Self(rest).floor_of(amount)
    }
}

/// One recipient of the fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeRecipient {
    /// Whose it is: `own`, `aggregator`, …
    pub role: String,
    /// The address.
    pub address: Address,
    /// Its share of the gross input.
    pub bps: BasisPoints,
}

/// What is reviewed on one chain.
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
    /// The contracts that a swap leg may call, and by which functions.
    pub legs: Vec<ReviewedLeg>,
}

/// A contract that a swap leg may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedLeg {
    /// The contract.
    pub contract: Address,
    /// Its functions.
    pub selectors: Vec<Selector>,
}

/// The builder fee of perpetuals orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerpBuilder {
    /// Who receives it.
    pub address: Address,
    /// The fee in tenths of a basis point, at most 100 (0.1 %).
    pub fee_tenth_bps: u16,
}

/// A perpetual whose asset id was reviewed: an order names its asset by that number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedPerpAsset {
    /// The coin's exact name at the venue: `BTC`, or `dex:COIN` on a builder-deployed dex.
    pub coin: String,
    /// Its asset id on the wire.
    pub asset_id: u32,
    /// Decimals of a size.
    pub size_decimals: u8,
}

/// The most a bridge may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeCaps {
    /// Of the amount, for the protocol's fast transfer.
    pub fast: BasisPoints,
    /// For forwarding, in the smallest unit of USDC.
    pub forward: U256,
}

impl BridgeCaps {
    /// 20 basis points and 20 USDC: above every fee in use, below what a mistake would cost.
    pub const DEFAULT: Self = Self {
        fast: BasisPoints(20),
        forward: U256::from_limbs([20_000_000, 0, 0, 0]),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_what_it_reviews() {
        assert_eq!(FeeModel::ForwarderV2.as_str(), "B/forwarder-v2");
        assert_eq!(Rounding::Floor.as_str(), "floor");
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
            pm_builder_code: B256::ZERO,
            perp_builder: None,
            perp_max_trigger_slippage: BasisPoints::MAX,
            perp_assets: vec![asset("BTC", 0), asset("ETH", 1)],
            bridge_caps: BridgeCaps::DEFAULT,
        };
        let id = |coin| policy.perp_asset(coin).map(|reviewed| reviewed.asset_id);
        assert_eq!((id("BTC"), id("ETH"), id("eth")), (Some(0), Some(1), None));
    }

    #[test]
    fn shares_are_floored_and_checked() {
        let bps = BasisPoints::new(30).unwrap();
        assert_eq!(
            Rounding::Floor.share(U256::from(999), bps),
            Some(U256::from(2))
        );
        assert_eq!(
            Rounding::Floor.share(U256::from(1_000_000_007), bps),
            Some(U256::from(3_000_000))
        );
        assert_eq!(Rounding::Floor.share(U256::MAX, bps), None);
        assert_eq!(BasisPoints::new(10_001), None);
    }

    #[test]
    fn the_least_that_a_slippage_allows() {
        // A recorded quote: 2105433773 at 1 % gives 2084379435.
        let one_percent = BasisPoints::new(100).unwrap();
        assert_eq!(
            one_percent.floor_of_rest(U256::from(2_105_433_773u64)),
            Some(U256::from(2_084_379_435u64))
        );
        assert_eq!(
            BasisPoints::MAX.floor_of_rest(U256::from(7)),
            Some(U256::ZERO)
        );
        assert_eq!(one_percent.floor_of_rest(U256::MAX), None);
    }
}
