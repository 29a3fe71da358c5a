//! The configurations of the siege's servers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use api_server::{FenceStage, Sources};
use data_sources::evm::PUBLIC_ENDPOINTS;
use dev_chain::{base, xlayer};
use x402_wire::Asset;

use super::{POOL_MICRO_USD, REFILL_MICRO_USD, WALLETS};
use crate::bank::{OTHER_PAYEE, PAYEE};
use crate::judge::STRANGERS_REVOCATIONS;
use crate::upstreams::DAILY;

/// The address at which each server first listens: any free port.
pub(super) const LISTEN: &str = "listen = \"127.0.0.1:0\"";

/// The parts in which the configurations of the paid API's servers differ.
#[derive(Debug)]
pub(super) struct ApiConfig {
    /// The payee and the assets, as lines of `[payment]`.
    pub(super) terms: String,
    /// The settler, as lines of `[settlement]`.
    pub(super) settles: String,
    pub(super) rpc: String,
    pub(super) proxy: String,
    /// The database, as lines of `[storage]`.
    pub(super) storage: String,
    /// The file with the secret that every upstream gets.
    pub(super) key: PathBuf,
    /// How many servers share the budgets of the upstreams.
    pub(super) servers: usize,
    pub(super) custody: Custody,
}

/// The sub-wallets and the fence, which all servers share.
#[derive(Debug, Clone)]
pub(super) struct Custody {
    /// The folder with the rules, the fees and the wallets.
    pub(super) files: PathBuf,
    /// The file with the operator's secret.
    pub(super) secret: PathBuf,
    /// The nodes of the chain of payments, and of the one on which delegates trade.
    pub(super) nodes: [[String; 2]; 2],
    /// The digest of the fence's policy.
    pub(super) policy_digest: String,
}

impl ApiConfig {
    /// Renders the configuration. It has short time limits and a small pool, so that a siege of
    /// minutes shows what otherwise takes hours. It does not mark the upstreams as recorded, so the
    /// server keeps its budgets.
    pub(super) fn to_toml(&self) -> String {
        let Self {
            terms,
            settles,
            rpc,
            proxy,
            storage,
            servers,
            ..
        } = self;
        let key = self.key.display();
        let mut text = format!(
            r#"
[server]
{LISTEN}
client_address_header = "x-forwarded-for"
trusted_proxies = ["127.0.0.1"]
max_connections = 600
max_connections_per_address = 60
header_timeout_seconds = 4
idle_timeout_seconds = 4
body_timeout_seconds = 4
write_timeout_seconds = 4

[payment]
settle_budget_seconds = 8
{terms}

[settlement]
{settles}
rpc_url = "{rpc}"
reconcile_seconds = 1

[credit]
pool_micro_usd = {POOL_MICRO_USD}
pool_refill_micro_usd_per_second = {REFILL_MICRO_USD}

[storage]
{storage}

[datasets]
news = false
yields = false

[log]
filter = "off"
"#
        );
        for spec in Sources::specs() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "\n[upstreams.{}]\ntimeout_ms = 2000\nservers = {servers}\napi_key_file = \"{key}\"",
                spec.name
            );
            if spec.name == "okx" {
                let _ = writeln!(
                    text,
                    "secret_key_file = \"{key}\"\npassphrase_file = \"{key}\""
                );
            }
            for (name, _, calls) in DAILY {
                if name == spec.name {
                    let _ = writeln!(text, "daily_quota = {calls}");
                }
            }
            for (name, url) in spec.urls {
                let _ = writeln!(text, "{name} = \"{}\"", through(proxy, url));
            }
        }
        for (id, [url, _]) in PUBLIC_ENDPOINTS {
            // Sub-wallets act on the siege's own chains.
            let [of_home, of_base] = &self.custody.nodes;
            let (urls, further) = match id {
                xlayer::CHAIN_ID => (of_home.join("\", \""), OWN_CHAIN),
                base::CHAIN_ID => (of_base.join("\", \""), OWN_CHAIN),
                _ => (through(proxy, url), ""),
            };
            let _ = writeln!(text, "\n[chains.{id}]\nrpc_urls = [\"{urls}\"]\n{further}");
        }
        text.push_str(&self.custody.to_toml());
        text
    }
}

/// The times of the siege's chains: a transaction counts as soon as it is in a block.
const OWN_CHAIN: &str = "confirmations = 0\nblock_time_ms = 50";

