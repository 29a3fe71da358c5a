//! Composes a server from a configuration, and runs it. The parts may also come from an embedder or
//! a test.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use data_sources::{Clock, SystemClock};
use http_edge::{Drained, Server};
use jiff::Timestamp;
use plan_builder::Policy;
use storage::StoreError;
use thiserror::Error;

use crate::config::Config;
use crate::http::{Endpoint, Guard, Health, Operations};
use crate::limits_file::LimitsFile;
use crate::mcp::{About, Dispatcher, Toolbox};
use crate::observe;
use crate::policy::{self, PolicyError};
use crate::throttle::Throttle;
use crate::tools::Tools;
use crate::upstreams::{UpstreamError, Upstreams};

/// An error of starting a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("server.listen: cannot listen on {address}: {error}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The fee configuration cannot be used.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// An upstream cannot be set up.
    #[error("{0}")]
    Upstream(#[from] UpstreamError),
    /// The file for the state that outlives a restart cannot be used.
    #[error("storage.url: {0}")]
    Storage(#[from] StoreError),
}

/// The parts of a server. Embedders and tests may bring their own.
pub struct Parts<T> {
    /// The tools.
    pub toolbox: T,
    /// The state of the systems that the tools depend on.
    pub health: Arc<dyn Health>,
}

impl Parts<Tools<Upstreams>> {
    /// Builds the parts of a configuration. It sends no request. It accepts fee recipients that are
    /// accounts of local test chains, which the serving commands refuse.
    ///
    /// # Errors
    /// A [`ServeError`] that names the key.
    pub fn open(config: &Config) -> Result<Self, ServeError> {
        Self::with_policy(config, policy::read(&config.plans)?)
    }

    /// [`Self::open`] with a policy that the caller has read.
    ///
    /// # Errors
    /// An upstream that cannot be set up.
    pub(crate) fn with_policy(config: &Config, policy: Policy) -> Result<Self, ServeError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let upstreams = Upstreams::new(config, &clock)?.reviewed_by(&policy.fees);
        let fence = Upstreams::fence(config, &clock)?;
        let tools = Tools::new(config.brand(), upstreams.clone(), policy, clock, entropy);
        let tools = tools.fenced(fence);
        Ok(Self {
            toolbox: tools,
            health: Arc::new(upstreams),
        })
    }

    /// Gives each caller a share of the venues' limits, for callers that do not know each other.
    #[must_use]
    pub fn shared(mut self, config: &Config) -> Self {
        self.toolbox = self.toolbox.shared(|rail| config.plans.shares.rules(rail));
        self
    }

    /// Continues from the limits in the configured file, and records further use there. Returns
    /// `None` without a file: all state then stays in memory.
    ///
    /// # Errors
    /// The file cannot be used, or another server uses it.
    pub(crate) async fn keep(&self, config: &Config) -> Result<Option<LimitsFile>, ServeError> {
        let Some(file) = config.storage.file() else {
            return Ok(None);
        };
        let kept = LimitsFile::open(&file, self.toolbox.shares(), Arc::new(SystemClock)).await?;
        self.toolbox.ports().keep_limits(&kept.limits()).await;
        self.toolbox.keep_shares(kept.clone());
        Ok(Some(kept))
    }
}

/// A server that listens.
pub struct McpServer<T> {
    server: Server,
    health: Arc<dyn Health>,
    endpoint: Arc<Endpoint<Throttle<T>>>,
    probe_every: Option<Duration>,
}

impl<T: Toolbox> McpServer<T> {
    /// Binds the address of the configuration with the given parts.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn compose(config: &Config, parts: Parts<T>) -> Result<Self, ServeError> {
        let address = config.listen();
        let limits = server_process::limits(&config.server);
        let server = Server::bind(address, limits.clone())
            .await
            .map_err(|error| ServeError::Listen { address, error })?;
        let listening = server.local_addr();
        let guard = Guard::new(&config.server, listening);
        if guard.is_local_only() && !listening.ip().is_loopback() {
            tracing::warn!(
                "requests that name this server by anything but localhost are refused: \
                 set server.public_url or server.allowed_hosts"
            );
        }
        let operations = Operations::new(
            config.brand().to_owned(),
            Timestamp::now(),
            parts.health.clone(),
            server.draining(),
        );
        let dispatcher = dispatcher(config, parts.toolbox);
        Ok(Self {
            server,
            health: parts.health,
            endpoint: Arc::new(Endpoint::new(dispatcher, guard, operations, &limits)),
            probe_every: config.server.probe_every(),
        })
    }

    /// The address it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Serves until `shutdown` resolves, then finishes the requests in flight.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Drained {
        let upkeep = tokio::spawn(observe::METRICS.keep());
        let looks = tokio::spawn(self.health.clone().keep());
        let probes = self
            .probe_every
            .map(|every| tokio::spawn(self.health.keep_probing(every)));
        let drained = self.server.serve(self.endpoint, shutdown).await;
        upkeep.abort();
        looks.abort();
        if let Some(probes) = probes {
            probes.abort();
        }
        drained
    }
}

/// The protocol over a toolbox within the limits of a configuration.
pub(crate) fn dispatcher<T: Toolbox>(config: &Config, toolbox: T) -> Dispatcher<Throttle<T>> {
    let about = About {
        name: config.brand().to_owned(),
        title: "Agent rail: unsigned execution plans".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: INSTRUCTIONS.to_owned(),
    };
    Dispatcher::new(Throttle::new(toolbox, config.plans.call_limits()), &about)
}

fn entropy() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

const INSTRUCTIONS: &str = "Each prepare tool builds one unsigned plan for the caller's own account and checks it \
    before returning it: nothing is signed or sent here. A result is either a plan or {\"refused\": {\"check\", …}}, \
    which names the check that does not hold; a refusal carries no plan. Amounts are digit strings in a token's \
    smallest unit, prices and sizes decimal strings. Before signing, compare the plan with the request, and do not use \
    it after valid_until.";
