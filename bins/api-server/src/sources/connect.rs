//! Connects adapters with the configuration of their upstreams. Connecting sends no request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use data_sources::evm::{EvmReader, PUBLIC_ENDPOINTS};
use data_sources::okx::{Credentials, Okx, OkxConfig};
use data_sources::rpc::{RpcConfig, RpcReader};
use data_sources::transport::{Transport, TransportError};
use data_sources::{Clock, Mode, SourceConfig};
use secrecy::SecretString;

use super::{MandateLimits, Sources, Wallets};
use crate::config::{Chains, Config, UpstreamMode, UpstreamTable};
use crate::context::Context;
use crate::error::ServeError;
use crate::reviewed;

/// The inputs of connecting.
pub(super) struct Connect<'a> {
    transport: Transport,
    config: &'a Config,
    pub(super) clock: Arc<dyn Clock>,
}

impl<'a> Connect<'a> {
    pub(super) fn new(config: &'a Config, clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        let client = |error| ServeError::Upstream {
            name: "http",
            error,
        };
        let agent = config
            .server
            .user_agent("api-server", env!("CARGO_PKG_VERSION"));
        Ok(Self {
            transport: Transport::named(&agent).map_err(client)?,
            config,
            clock,
        })
    }

    /// Makes the adapter of the upstream that the table `name` configures.
    pub(super) fn one<T>(
        &self,
        name: &'static str,
        new: impl FnOnce(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>,
    ) -> Result<T, ServeError> {
        let mut config = source(&self.config.upstreams.table(name));
        config.quotas_are_shared = self.config.storage.is_shared();
        config.reserved_percent = self.config.credit.reserved_budget_percent;
        new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name, error })
    }

    /// The chain's aggregator.
    pub(super) fn okx(&self) -> Result<Okx, ServeError> {
        let mut config = okx(&self.config.upstreams.table("okx"));
        config.quotas_are_shared = self.config.storage.is_shared();
        config.reserved_percent = self.config.credit.reserved_budget_percent;
        config.reviewed = reviewed::contracts(self.config).map_err(ServeError::Reviewed)?;
        Okx::new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name: "okx", error })
    }

    /// The nodes of every chain.
    pub(super) fn evm(&self) -> Result<EvmReader, ServeError> {
        let config = rpc(&self.config.chains);
        EvmReader::new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name: "rpc", error })
    }

    /// The service's own name.
    pub(super) fn brand(&self) -> &str {
        &self.config.server.brand
    }

    /// The same nodes, for the plan builder.
    pub(super) fn rpc(&self) -> Result<RpcReader, ServeError> {
        let config = rpc(&self.config.chains);
        RpcReader::new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name: "rpc", error })
    }

    /// Sub-wallets. Their custody is opened where the server starts.
    pub(super) fn wallets(&self) -> Wallets {
        let terms = self.config.payment.terms();
        Wallets {
            custody: None,
            faults: custody::WalletFaults::default(),
            actions: None,
            payer_chain: terms.map_or(0, |terms| terms.network.chain_id()),
            chains: self.config.wallets.chains.clone(),
            mandates: MandateLimits::of(&self.config.wallets),
            reviewed: Arc::default(),
            readers: BTreeMap::new(),
        }
    }

    /// The clock, and the mode of every source.
    pub(super) fn context(&self) -> Context {
        let mut modes = BTreeMap::new();
        for spec in Sources::specs() {
            let mode = mode(&self.config.upstreams.table(spec.name));
            modes.extend(spec.sources.iter().map(|source| (*source, mode)));
        }
        Context::new(self.clock.clone(), nodes(&self.config.chains), modes)
    }
}

/// The settings of an upstream.
fn source(table: &UpstreamTable) -> SourceConfig {
    let owned = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    SourceConfig {
        urls: table.urls().map(owned).collect(),
        options: table
            .options()
            .map(owned)
            .chain(
                table
                    .pages
                    .map(|pages| ("pages".to_owned(), pages.to_string())),
            )
            .collect(),
        api_key: table.api_key.clone(),
        secret_key: table.secret_key.clone(),
        passphrase: table.passphrase.clone(),
        enabled: table.enabled.unwrap_or(true),
        mode: mode(table),
        timeout: table.timeout_ms.map(Duration::from_millis),
        monthly_quota: table.monthly_quota,
        daily_quota: table.daily_quota,
        servers: table.shared_by(),
        ..SourceConfig::default()
    }
}

fn okx(table: &UpstreamTable) -> OkxConfig {
    let credentials = match (&table.api_key, &table.secret_key, &table.passphrase) {
        (Some(api_key), Some(secret_key), Some(passphrase)) => Some(Credentials {
            api_key: api_key.clone(),
            secret_key: secret_key.clone(),
            passphrase: passphrase.clone(),
        }),
        _ => None,
    };
    let mut config = OkxConfig {
        credentials,
        enabled: table.enabled.unwrap_or(true),
        mode: mode(table),
        monthly_quota: table.monthly_quota,
        daily_quota: table.daily_quota,
        servers: table.shared_by(),
        ..OkxConfig::default()
    };
    if let Some(url) = &table.base_url {
        config.base_url.clone_from(url);
    }
    if let Some(limit) = table.timeout_ms {
        config.limits.timeout = Duration::from_millis(limit);
    }
    config
}

/// The nodes of every chain: the configured ones, or else public ones.
fn rpc(chains: &Chains) -> RpcConfig {
    let mut endpoints = BTreeMap::new();
    for (id, public) in PUBLIC_ENDPOINTS {
        let named = chains.rpc_urls(id).iter().cloned().map(SecretString::from);
        let mut urls: Vec<_> = named.collect();
        if urls.is_empty() {
            urls.extend(public.map(SecretString::from));
        }
        endpoints.insert(id, urls);
    }
    RpcConfig {
        chains: endpoints,
        mode: nodes(chains),
        ..RpcConfig::default()
    }
}

/// The mode of all nodes: replay if any chain is replayed.
fn nodes(chains: &Chains) -> Mode {
    let replayed = |id: u64| {
        let table = chains.0.get(&id.to_string());
        table.is_some_and(|table| table.mode == Some(UpstreamMode::Replay))
    };
    match PUBLIC_ENDPOINTS.iter().any(|(id, _)| replayed(*id)) {
        true => Mode::Replay,
        false => Mode::Live,
    }
}

fn mode(table: &UpstreamTable) -> Mode {
    match table.mode {
        Some(UpstreamMode::Replay) => Mode::Replay,
        _ => Mode::Live,
    }
}
