//! The configuration: one TOML file, overridden by the environment. It is checked completely before
//! anything starts.
//!
//! Both servers may read one file, so sections of the paid API are accepted and not read.

mod delegation;
mod plans;
mod shares;
mod storage;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::Deserialize;
use server_config::Configuration;
use url::Url;

pub use delegation::DelegationSection;
pub use plans::PlansSection;
pub use server_config::{
    ChainTable, Chains, ConfigError, LogFormat, LogSection, OutboundSection, Problem,
    ServerSection, UpstreamMode, UpstreamTable, Upstreams, WorthSection,
};
pub use shares::{ShareTable, SharesSection};
pub use storage::StorageSection;

/// The listening address unless `server.listen` sets another.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8403);

/// All settings of an operator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Listening, limits, hosts and origins.
    pub server: ServerSection,
    /// Plans and the recipients of their fees.
    pub plans: PlansSection,
    /// The judgement of what swaps are worth.
    pub worth: WorthSection,
    /// The reader of the fence, and the expected record.
    pub delegation: Option<DelegationSection>,
    /// One table for each upstream.
    pub upstreams: Upstreams,
    /// RPC endpoints by chain id.
    pub chains: Chains,
    /// The hosts that may be reached without TLS.
    pub outbound: OutboundSection,
    /// Logging.
    pub log: LogSection,
    /// Keys of the paid API, so that both servers can share one file; not read here.
    pub payment: toml::Table,
    /// As [`Self::payment`].
    pub settlement: toml::Table,
    /// The file for the state that outlives a restart.
    pub storage: StorageSection,
    /// As [`Self::payment`].
    pub credit: toml::Table,
    /// As [`Self::payment`].
    pub datasets: toml::Table,
}

impl Config {
    /// Reads a file and the environment variables `SVC__SECTION__KEY`, which take precedence. Paths
    /// in the file are relative to its folder.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML. Otherwise every problem, each with its key.
    pub fn load(
        path: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut config: Self = server_config::load(path, environment)?;
        config
            .plans
            .resolve(path.parent().unwrap_or_else(|| Path::new("")));
        Ok(config)
    }

    /// [`Self::load`] from text; paths in it stay as they are.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(
        text: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        server_config::parse(text, environment)
    }

    /// The listening address.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.server.listen.unwrap_or(LISTEN)
    }

    /// The prefix of every tool's name.
    #[must_use]
    pub fn brand(&self) -> &str {
        self.plans.brand.as_deref().unwrap_or(&self.server.brand)
    }
}

impl Configuration for Config {
    fn complete(&mut self, problems: &mut Vec<Problem>) {
        self.upstreams.read_secret_files(problems);
        self.server.check(problems);
        self.plans.check(problems);
        self.worth.check(problems);
        if !plans::is_brand(self.brand()) {
            let key = match self.plans.brand {
                Some(_) => "plans.brand",
                None => "server.brand",
            };
            problems.push(Problem::new(key, plans::BRAND_RULE));
        }
        if let Some(delegation) = &self.delegation {
            delegation.check(problems);
        }
        self.upstreams.check(problems);
        if let Some(url) = self.upstreams.table("hyperliquid").base_url
            && is_test_network(&url)
        {
            let key = "upstreams.hyperliquid.base_url";
            problems.push(Problem::new(key, TEST_NETWORK));
        }
        self.chains.check(problems);
        self.outbound.check(problems);
        self.upstreams.check_encryption(&self.outbound, problems);
        self.chains.check_encryption(&self.outbound, problems);
        if let Some(delegation) = &self.delegation {
            let key = "delegation.status_url";
            self.outbound
                .check_url(problems, key, &delegation.status_url);
        }
        self.storage.check(problems);
        self.log.check(problems);
    }
}

/// The refusal of the perpetuals venue's test network. A plan from its readings would place orders
/// on the main network.
const TEST_NETWORK: &str = "the test network cannot be used: orders are signed for the main network, where a coin \
    has another asset id";

/// Whether a URL is the test network of the perpetuals venue, under any name of its domain.
fn is_test_network(url: &str) -> bool {
    const DOMAIN: &str = "hyperliquid-testnet.xyz";
    Url::parse(url)
        .ok()
        .and_then(|url| Some(url.host_str()?.trim_end_matches('.').to_owned()))
        .and_then(|host| host.strip_suffix(DOMAIN).map(str::to_owned))
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_network_is_refused_under_every_name_of_its_domain() {
        for url in [
            "https://api.hyperliquid-testnet.xyz",
            "https://hyperliquid-testnet.xyz/",
            "https://API.Hyperliquid-Testnet.XYZ./info",
            "http://rpc.api.hyperliquid-testnet.xyz:8080",
        ] {
            assert!(is_test_network(url), "{url}");
        }
        for url in [
            "https://api.hyperliquid.xyz",
            "https://nothyperliquid-testnet.xyz",
            "https://hyperliquid-testnet.xyz.example.com",
            "http://127.0.0.1:9/hyperliquid-testnet.xyz",
            "hyperliquid-testnet.xyz",
        ] {
            assert!(!is_test_network(url), "{url}");
        }
    }
}
