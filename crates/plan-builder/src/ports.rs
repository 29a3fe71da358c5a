//! The ports through which the constructors get quotes, facts of venues, readings of accounts, and
//! simulations. An embedder writes its own adapters. The adapters of this repository are in
//! `data-sources`, which is not published. The crate itself opens no socket.
//!
//! The future of a port is `Send`. The future of a browser's `fetch` is not. Wrap it in a type that
//! is `Send`, for example `send_wrapper::SendWrapper`; this is sound because a page has one thread.
//!
//! Each port has a companion that can be a trait object (`DynSwapQuotes` for [`SwapQuotes`]). Every
//! implementation of a port also implements the companion. `Box<dyn DynSwapQuotes>`, `Arc<dyn
//! DynSwapQuotes>` and `&dyn DynSwapQuotes` are ports themselves:
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

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

pub use self::{
    accounts::{Accounts, NoAccounts},
    boxed::{
        DynAccounts, DynBridgeFees, DynPerpVenue, DynPmVenue, DynSimulator, DynSwapQuotes,
        PortAnswer, PortFuture,
    },
    bridge::{BridgeFeeReading, BridgeFees},
    orders::{PerpAsset, PerpVenue, PmBuilderFee, PmMarket, PmToken, PmVenue},
    simulator::{NoSimulator, SimulatedCall, SimulatedLog, Simulator},
    swap::{SwapAsk, SwapQuote, SwapQuotes},
};

/// The failure of a port. It can be stored with the quotes, and converts to a
/// [`Refusal`](crate::Refusal).
///
/// ```
/// use plan_builder::{Refusal, ports::{PortError, PortErrorReason}};
///
/// let json = r#"{"source_name":"lifi","reason":{"kind":"rate_limited","retry_after":{"secs":3,"nanos":0}}}"#;
/// let error: PortError = serde_json::from_str(json)?;
/// assert_eq!(error.to_string(), "lifi: rate limited, retry in 3 s");
/// assert_eq!(serde_json::to_string(&error)?, json);
/// assert!(matches!(error.reason, PortErrorReason::RateLimited { .. }));
///
/// let refusal = Refusal::from(error);
/// assert_eq!(refusal.check, Refusal::RATE_LIMITED);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[error("{source_name}: {reason}")]
pub struct PortError {
    /// The upstream, by its name in a configuration (`lifi`, `circle`, `polymarket`,
    /// `hyperliquid`, `rpc`).
    pub source_name: Cow<'static, str>,
    /// The reason.
    pub reason: PortErrorReason,
}

/// The kinds of failure of a port. Their texts are for people. They are short, and have no control
/// characters, URLs or keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PortErrorReason {
    /// No configured source could answer.
    #[error("not configured: {detail}")]
    NotConfigured {
        /// The missing part of the configuration.
        detail: String,
    },
    /// A time-out, a refused connection, a 5xx, or an open circuit breaker.
    #[error("unavailable: {detail}")]
    Unavailable {
        /// The observed failure.
        detail: String,
    },
    /// The rate limit of the upstream is reached.
    #[error("rate limited{}", .retry_after.map(|d| format!(", retry in {} s", d.as_secs())).unwrap_or_default())]
    RateLimited {
        /// The time after which the upstream answers again, if it names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Duration>,
    },
    /// The answer is not JSON, is cut off, lacks a member, or has one of the wrong type or out of
    /// range.
    #[error("malformed answer at {path}: {detail}")]
    Malformed {
        /// The JSON path of the fault (`$.estimate.toAmountMin`), or `$` for the whole body.
        path: String,
        /// The fault at this path.
        detail: String,
    },
    /// The upstream answered that there is no route, pool or quote for this.
    #[error("no route: {detail}")]
    NoRoute {
        /// The upstream's reason.
        detail: String,
    },
    /// The upstream does not know the subject of the request (a token, a market, a coin).
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
