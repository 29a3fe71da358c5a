//! The fee configuration as an operator writes it, and its review.

mod perpetuals;
mod swap;

use std::{borrow::Cow, collections::BTreeSet, fmt, ops::Deref};

use alloy_primitives::{Address, B256};
use calldata_checks::fees::{BasisPoints, BridgeCaps, FeeModel, FeePolicy, FeeRecipient, Rounding};
use exact::address::ConfiguredAddress;
use serde::Deserialize;

pub(crate) use self::swap::is_tool_key;
use self::{
    perpetuals::PerpetualsTable,
    swap::{ChainTable, SwapTable, chains},
};

/// The fee configuration as it is written. Deserialise it from TOML, or from any other format, and
/// then [`FeeDocument::review`] it. Unknown keys are errors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeeDocument {
    version: String,
    fee_model: String,
    integrator: String,
    aggregate_cap_bps: u64,
    rounding: String,
    recipients: Vec<RecipientTable>,
    chains: Vec<ChainTable>,
    #[serde(default)]
    swap: Option<SwapTable>,
    #[serde(default)]
    prediction_market: Option<PredictionMarketTable>,
    #[serde(default)]
    perpetuals: Option<PerpetualsTable>,
    #[serde(default)]
    bridge: Option<BridgeTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipientTable {
    role: String,
    address: ConfiguredAddress,
    bps: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PredictionMarketTable {
    builder_code: B256,
    max_builder_fee_bps: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct BridgeTable {
    max_fast_fee_bps: Option<u64>,
    max_standard_fee_bps: Option<u64>,
    max_forward_fee: Option<String>,
    max_forward_fee_bps: Option<u64>,
}

/// The most recipients of a fee, and the most rows of a list.
const MOST_ROWS: usize = 256;

/// A fee configuration without a problem. Only [`FeeDocument::review`] makes one, and nothing can
/// change it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFees(FeePolicy);

impl Deref for ReviewedFees {
    type Target = FeePolicy;

    fn deref(&self) -> &FeePolicy {
        &self.0
    }
}

/// A fee configuration that cannot be used. It contains every problem with its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub struct FeeConfigError {
    /// The problems.
    pub problems: Vec<FeeProblem>,
}

impl fmt::Display for FeeConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", problem.key, problem.expected)?;
        }
        Ok(())
    }
}

/// One problem of a fee configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FeeProblem {
    /// The key, for example `recipients[1].bps`.
    pub key: String,
    /// The expected value. For an address with a wrong checksum, also the observed one.
    pub expected: Cow<'static, str>,
}

impl FeeDocument {
    /// Checks the configuration and returns it as types.
    ///
    /// # Errors
    /// Every value that is not allowed: an unknown fee model or rounding, no own recipient or two
    /// of them, a recipient twice, a sum above the cap, a chain twice, an empty list, a function
    /// that is not implemented, an address with a wrong checksum.
    /// # Example
    /// ```
    /// use plan_builder::FeeDocument;
    ///
    /// # macro_rules! file {
    /// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
    /// # }
    /// let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
    /// assert_eq!(document.review()?.recipients.len(), 2);
    ///
    /// let unknown = file!("fees.toml").replace("rounding = \"floor\"", "rounding = \"nearest\"");
    /// let error = toml::from_str::<FeeDocument>(&unknown)?.review().unwrap_err();
    /// assert_eq!(error.problems[0].key, "rounding");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn review(self) -> Result<ReviewedFees, FeeConfigError> {
        let mut problems = Problems::default();
        let policy = self.policy(&mut problems);
        match policy {
            Some(policy) if problems.0.is_empty() => Ok(ReviewedFees(policy)),
            _ => Err(FeeConfigError {
                problems: problems.0,
            }),
        }
    }

    fn policy(self, problems: &mut Problems) -> Option<FeePolicy> {
        problems.check(
            !self.version.is_empty() && self.version.len() <= 64,
            "version",
            "1 to 64 characters",
        );
        let integrator_fits = !self.integrator.is_empty()
            && self.integrator.len() <= 64
            && self.integrator.bytes().all(|b| b.is_ascii_graphic());
        problems.check(
            integrator_fits,
            "integrator",
            "1 to 64 printable ASCII characters without blanks",
        );
        let fee_model = match self.fee_model.as_str() {
            "B/forwarder-v2" => Some(FeeModel::ForwarderV2),
            _ => problems.note("fee_model", "\"B/forwarder-v2\""),
        };
        let rounding = Rounding::from_name(&self.rounding).or_else(|| {
            problems.note(
                "rounding",
                "\"floor\", \"shared-remainder\" or \"shared-floor\"",
            )
        });
        let cap = problems.bps(self.aggregate_cap_bps, "aggregate_cap_bps");
        let recipients = recipients(&self.recipients, cap, problems);
        let chains = chains(self.chains, problems);
        let deny_tools = self.swap.unwrap_or_default().review(problems);
        let perpetuals = self.perpetuals.unwrap_or_default().review(problems);
        let bridge_caps = bridge_caps(&self.bridge.unwrap_or_default(), problems);
        let (pm_builder_code, pm_max_builder_fee) = pm_builder(self.prediction_market, problems)?;
        Some(FeePolicy {
            version: self.version,
            fee_model: fee_model?,
            integrator: self.integrator,
            aggregate_cap: cap?,
            rounding: rounding?,
            recipients,
            chains,
            deny_tools,
            pm_builder_code,
            pm_max_builder_fee,
            perp_builder: perpetuals.builder,
            perp_max_trigger_slippage: perpetuals.max_trigger_slippage?,
            perp_price_band: perpetuals.price_band?,
            perp_assets: perpetuals.assets,
            bridge_caps,
        })
    }
}

