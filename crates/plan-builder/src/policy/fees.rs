//! The fee configuration as a document (decisions section 7), and its check.

mod perpetuals;

use std::{borrow::Cow, collections::BTreeSet, fmt};

use addresses::ConfiguredAddress;
use alloy_primitives::{Address, B256, Selector, U256};
use plan_checks::fees::{
    BasisPoints, BridgeCaps, FeeModel, FeePolicy, FeeRecipient, ReviewedChain, ReviewedLeg,
    Rounding,
};
use serde::Deserialize;

use self::perpetuals::PerpetualsTable;

/// The fee configuration as it is written: deserialise it from TOML (or anything else), then [`FeeDocument::review`] it.
/// Unknown keys are errors.
#[derive(Debug, Clone, Deserialize)]
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
    prediction_market: Option<PredictionMarketTable>,
    #[serde(default)]
    perpetuals: Option<PerpetualsTable>,
    #[serde(default)]
    bridge: Option<BridgeTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipientTable {
    role: String,
    address: ConfiguredAddress,
    bps: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainTable {
    chain_id: u64,
    router: ConfiguredAddress,
    forwarder: ConfiguredAddress,
    selectors: Vec<Selector>,
    legs: Vec<LegTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegTable {
    contract: ConfiguredAddress,
    selectors: Vec<Selector>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PredictionMarketTable {
    builder_code: B256,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BridgeTable {
    max_fast_fee_bps: Option<u64>,
    max_forward_fee: Option<String>,
}

/// Most recipients of a fee, and most rows of a list.
const MOST_ROWS: usize = 256;

/// A fee configuration that cannot be used: every problem, each with its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeProblem {
    /// The key: `recipients[1].bps`.
    pub key: String,
    /// What it must be; of an address whose checksum does not hold, what was observed as well.
    pub expected: Cow<'static, str>,
}

impl FeeDocument {
    /// The typed configuration.
    ///
    /// # Errors
    /// Every value that cannot be: an unknown fee model or rounding, no or two own recipients, a recipient twice, a sum above
    /// the cap, a chain twice, an empty list, an address whose checksum does not hold.
    pub fn review(self) -> Result<FeePolicy, FeeConfigError> {
        let mut problems = Problems::default();
        let policy = self.policy(&mut problems);
        match policy {
            Some(policy) if problems.0.is_empty() => Ok(policy),
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
        let rounding = match self.rounding.as_str() {
            "floor" => Some(Rounding::Floor),
            _ => problems.note("rounding", "\"floor\""),
        };
        let cap = problems.bps(self.aggregate_cap_bps, "aggregate_cap_bps");
        let recipients = recipients(&self.recipients, cap, problems);
        let chains = chains(self.chains, problems);
        let perpetuals = self.perpetuals.unwrap_or_default().review(problems);
        let bridge_caps = bridge_caps(&self.bridge.unwrap_or_default(), problems);
        Some(FeePolicy {
            version: self.version,
            fee_model: fee_model?,
            integrator: self.integrator,
            aggregate_cap: cap?,
            rounding: rounding?,
            recipients,
            chains,
            pm_builder_code: self
                .prediction_market
                .map_or(B256::ZERO, |table| table.builder_code),
            perp_builder: perpetuals.builder,
            perp_max_trigger_slippage: perpetuals.max_trigger_slippage?,
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
        problems.check(table.bps > 0, &format!("{key}.bps"), "above zero");
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

fn chains(tables: Vec<ChainTable>, problems: &mut Problems) -> Vec<ReviewedChain> {
    let mut seen = BTreeSet::new();
    problems.check(tables.len() <= MOST_ROWS, "chains", "at most 256 chains");
    let mut chains = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let key = format!("chains[{index}]");
        problems.check(
            table.chain_id > 0 && seen.insert(table.chain_id),
            &format!("{key}.chain_id"),
            "a chain id, named once",
        );
        problems.check(
            !table.selectors.is_empty(),
            &format!("{key}.selectors"),
            "at least one selector",
        );
        problems.check(
            !table.legs.is_empty() && table.legs.len() <= MOST_ROWS,
            &format!("{key}.legs"),
            "1 to 256 reviewed contracts",
        );
        let router = problems.address(&table.router, &format!("{key}.router"));
        let forwarder = problems.address(&table.forwarder, &format!("{key}.forwarder"));
        let (Some(router), Some(forwarder)) = (router, forwarder) else {
            continue;
        };
        problems.check(
            router != Address::ZERO,
            &format!("{key}.router"),
            "an address that is not zero",
        );
        problems.check(
            forwarder != Address::ZERO && forwarder != router,
            &format!("{key}.forwarder"),
            "an address that is neither zero nor the router",
        );
        chains.push(ReviewedChain {
            chain_id: table.chain_id,
            router,
            forwarder,
            selectors: table.selectors,
            legs: legs(table.legs, &key, [router, forwarder], problems),
        });
    }
    chains
}

/// The contracts of a chain's legs; none of them is one of `others`.
fn legs(
    tables: Vec<LegTable>,
    chain: &str,
    others: [Address; 2],
    problems: &mut Problems,
) -> Vec<ReviewedLeg> {
    let mut legs = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let key = format!("{chain}.legs[{index}]");
        problems.check(
            !table.selectors.is_empty(),
            &format!("{key}.selectors"),
            "at least one selector",
        );
        let key = format!("{key}.contract");
        let Some(contract) = problems.address(&table.contract, &key) else {
            continue;
        };
        problems.check(
            contract != Address::ZERO && !others.contains(&contract),
            &key,
            "an address that is neither zero, the router nor the forwarder",
        );
        legs.push(ReviewedLeg {
            contract,
            selectors: table.selectors,
        });
    }
    legs
}

fn bridge_caps(table: &BridgeTable, problems: &mut Problems) -> BridgeCaps {
    let mut caps = BridgeCaps::DEFAULT;
    if let Some(bps) = table.max_fast_fee_bps
        && let Some(bps) = problems.bps(bps, "bridge.max_fast_fee_bps")
    {
        caps.fast = bps;
    }
    if let Some(text) = &table.max_forward_fee {
        match U256::from_str_radix(text, 10) {
            Ok(fee) => caps.forward = fee,
            Err(_) => {
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
