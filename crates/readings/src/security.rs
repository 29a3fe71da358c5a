//! Security of a token: what scanners say of its contract, who holds it and whether it can be
//! traded, and the judgements that are made over that by published rules.
//!
//! # Rules, version [`RULES_VERSION`]
//!
//! *Checks* have three states: a risk that is there (`true`), one that a source looked for and did
//! not find (`false`), and one that nobody could look for (`null`). Unknown is never `false`. Of
//! two sources that disagree the one that sees the risk is right.
//!
//! *Risk level*: the highest of the [severities](Check::severity) of the checks that are true, of
//! the taxes ([`tax_level`]), and of what the sources state themselves. A source that states a
//! level which is missing or not one of its words counts as [`RiskLevel::High`].
//!
//! *Origin*: what the chain's own market says against a token ([`Scan::of_origin`]) counts as a
//! scan that was not completed: it can only add risks. A level of 4 or 5 is [`RiskLevel::High`],
//! one of 2 or 3 [`RiskLevel::Medium`].
//!
//! *Verdict* of the contract: `danger` from [`RiskLevel::High`] on; otherwise `unknown` while no
//! complete scan rules a honeypot out; otherwise `caution` at [`RiskLevel::Medium`] and `safe`
//! below.
//!
//! *Severe checks* ([`Check::SEVERE`]): while a complete scan has not made one of them, the verdict
//! is at best `caution`, by the sign `severe_checks_unknown` of [`RiskLevel::Medium`].
//!
//! *Score*, 0 to 100, for every verdict but `unknown`: 100 less a [penalty](RiskLevel::penalty) for
//! each check that is true, each tax and each further sign, and never above the
//! [ceiling](RiskLevel::ceiling) of the risk level, nor above 100 less [`SEVERE_STEP`] for each
//! severe check that is not ruled out (unknown, or true).
//!
//! *Vetting* adds what trading shows ([`Trades::signs`]) and who holds the token
//! ([`Holding::signs`]) as further risks of the same scale. `safe` then also needs that a sale was
//! quoted, that buying and selling at once was quoted at every size, and that the ten largest
//! holders were listed (or all, of fewer): without them the verdict is `caution`, by the signs
//! `sale_not_shown`, `loss_not_shown` and `holders_not_shown`.
//!
//! What a verdict rests on stands beside it ([`Basis`]).
//!
//! More risks never give a better verdict or a higher score, and the order in which sources
//! answered does not matter.

mod basis;
mod check;
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
    holding::{Concentration, Excluded, Holder, HolderKind, Holding},
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

/// The version of the rules above; it changes whenever a judgement could.
pub const RULES_VERSION: &str = "3";
