//! The security of a token: what scanners find about its contract, who its holders are, whether it
//! can be traded, and judgements over all of that by published rules.
//!
//! # Rules, version [`RULES_VERSION`]
//!
//! *Checks* have three states: the risk is present (`true`), a source looked for it and did not
//! find it (`false`), and no source could look for it (`null`). Unknown is never `false`. When two
//! sources disagree, the one that sees the risk counts.
//!
//! *Risk level*: the highest of the [severities](Check::severity) of the checks that are true, of
//! the taxes ([`tax_level`]), and of the levels that the sources state themselves. A stated level
//! that is missing or not one of the source's words counts as [`RiskLevel::High`].
//!
//! *Origin*: negative findings of the chain's own market ([`Scan::of_origin`]) count as an
//! incomplete scan, so they can only add risks. A level of 4 or 5 is [`RiskLevel::High`], one of 2
//! or 3 [`RiskLevel::Medium`].
//!
//! *Verdict* over the contract: `danger` from [`RiskLevel::High`] on; otherwise `unknown` while no
//! complete scan rules a honeypot out; otherwise `caution` at [`RiskLevel::Medium`] and `safe`
//! below.
//!
//! *Severe checks* ([`Check::SEVERE`]): while one of them was not made by a complete scan, the
//! verdict is at best `caution`, by the sign `severe_checks_unknown` of [`RiskLevel::Medium`].
//!
//! *Score*, 0 to 100, for every verdict except `unknown`: 100 less a [penalty](RiskLevel::penalty)
//! for each check that is true, each tax and each further sign. It is never above the
//! [ceiling](RiskLevel::ceiling) of the risk level, nor above 100 less [`SEVERE_STEP`] for each
//! severe check that is not ruled out (unknown, or true).
//!
//! *Vetting* adds the signs of trading ([`Trades::signs`]) and of the holders ([`Holding::signs`])
//! as further risks on the same scale. `safe` then also requires a quoted sale, a quoted round trip
//! at every size, and a list of the ten largest holders (or of all, when there are fewer). Without
//! these the verdict is `caution`, by the signs `sale_not_shown`, `loss_not_shown` and
//! `holders_not_shown`.
//!
//! An answer states on what its verdict is based ([`Basis`]).
//!
//! More risks never give a better verdict or a higher score, and the order in which sources
//! answered does not matter.

mod basis;
mod check;
mod holder;
mod holding;
mod level;
mod report;
mod scan;
mod trades;
mod verdict;
mod vetting;

pub use self::{
    basis::{Basis, MarketBasis},
    check::Check,
    holder::{Holder, HolderKind},
    holding::{Concentration, Excluded, Holding},
    level::{RiskLevel, tax_level},
    report::{
        CheckReading, HoldersReport, LiquidityReport, OwnershipReport, PoolReport, SecurityReport,
        Taxes, TokenReport,
    },
    scan::{Liquidity, Ownership, Pool, Rating, Scan, TokenText},
    trades::{Probe, Quoted, TradeSide, Traded, Trades, atoms_worth, one_token},
    verdict::{Judgement, SEVERE_STEP, Sign, Verdict},
    vetting::{Vetting, vet},
};

/// The version of the rules above. It changes whenever a judgement could change.
pub const RULES_VERSION: &str = "3";
