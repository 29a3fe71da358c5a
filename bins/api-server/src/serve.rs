//! Composition: from a configuration to a running server. [`open`] opens the parts that a
//! configuration names; this module puts them together and runs them.

mod open;
mod policy;
mod reconciler;
mod settler;
mod stores;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use data_sources::Clock;
use fence_sending::Sendings;
use fence_server::Delegations;
use http_edge::{Drained, Server, announce, shutdown_signal};
use ledger::{AnyLedger, Journal};
use route_catalog::{Catalog, CatalogConfig};
use settlement::{AnySettler, Settler};
use tx_sender::TransactionSigner;
use watch_server::{Checks, Mover, Pace, Watcher};
use x402_wire::Terms;

pub(crate) use self::open::check;
pub(crate) use self::policy::ledger_options;
use self::policy::payment_policy;
pub(crate) use self::reconciler::{Reconciler, reconciler};
pub(crate) use self::settler::settlement_config;
pub(crate) use self::stores::{CUSTODY, Stores, Transactions, VersionError};
use crate::Sources;
use crate::api::{Api, Operations};
use crate::config::{Config, DelegationSection};
use crate::delegation::Endpoints;
use crate::error::ServeError;
use crate::observe;
use crate::offering::offering;
use crate::payment::PaymentProcessor;
use crate::wallets;

/// The parts of a server, for programs that bring their own.
pub struct Parts<S, J> {
    /// Settles payments.
    pub settler: S,
    /// The payment journal.
    pub journal: J,
    /// The upstreams.
    pub sources: Sources,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// A server that listens on its address.
pub struct ApiServer<S, J> {
    server: Server,
    api: Api<S, J>,
    /// Sends ordered plans.
    sendings: Option<Sendings>,
    /// Checks mandates. `None` when yields are not gathered.
    watcher: Option<Watcher>,
    processor: PaymentProcessor<S, J, Operations>,
    sources: Arc<Sources>,
    /// The time between two probes of each upstream.
    probe_every: Option<Duration>,
    reconcile_every: Duration,
    /// The time between two looks for calls of wallet actions that ended without a charge.
    charge_again_every: Duration,
    /// The time from the signal to the end: the drain time plus the grace period.
    closing_time: Duration,
}

impl<S: Settler, J: Journal> ApiServer<S, J> {
    /// The custodian of sub-wallets' keys, behind its policy.
    #[cfg(feature = "demo")]
    pub(crate) fn custody(&self) -> Option<Arc<dyn custody::Custody>> {
        self.sources.wallets.custody.clone()
    }

    /// Starts to listen with the given parts.
    ///
    /// # Errors
    /// The address or the public URL cannot be used, or the journal cannot be read.
    pub async fn compose(
        config: &Config,
        terms: &Terms,
        parts: Parts<S, J>,
    ) -> Result<Self, ServeError> {
        observe::METRICS.install();
        let Parts {
            settler,
            journal,
            sources,
            clock,
        } = parts;
        let now = u64::try_from(clock.now().as_second()).unwrap_or_default();
        let recovered = journal.recover(now).await?;
        if recovered.released + recovered.unknown > 0 {
            tracing::info!(
                released = recovered.released,
                unknown = recovered.unknown,
                "the previous run left payments open"
            );
        }
        let address = config.listen();
        let limits = server_process::limits(&config.server);
        let server = Server::bind(address, limits.clone())
            .await
            .map_err(|error| ServeError::Listen { address, error })?;
        let public_url = config.server.public_url.clone();
        let catalog = CatalogConfig {
            public_url: public_url.unwrap_or_else(|| format!("http://{}", server.local_addr())),
            brand: config.server.brand.clone(),
            contact: config.server.contact.clone(),
            terms: terms.clone(),
            bazaar_in_header: config.payment.bazaar_in_header,
        };
        let catalog = Arc::new(Catalog::offering(&catalog, offering(config, &sources))?);
        let sources = Arc::new(sources);
        let processor = PaymentProcessor::new(
            Arc::clone(&catalog),
            settler,
            journal,
            Operations::over(Arc::clone(&sources)),
            payment_policy(config),
            clock.clone(),
        );
        processor.restore_newcomers().await?;
        let server_section = &config.server;
        let api = Api::new(
            catalog,
            processor.clone(),
            sources.clone(),
            server_section,
            server.draining(),
            clock.as_ref(),
        );
        Ok(Self {
            server,
            api,
            sendings: None,
            watcher: watcher(&sources),
            processor,
            sources,
            probe_every: config.server.probe_every(),
            reconcile_every: Duration::from_secs(config.settlement.reconcile_seconds),
            charge_again_every: Duration::from_secs(config.storage.lease_seconds.into()),
            closing_time: limits.drain.saturating_add(limits.shutdown_grace),
        })
    }

