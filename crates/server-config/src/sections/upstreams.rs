//! The sections `[upstreams.NAME]` and `[chains.ID]`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::{OutboundSection, check_rpc_url, check_url};
use crate::{Problem, lenient, read_secret_file};

/// The names of all upstreams.
const NAMES: [&str; 32] = [
    "okx",
    "lifi",
    "circle",
    "polymarket",
    "hyperliquid",
    "goplus",
    "coingecko",
    "coinpaprika",
    "dexscreener",
    "defillama",
    "binance",
    "okx_futures",
    "bybit",
    "yahoo",
    "fred",
    "treasury",
    "cboe",
    "frankfurter",
    "alternative_me",
    "coindesk",
    "rss",
    "openai",
    "anthropic",
    "gemini",
    "perplexity",
    "sourcify",
    "fourbyte",
    "blockscout",
    "fal",
    "lunarcrush",
    "cryptopanic",
    "x_api",
];

/// The most servers that can share an upstream. With more servers, the share of each would be less
/// than the weight of a single call.
const MOST_SERVERS: u32 = 8;

/// The most confirmations. More would take longer than a client can wait with an open connection.
const MOST_CONFIRMATIONS: u64 = 64;

/// The accepted block times in milliseconds.
const BLOCK_TIMES_MS: std::ops::RangeInclusive<u64> = 10..=60_000;

/// All `[upstreams.NAME]` tables.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Upstreams(pub BTreeMap<String, UpstreamTable>);

impl Upstreams {
    /// Returns the table of an upstream, or the defaults when it has none.
    #[must_use]
    pub fn table(&self, name: &str) -> UpstreamTable {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// Returns all configured secrets.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretString> {
        let of = |table: &UpstreamTable| {
            [&table.api_key, &table.secret_key, &table.passphrase].map(Clone::clone)
        };
        self.0.values().flat_map(of).flatten().collect()
    }

    /// Reads the secrets from their files.
    pub fn read_secret_files(&mut self, problems: &mut Vec<Problem>) {
        for (name, table) in &mut self.0 {
            for (key, secret, file) in [
                ("api_key", &mut table.api_key, &table.api_key_file),
                ("secret_key", &mut table.secret_key, &table.secret_key_file),
                ("passphrase", &mut table.passphrase, &table.passphrase_file),
            ] {
                let key = format!("upstreams.{name}.{key}");
                read_secret_file(&key, secret, file.as_deref(), problems);
            }
        }
    }

    /// Checks that connections to other hosts are encrypted.
    pub fn check_encryption(&self, outbound: &OutboundSection, problems: &mut Vec<Problem>) {
        for (name, table) in &self.0 {
            for (key, url) in table.urls() {
                outbound.check_url(problems, &format!("upstreams.{name}.{key}"), url);
            }
        }
    }

    /// Checks the tables.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        for (name, table) in &self.0 {
            if !NAMES.contains(&name.as_str()) {
                problems.push(Problem::new(
                    format!("upstreams.{name}"),
                    format!("unknown upstream, expected one of {}", NAMES.join(", ")),
                ));
            }
            let keys = [
                ("api_key", table.api_key.is_some()),
                ("secret_key", table.secret_key.is_some()),
                ("passphrase", table.passphrase.is_some()),
            ];
            // Only this upstream signs requests with three values. So it needs all three, or none.
            if name == "okx" && keys.iter().any(|(_, present)| *present) {
                for (key, _) in keys.iter().filter(|(_, present)| !present) {
                    let message =
                        "is missing: a request is signed with api_key, secret_key and passphrase";
                    problems.push(Problem::new(format!("upstreams.{name}.{key}"), message));
                }
            }
            if table
                .servers
                .is_some_and(|servers| !(1..=MOST_SERVERS).contains(&servers))
            {
                let message = format!("expected 1 to {MOST_SERVERS}");
                problems.push(Problem::new(format!("upstreams.{name}.servers"), message));
            }
            if let Some(plan) = &table.plan {
                let message = match (name.as_str(), plan.as_str()) {
                    ("coingecko", "free" | "pro") => None,
                    ("coingecko", _) => Some("expected \"free\" or \"pro\""),
                    _ => Some("only coingecko has plans"),
                };
                let problem = |message| Problem::new(format!("upstreams.{name}.plan"), message);
                problems.extend(message.map(problem));
            }
            for (key, url) in table.urls() {
                check_url(problems, &format!("upstreams.{name}.{key}"), url);
            }
        }
    }
}