fn recipients(
    tables: &[RecipientTable],
    cap: Option<BasisPoints>,
    problems: &mut Problems,
) -> Vec<FeeRecipient> {
    problems.check(tables.len() <= 32, "recipients", "at most 32 recipients");
    let own = tables
        .iter()
        .filter(|table| table.role == FeePolicy::OWN)
        .count();
    problems.check(
        own == 1,
        "recipients",
        "exactly one recipient with the role \"own\"",
    );
    let mut seen = BTreeSet::new();
    let mut sum = 0u64;
    let mut recipients = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = format!("recipients[{index}]");
        problems.check(
            !table.role.is_empty() && table.role.len() <= 32,
            &format!("{key}.role"),
            "1 to 32 characters",
        );
        let address = problems.address(&table.address, &format!("{key}.address"));
        if let Some(address) = address {
            problems.check(
                address != Address::ZERO && seen.insert(address),
                &format!("{key}.address"),
                "an address that is not zero and named once",
            );
        }
        sum = sum.saturating_add(table.bps);
        let bps = problems.bps(table.bps, &format!("{key}.bps"));
        if let (Some(address), Some(bps)) = (address, bps) {
            recipients.push(FeeRecipient {
                role: table.role.clone(),
                address,
                bps,
            });
        }
    }
    if let Some(cap) = cap {
        problems.check(
            sum <= u64::from(cap.get()),
            "aggregate_cap_bps",
            "at least the sum of the recipients' bps",
        );
    }
    recipients
}

/// Reads the attribution code, and the highest fee that the venue may take for it.
fn pm_builder(
    table: Option<PredictionMarketTable>,
    problems: &mut Problems,
) -> Option<(B256, BasisPoints)> {
    let Some(table) = table else {
        return Some((B256::ZERO, FeePolicy::PM_MAX_BUILDER_FEE));
    };
    let most = match table.max_builder_fee_bps {
        None => FeePolicy::PM_MAX_BUILDER_FEE,
        Some(bps) => problems.bps(bps, "prediction_market.max_builder_fee_bps")?,
    };
    Some((table.builder_code, most))
}

fn bridge_caps(table: &BridgeTable, problems: &mut Problems) -> BridgeCaps {
    let mut caps = BridgeCaps::DEFAULT;
    for (share, bps, key) in [
        (
            &mut caps.fast,
            table.max_fast_fee_bps,
            "bridge.max_fast_fee_bps",
        ),
        (
            &mut caps.standard,
            table.max_standard_fee_bps,
            "bridge.max_standard_fee_bps",
        ),
        (
            &mut caps.forward_share,
            table.max_forward_fee_bps,
            "bridge.max_forward_fee_bps",
        ),
    ] {
        if let Some(bps) = bps.and_then(|bps| problems.bps(bps, key)) {
            *share = bps;
        }
    }
    if let Some(text) = &table.max_forward_fee {
        match exact::parse_uint(text) {
            Some(fee) => caps.forward = fee,
            None => {
                problems.note::<()>(
                    "bridge.max_forward_fee",
                    "digits, in the smallest unit of USDC",
                );
            }
        }
    }
    caps
}

#[derive(Default)]
struct Problems(Vec<FeeProblem>);

impl Problems {
    fn check(&mut self, holds: bool, key: &str, expected: &'static str) {
        if !holds {
            self.note::<()>(key, expected);
        }
    }

    fn note<T>(&mut self, key: &str, expected: &'static str) -> Option<T> {
        self.push(key, expected.into());
        None
    }

    fn push(&mut self, key: &str, expected: Cow<'static, str>) {
        self.0.push(FeeProblem {
            key: key.to_owned(),
            expected,
        });
    }

    fn address(&mut self, written: &ConfiguredAddress, key: &str) -> Option<Address> {
        match written.get() {
            Ok(address) => Some(address),
            Err(fault) => {
                self.push(key, fault.to_string().into());
                None
            }
        }
    }

    fn bps(&mut self, value: u64, key: &str) -> Option<BasisPoints> {
        match u16::try_from(value).ok().and_then(BasisPoints::new) {
            Some(bps) => Some(bps),
            None => self.note(key, "0 to 10000 basis points"),
        }
    }
}