    /// Adds the endpoints below `/delegation/`.
    #[must_use]
    pub fn with_delegations(
        mut self,
        delegations: Arc<Delegations>,
        section: &DelegationSection,
    ) -> Self {
        let (bytes, time) = self.api.body_bounds();
        let endpoints = Endpoints::new(delegations, section, bytes, time);
        self.api.serve_delegations(endpoints);
        self
    }

    /// Sets the mover of the money of acting mandates. Without a mover, acting mandates are
    /// refused.
    #[must_use]
    pub fn with_mover(self, mover: Arc<dyn Mover>) -> Self {
        if let Some(mandates) = self.sources.mandates() {
            mandates.move_with(mover);
        }
        self
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Serves until `shutdown` resolves, then finishes the requests in flight.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Drained {
        let Self {
            server,
            api,
            sendings,
            watcher,
            processor,
            sources,
            probe_every,
            reconcile_every,
            charge_again_every,
            closing_time,
        } = self;
        let api = Arc::new(api);
        let background = [
            tokio::spawn({
                let processor = processor.clone();
                async move { processor.keep_reconciling(reconcile_every).await }
            }),
            tokio::spawn({
                let processor = processor.clone();
                async move { processor.keep_sweeping(reconcile_every).await }
            }),
        ];
        let actions = sources.wallets.actions.clone();
        let cut_off = actions.clone().map(|actions| {
            let processor = processor.clone();
            tokio::spawn(async move {
                wallets::answer_again(&actions, &processor, charge_again_every).await;
            })
        });
        let checks = watcher.map(Checks::start);
        let upkeep = tokio::spawn(observe::METRICS.keep());
        let probes =
            probe_every.map(|every| tokio::spawn(async move { sources.keep_probing(every).await }));
        let signalled = Arc::new(OnceLock::new());
        let (noted, waiting) = (signalled.clone(), processor.clone());
        let drained = server
            .serve(api, async move {
                shutdown.await;
                noted.get_or_init(Instant::now);
                waiting.stop_waiting();
            })
            .await;
        upkeep.abort();
        if let Some(checks) = checks {
            checks.close().await;
        }
        if let Some(sendings) = sendings {
            sendings.close().await;
        }
        if let Some(cut_off) = cut_off {
            cut_off.abort();
        }
        if let Some(probes) = probes {
            probes.abort();
        }
        // Calls whose caller hung up, and reconciliations, need no connection. They may go on
        // within the same time.
        let used = signalled.get().map_or(closing_time, Instant::elapsed);
        if tokio::time::timeout(closing_time.saturating_sub(used), processor.close())
            .await
            .is_err()
        {
            tracing::warn!("paid calls are still open; the next start decides them");
        }
        for task in background {
            drop(task.await);
        }
        // Calls that waited for an action were answered above. Unfinished actions are on disk.
        if let Some(actions) = actions {
            actions.close().await;
        }
        processor.settler().close().await;
        if let Err(error) = processor.journal().close().await {
            tracing::warn!(%error, "other servers wait until this one's lease has expired");
        }
        drained
    }
}

/// Makes the watcher that checks mandates, when mandates are stored and yields are gathered.
fn watcher(sources: &Arc<Sources>) -> Option<Watcher> {
    let mandates = sources.mandates().filter(|_| sources.gathers_yields())?;
    let yields = Arc::clone(sources);
    Some(Watcher::new(mandates, yields, Pace::default()))
}

/// Serves a configuration until SIGTERM or Ctrl-C.
///
/// # Errors
/// As [`ApiServer::open`].
pub async fn serve(config: &Config) -> Result<Drained, ServeError> {
    run(ApiServer::open(config).await?).await
}

/// Serves a configuration with the program's own signer: see [`ApiServer::open_signed_by`].
///
/// # Errors
/// As [`ApiServer::open_signed_by`].
pub async fn serve_signed_by(
    config: &Config,
    signer: Arc<dyn TransactionSigner>,
) -> Result<Drained, ServeError> {
    run(ApiServer::open_signed_by(config, signer).await?).await
}

async fn run(server: ApiServer<AnySettler, AnyLedger>) -> Result<Drained, ServeError> {
    let shutdown = shutdown_signal();
    announce(server.local_addr());
    Ok(server.run(shutdown).await)
}