/// The table of one upstream. If a URL has a path, every request begins with it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each key says what it is")]
pub struct UpstreamTable {
    pub base_url: Option<String>,
    /// `false` switches the upstream off.
    #[serde(deserialize_with = "lenient::optional_boolean")]
    pub enabled: Option<bool>,
    /// How long one request may take, in milliseconds.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub timeout_ms: Option<u64>,
    /// The most calls in a calendar month (UTC). It replaces the usual quota; 0 means no quota.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub monthly_quota: Option<u64>,
    /// The most calls in a day (UTC). It replaces the usual quota; 0 means no quota.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub daily_quota: Option<u64>,
    /// The number of servers that use the upstream from the same address or with the same key. Each
    /// server takes its share of the limits.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub servers: Option<u32>,
    pub api_key: Option<SecretString>,
    pub api_key_file: Option<PathBuf>,
    pub secret_key: Option<SecretString>,
    pub secret_key_file: Option<PathBuf>,
    pub passphrase: Option<SecretString>,
    pub passphrase_file: Option<PathBuf>,
    /// `live`, or `replay` when the URL serves recorded answers. With `replay`, the service's
    /// answers say so.
    pub mode: Option<UpstreamMode>,
    pub clob_url: Option<String>,
    pub gamma_url: Option<String>,
    pub yields_url: Option<String>,
    pub coins_url: Option<String>,
    pub stablecoins_url: Option<String>,
    pub csv_url: Option<String>,
    pub signatures_url: Option<String>,
    pub coindesk_url: Option<String>,
    pub cointelegraph_url: Option<String>,
    pub theblock_url: Option<String>,
    pub decrypt_url: Option<String>,
    pub blockworks_url: Option<String>,
    pub thedefiant_url: Option<String>,
    pub ethereum_url: Option<String>,
    pub optimism_url: Option<String>,
    pub polygon_url: Option<String>,
    pub arbitrum_url: Option<String>,
    pub zksync_url: Option<String>,
    pub linea_url: Option<String>,
    pub scroll_url: Option<String>,
    /// The model for images.
    pub image_model: Option<String>,
    /// The model for research.
    pub research_model: Option<String>,
    /// The id of the list whose accounts are read.
    pub list_id: Option<String>,
    /// The most pages of a list that one call reads. Each page has up to a hundred posts, which
    /// cost money.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub pages: Option<u32>,
    /// The plan of the key: `free`, or `pro` for a paid plan.
    pub plan: Option<String>,
    /// The file with the reviewed contracts.
    pub reviewed: Option<PathBuf>,
}

/// Whether an upstream's answers are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamMode {
    /// Answers come from the network.
    Live,
    /// Answers are recorded ones.
    Replay,
}

impl UpstreamTable {
    /// Returns the set options of the upstream, by their keys.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options = [
            ("image_model", &self.image_model),
            ("research_model", &self.research_model),
            ("list_id", &self.list_id),
            ("plan", &self.plan),
        ];
        options
            .into_iter()
            .filter_map(|(key, text)| Some((key, text.as_deref()?)))
    }

    /// Returns the number of servers that share the upstream. It is 1 by default.
    #[must_use]
    pub fn shared_by(&self) -> NonZeroU32 {
        self.servers
            .and_then(NonZeroU32::new)
            .unwrap_or(NonZeroU32::MIN)
    }

    /// Sets a URL by its key. Returns whether there is such a key.
    pub fn set_url(&mut self, key: &str, url: String) -> bool {
        let place = match key {
            "base_url" => &mut self.base_url,
            "clob_url" => &mut self.clob_url,
            "gamma_url" => &mut self.gamma_url,
            "yields_url" => &mut self.yields_url,
            "coins_url" => &mut self.coins_url,
            "stablecoins_url" => &mut self.stablecoins_url,
            "csv_url" => &mut self.csv_url,
            "signatures_url" => &mut self.signatures_url,
            "coindesk_url" => &mut self.coindesk_url,
            "cointelegraph_url" => &mut self.cointelegraph_url,
            "theblock_url" => &mut self.theblock_url,
            "decrypt_url" => &mut self.decrypt_url,
            "blockworks_url" => &mut self.blockworks_url,
            "thedefiant_url" => &mut self.thedefiant_url,
            "ethereum_url" => &mut self.ethereum_url,
            "optimism_url" => &mut self.optimism_url,
            "polygon_url" => &mut self.polygon_url,
            "arbitrum_url" => &mut self.arbitrum_url,
            "zksync_url" => &mut self.zksync_url,
            "linea_url" => &mut self.linea_url,
            "scroll_url" => &mut self.scroll_url,
            _ => return false,
        };
        *place = Some(url);
        true
    }

    /// Returns all configured URLs, by their keys.
    pub fn urls(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let urls = [
            ("base_url", &self.base_url),
            ("clob_url", &self.clob_url),
            ("gamma_url", &self.gamma_url),
            ("yields_url", &self.yields_url),
            ("coins_url", &self.coins_url),
            ("stablecoins_url", &self.stablecoins_url),
            ("csv_url", &self.csv_url),
            ("signatures_url", &self.signatures_url),
            ("coindesk_url", &self.coindesk_url),
            ("cointelegraph_url", &self.cointelegraph_url),
            ("theblock_url", &self.theblock_url),
            ("decrypt_url", &self.decrypt_url),
            ("blockworks_url", &self.blockworks_url),
            ("thedefiant_url", &self.thedefiant_url),
            ("ethereum_url", &self.ethereum_url),
            ("optimism_url", &self.optimism_url),
            ("polygon_url", &self.polygon_url),
            ("arbitrum_url", &self.arbitrum_url),
            ("zksync_url", &self.zksync_url),
            ("linea_url", &self.linea_url),
            ("scroll_url", &self.scroll_url),
        ];
        urls.into_iter()
            .filter_map(|(key, url)| Some((key, url.as_deref()?)))
    }
}

