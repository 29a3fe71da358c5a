//! `mcp-server demo`: a swap plan from the request to its execution, with nothing but this binary.
//!
//! The demo runs the production server: the same composition, the real aggregator adapter and the
//! same checks. An embedded chain with the router's interface, and recorded quotes over HTTP,
//! replace the outside world. Nothing signs: the chain sends for its own accounts, as development
//! nodes do.

mod execution;
mod forgery;
mod invitation;
mod peer;
mod plan;
mod stage;
mod transcript;
mod units;

use std::io;
use std::net::SocketAddr;

use dev_chain::DevChainError;
use http_edge::{announce, shutdown_signal};
use plan_builder::{FeeConfigError, Refusal};
use replay::RecordingError;
use server_config::{LogSection, start_log};
use thiserror::Error;

use self::peer::PeerError;
use self::stage::Stage;
use crate::config::ConfigError;
use crate::serve::ServeError;

/// An error that ends the demo early.
#[derive(Debug, Error)]
pub(crate) enum DemoError {
    #[error("the embedded chain: {0}")]
    Chain(#[from] DevChainError),
    #[error("the recorded quotes: {0}")]
    Recordings(#[from] RecordingError),
    #[error("the fee configuration: {0}")]
    Fees(#[from] FeeConfigError),
    #[error("the fee configuration: {0}")]
    FeesForm(#[from] toml::de::Error),
    #[error("the configuration: {0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Serve(#[from] ServeError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Peer(#[from] PeerError),
    #[error("the demo's own request: {0}")]
    Request(#[from] Refusal),
    #[error("{0}")]
    Broken(#[from] Broken),
}

/// A claim of the transcript that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("step {step}: {what}: expected {expected}, observed {observed}")]
pub(crate) struct Broken {
    /// The step of the transcript.
    pub(crate) step: u8,
    /// The subject of the claim.
    pub(crate) what: &'static str,
    /// The expected value.
    pub(crate) expected: String,
    /// The observed value.
    pub(crate) observed: String,
}

impl Broken {
    fn new(step: u8, what: &'static str, expected: impl ToString, observed: impl ToString) -> Self {
        Self {
            step,
            what,
            expected: expected.to_string(),
            observed: observed.to_string(),
        }
    }

    /// Checks that both sides are equal.
    fn unless_equal<T: PartialEq + ToString>(
        step: u8,
        what: &'static str,
        expected: &T,
        observed: &T,
    ) -> Result<(), Self> {
        if expected == observed {
            Ok(())
        } else {
            Err(Self::new(
                step,
                what,
                expected.to_string(),
                observed.to_string(),
            ))
        }
    }
}

/// Shows the transcript, then serves until Ctrl-C. With `once` it ends after the transcript.
pub(crate) async fn run(listen: SocketAddr, once: bool) -> Result<(), DemoError> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "warn".to_owned());
    start_log(&LogSection {
        filter: Some(filter),
        ..LogSection::default()
    });

    let stage = Stage::open().await?;
    let server = stage.serve(listen).await?;
    announce(server.address);
    let mut out = io::stdout();
    let shown = transcript::show(&stage, &server, &mut out).await;
    let shown = match shown {
        Ok(plan) if !once => {
            invitation::invite(&stage, &server, &plan, &mut out)?;
            shutdown_signal().await;
            Ok(())
        }
        shown => shown.map(drop),
    };
    server.stop().await;
    shown
}