impl Custody {
    fn to_toml(&self) -> String {
        let Self {
            files,
            secret,
            policy_digest,
            ..
        } = self;
        let (files, secret) = (files.display(), secret.display());
        let (project, salt) = (FenceStage::PROJECT, FenceStage::SALT);
        format!(
            r#"
[custody]
provider = "local"
directory = "{files}/{WALLETS}"
secret_file = "{secret}"

[wallets]
chains = [{home}, {base}]
reviewed = "{files}/targets.toml"

[plans]
fee_config = "{files}/fees.toml"

[delegation]
project_id = "{project}"
instance_salt = "{salt}"
policy = "{files}/policy.json"
policy_digest = "{policy_digest}"
redeemer_key_file = "{files}/redeemer.key"
strangers_revocations = {STRANGERS_REVOCATIONS}
"#,
            home = xlayer::CHAIN_ID,
            base = base::CHAIN_ID,
        )
    }
}

/// Returns the payee and the order of the assets after this many kills, as lines of `[payment]`.
/// Payments for earlier terms stay known.
pub(super) fn terms(kills: u32) -> String {
    let mut assets = Asset::chain_196();
    let payee = match kills % 2 {
        0 => PAYEE,
        _ => OTHER_PAYEE,
    };
    // A configuration needs all three assets, so only their order changes.
    if payee == OTHER_PAYEE {
        assets.reverse();
    }
    let mut text = format!("pay_to = \"{payee}\"\n");
    for Asset {
        address,
        name,
        version,
    } in &assets
    {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "[[payment.assets]]\naddress = \"{address}\"\nname = \"{name}\"\nversion = \"{version}\""
        );
    }
    text
}

pub(super) fn rail_config(proxy: &str, storage: &Path) -> String {
    let storage = storage.display();
    let [lifi, circle, clob, gamma, hyperliquid, coins, dexscreener] = [
        "https://li.quest/v1",
        "https://iris-api.circle.com",
        "https://clob.polymarket.com",
        "https://gamma-api.polymarket.com",
        "https://api.hyperliquid.xyz",
        "https://coins.llama.fi",
        "https://api.dexscreener.com",
    ]
    .map(|url| through(proxy, url));
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
client_address_header = "x-forwarded-for"
trusted_proxies = ["127.0.0.1"]
max_connections = 600
max_connections_per_address = 60
header_timeout_seconds = 4
idle_timeout_seconds = 4
body_timeout_seconds = 4
write_timeout_seconds = 4

[plans]
fee_config = "fees.toml"

[storage]
url = "sqlite://{storage}"

[log]
filter = "off"

[upstreams.lifi]
base_url = "{lifi}"
timeout_ms = 4000

[upstreams.circle]
base_url = "{circle}"

[upstreams.polymarket]
clob_url = "{clob}"
gamma_url = "{gamma}"

[upstreams.hyperliquid]
base_url = "{hyperliquid}"

[upstreams.defillama]
coins_url = "{coins}"

[upstreams.dexscreener]
base_url = "{dexscreener}"
"#
    )
}

fn through(proxy: &str, url: &str) -> String {
    let host_and_path = url.strip_prefix("https://").unwrap_or(url);
    format!("{proxy}/{host_and_path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configured_address_is_on_this_machine() {
        let api = ApiConfig {
            terms: terms(0),
            settles: "facilitator_url = \"http://127.0.0.1:1\"".to_owned(),
            rpc: "http://127.0.0.1:2".to_owned(),
            proxy: "http://127.0.0.1:3".to_owned(),
            storage: "url = \"sqlite:///x.db\"".to_owned(),
            key: "/x.key".into(),
            servers: 2,
            custody: Custody {
                files: "/siege".into(),
                secret: "/siege/secret".into(),
                nodes: [4, 5].map(|port| [port, 6].map(|port| format!("http://127.0.0.1:{port}"))),
                policy_digest: "0x00".to_owned(),
            },
        };
        for text in [
            api.to_toml(),
            rail_config("http://127.0.0.1:3", Path::new("/rail.db")),
        ] {
            assert!(!text.contains("https://"), "{text}");
            let urls = text.split("http://").skip(1);
            assert!(urls.clone().count() > 4);
            for url in urls {
                assert!(url.starts_with("127.0.0.1:"), "{url}");
            }
        }
    }

    #[test]
    fn every_other_kill_changes_payee_and_assets() {
        let (first, second) = (terms(0), terms(1));
        assert_eq!(terms(2), first);
        assert!(first.contains(&PAYEE.to_string()) && !second.contains(&PAYEE.to_string()));
        assert!(second.contains(&OTHER_PAYEE.to_string()));
        let assets = |terms: &str| terms.split_once("[[").map(|(_, assets)| assets.to_owned());
        assert_ne!(assets(&first), assets(&second));
        assert_eq!(second.matches("[[payment.assets]]").count(), 3);
    }
}
