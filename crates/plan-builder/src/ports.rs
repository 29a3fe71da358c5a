//! The ports of the constructors: quotes, venue facts, reads of accounts, simulation. The adapters
//! of `data-sources`, or an embedder's own, implement them; nothing here opens a socket.
//!
//! Each port has a companion that can be a trait object (`DynSwapQuotes` for [`SwapQuotes`]). Every
//! implementation of a port has it, and `Box<dyn DynSwapQuotes>`, `Arc<dyn DynSwapQuotes>` and
//! `&dyn DynSwapQuotes` are ports themselves:
//!
//! ```
//! use std::sync::Arc;
//!
//! use plan_builder::ports::{Accounts, DynAccounts, NoAccounts};
//!
//! fn takes_a_port(_: &impl Accounts) {}
//!
//! let chosen_at_run_time: Arc<dyn DynAccounts> = Arc::new(NoAccounts);
//! takes_a_port(&chosen_at_run_time);
//! ```

mod accounts;
mod boxed;
mod bridge;
mod orders;
mod simulator;
mod swap;

use std::time::Duration;

pub use calldata_checks::pm_order::PmBuilderFee;

pub use self::{
    accounts::{Accounts, NoAccounts},
    boxed::{
        DynAccounts, DynBridgeFees, DynPerpVenue, DynPmVenue, DynSimulator, DynSwapQuotes,
        PortFuture,
    },
    bridge::{BridgeFeeReading, BridgeFees},
    orders::{PerpAsset, PerpVenue, PmMarket, PmToken, PmVenue},
    simulator::{NoSimulator, SimulatedCall, SimulatedLog, Simulator},
    swap::{IndependentPrice, SwapAsk, SwapQuote, SwapQuotes},
};

/// The failure of a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {reason}")]
pub struct PortError {
    /// The upstream, by its name in a configuration (`lifi`, `circle`, `polymarket`,
    /// `hyperliquid`, `rpc`).
    pub source_name: &'static str,
    /// The reason.
    pub reason: PortErrorReason,
}

/// The kinds of failure at a port. Texts are for people, short, without control characters, URLs or
/// keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortErrorReason {
    /// Nothing is configured that could answer.
    #[error("not configured: {detail}")]
    NotConfigured {
        /// What is missing.
        detail: String,
    },
    /// Time-out, refused connection, 5xx, an open circuit breaker.
    #[error("unavailable: {detail}")]
    Unavailable {
        /// What was seen.
        detail: String,
    },
    /// The upstream's rate limit.
    #[error("rate limited{}", .retry_after.map(|d| format!(", retry in {} s", d.as_secs())).unwrap_or_default())]
    RateLimited {
        /// When the upstream says that it answers again.
        retry_after: Option<Duration>,
    },
    /// Not JSON, cut off, a missing or mistyped member, a value out of range.
    #[error("malformed answer at {path}: {detail}")]
    Malformed {
        /// Where, as a JSON path (`$.estimate.toAmountMin`); `$` for the whole body.
        path: String,
        /// The fault there.
        detail: String,
    },
    /// The upstream answered that there is no route, pool or quote for this.
    #[error("no route: {detail}")]
    NoRoute {
        /// The upstream's reason.
        detail: String,
    },
    /// The upstream does not know the thing asked for (a token, a market, a coin).
    #[error("unknown {subject}")]
    Unknown {
        /// The subject.
        subject: String,
    },
    /// The upstream refused the request itself.
    #[error("refused: {detail}")]
    Refused {
        /// The upstream's reason.
        detail: String,
    },
}