/// `[chains.ID]`: the endpoints and the rules of one chain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChainTable {
    /// The JSON-RPC endpoints, in order of preference.
    #[serde(deserialize_with = "lenient::list")]
    pub rpc_urls: Vec<String>,
    /// How many blocks must follow a transaction's block before the transaction counts. It holds
    /// for every purpose that has no number of its own.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub confirmations: Option<u64>,
    /// The time between two blocks, in milliseconds. It decides when and how often the block of a
    /// transaction is looked for. When absent, the usual value of the chain.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub block_time_ms: Option<u64>,
    /// `live`, or `replay` when the endpoints serve recorded answers. With `replay`, the service's
    /// answers say so.
    pub mode: Option<UpstreamMode>,
}

/// All `[chains.ID]` tables, by the id of the chain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Chains(pub BTreeMap<String, ChainTable>);

impl Chains {
    /// Returns the endpoints of a chain, in order of preference. Empty when the chain is not read.
    #[must_use]
    pub fn rpc_urls(&self, chain_id: u64) -> &[String] {
        let table = self.0.get(&chain_id.to_string());
        table.map_or(&[], |table| &table.rpc_urls)
    }

    /// Returns how many blocks must follow a transaction's block on this chain. `None` when the
    /// table has no value.
    #[must_use]
    pub fn confirmations(&self, chain_id: u64) -> Option<u64> {
        self.0.get(&chain_id.to_string())?.confirmations
    }

    /// Returns the time between two blocks of this chain. `None` when the table has no value.
    #[must_use]
    pub fn block_time(&self, chain_id: u64) -> Option<Duration> {
        let table = self.0.get(&chain_id.to_string())?;
        table.block_time_ms.map(Duration::from_millis)
    }

    /// Returns the URLs of all nodes. Each may hold a key.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretString> {
        let urls = self.0.values().flat_map(|table| &table.rpc_urls);
        urls.map(|url| url.clone().into()).collect()
    }

    /// Checks that connections to other hosts are encrypted.
    pub fn check_encryption(&self, outbound: &OutboundSection, problems: &mut Vec<Problem>) {
        for (id, table) in &self.0 {
            for (index, url) in table.rpc_urls.iter().enumerate() {
                outbound.check_url(problems, &format!("chains.{id}.rpc_urls[{index}]"), url);
            }
        }
    }

    /// Checks the tables.
    pub fn check(&self, problems: &mut Vec<Problem>) {
        for (id, table) in &self.0 {
            // Each chain has one spelling: `01` would be another key than `1`.
            if !id
                .parse::<u64>()
                .is_ok_and(|parsed| parsed.to_string() == *id)
            {
                problems.push(Problem::new(
                    format!("chains.{id}"),
                    "expected a chain id as an integer",
                ));
            }
            if table
                .confirmations
                .is_some_and(|depth| depth > MOST_CONFIRMATIONS)
            {
                let message = format!("expected at most {MOST_CONFIRMATIONS}");
                problems.push(Problem::new(format!("chains.{id}.confirmations"), message));
            }
            if table
                .block_time_ms
                .is_some_and(|block_time| !BLOCK_TIMES_MS.contains(&block_time))
            {
                let (least, most) = (BLOCK_TIMES_MS.start(), BLOCK_TIMES_MS.end());
                let message = format!("expected {least} to {most} ms");
                problems.push(Problem::new(format!("chains.{id}.block_time_ms"), message));
            }
            for (index, url) in table.rpc_urls.iter().enumerate() {
                check_rpc_url(problems, &format!("chains.{id}.rpc_urls[{index}]"), url);
            }
        }
    }
}
