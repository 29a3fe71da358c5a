//! The configuration: one TOML file, overridden by environment variables, and completely checked
//! before anything starts.

mod sections;

use std::net::SocketAddr;
use std::path::Path;

use serde::Deserialize;
use server_config::Configuration;

pub use sections::{
    AssetTable, CreditSection, CustodyProvider, CustodySection, DatasetsSection, DelegationSection,
    PaymentSection, SettlementMode, SettlementSection, StorageSection, Usd, WalletsSection,
};
pub use server_config::{
    ChainTable, Chains, ConfigError, LogFormat, LogSection, OutboundSection, Problem,
    ServerSection, UpstreamMode, UpstreamTable, Upstreams, WorthChainTable, WorthSection,
};

/// The listening address unless `server.listen` sets another.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8402);

/// The key of `[plans]` that this server reads as well.
const FEE_CONFIG: &str = "fee_config";

/// All settings of an operator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Config {
    /// Listening, limits, origins.
    pub server: ServerSection,
    /// The payee and the assets of payments.
    pub payment: PaymentSection,
    /// The settlement of payments.
    pub settlement: SettlementSection,
    /// Limits for work that nobody has paid for yet.
    pub credit: CreditSection,
    /// The ledger.
    pub storage: StorageSection,
    /// The datasets that are refreshed on a schedule.
    pub datasets: DatasetsSection,
    /// One table for each upstream.
    pub upstreams: Upstreams,
    /// RPC endpoints by chain id.
    pub chains: Chains,
    /// The custodian of sub-wallets' keys. Without it there are no sub-wallets.
    pub custody: Option<CustodySection>,
    /// The actions of sub-wallets, and who pays their gas.
    pub wallets: WalletsSection,
    /// The fence. Without it, its endpoints answer 404.
    pub delegation: Option<DelegationSection>,
    /// Keys of the agent rail, so that both servers can share one file. This server reads only
    /// `fee_config`, for verifying submitted plans.
    pub plans: toml::Table,
    /// The hosts that may be reached without TLS.
    pub outbound: OutboundSection,
    /// The judgement of what swaps and deposits are worth.
    pub worth: WorthSection,
    /// Logging.
    pub log: LogSection,
}

impl Config {
    /// Reads a file and the environment variables `SVC__SECTION__KEY`, which take precedence.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML. Otherwise every problem, each with its key.
    pub fn load(
        path: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut config: Self = server_config::load(path, environment)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        if let Some(delegation) = &mut config.delegation {
            delegation.resolve(folder);
        }
        config.wallets.resolve(folder);
        if let Some(toml::Value::String(fees)) = config.plans.get_mut(FEE_CONFIG) {
            *fees = folder.join(&*fees).to_string_lossy().into_owned();
        }
        Ok(config)
    }

    /// Reads the configuration from text. Relative paths in it stay as they are.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(
        text: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        server_config::parse(text, environment)
    }

    /// The reviewed fee configuration that verifies plans.
    #[must_use]
    pub fn fee_config(&self) -> Option<&Path> {
        self.plans.get(FEE_CONFIG)?.as_str().map(Path::new)
    }

    /// The listening address.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.server.listen.unwrap_or(LISTEN)
    }

    /// The nodes of the payment chain, for reading it and for sending own transactions:
    /// `settlement.rpc_url` first, then the nodes of the chain's own table. Without
    /// `settlement.rpc_url`, only a mode that needs a chain uses those nodes. Nodes that are
    /// recordings are left out, because they know no payments.
    #[must_use]
    pub fn settlement_endpoints(&self) -> Vec<String> {
        let section = &self.settlement;
        let mut endpoints: Vec<String> = section.rpc_url.iter().cloned().collect();
        if endpoints.is_empty() && section.mode != SettlementMode::Onchain {
            return endpoints;
        }
        let id = self.payment.terms().map(|terms| terms.network.chain_id());
        let table = id.and_then(|id| self.chains.0.get(&id.to_string()));
        let live = table.filter(|table| table.mode != Some(UpstreamMode::Replay));
        for url in live.map_or(&[][..], |table| &table.rpc_urls) {
            if !endpoints.contains(url) {
                endpoints.push(url.clone());
            }
        }
        endpoints
    }
}

impl Configuration for Config {
    fn complete(&mut self, problems: &mut Vec<Problem>) {
        self.settlement.read_secret_files(problems);
        self.storage.read_secret_files(problems);
        self.upstreams.read_secret_files(problems);
        if let Some(custody) = &mut self.custody {
            custody.read_secret_files(problems);
            custody.check(problems);
        }
        self.wallets.read_secret_files(problems);
        self.wallets.check(problems);
        self.server.check(problems);
        self.payment.check(problems);
        let has_nodes = !self.settlement_endpoints().is_empty();
        if self.custody.is_some() && !has_nodes {
            let message = "is missing: [custody] needs a node of the payment chain, because nobody's wallet moves on the word of a \
                           facilitator or broker alone";
            problems.push(Problem::new("settlement.rpc_url", message));
        }
        self.settlement
            .check(self.payment.settle_budget_seconds, has_nodes, problems);
        if let Some(delegation) = &mut self.delegation {
            delegation.read_secret_files(problems);
            let redeemer = delegation.redeemer();
            if redeemer.is_some() && redeemer == self.settlement.payer_of_gas() {
                let message = "is the key that settles payments: expected a separate key, because nothing else may use its nonces";
                problems.push(Problem::new("delegation.redeemer_key", message));
            }
        }
        self.credit.check(problems);
        self.storage.check(problems);
        self.upstreams.check(problems);
        problems.extend(crate::reviewed::contracts(self).err());
        if let Some(delegation) = &self.delegation {
            delegation.check(problems);
            if self.fee_config().is_none() {
                let message = "is missing: submitted plans are verified with the fees with which the agent rail builds plans";
                problems.push(Problem::new("plans.fee_config", message));
            }
        }
        self.chains.check(problems);
        self.check_encryption(problems);
        self.worth.check(problems);
        self.log.check(problems);
    }
}

impl Config {
    /// Checks that connections to other hosts are encrypted.
    fn check_encryption(&self, problems: &mut Vec<Problem>) {
        self.outbound.check(problems);
        self.upstreams.check_encryption(&self.outbound, problems);
        self.chains.check_encryption(&self.outbound, problems);
        for (key, url) in self.settlement.urls() {
            self.outbound.check_url(problems, key, url);
        }
        let hosts = self.storage.unencrypted_hosts();
        let hosts = hosts.iter().map(String::as_str);
        self.outbound.check_database(problems, "storage.url", hosts);
    }
}
