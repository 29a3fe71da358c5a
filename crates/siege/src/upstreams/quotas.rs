//! The limits of the upstreams, by host.

use std::collections::BTreeMap;
use std::time::Duration;

use data_sources::{Families, UpstreamSpec};

/// One limit of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// The host.
    pub host: String,
    /// The name of the limit, if the host has several. Empty for a limit of all calls.
    pub family: &'static str,
    /// The most weight of the calls in any time of this length.
    pub limit: u32,
    /// The length of the time.
    pub window: Duration,
}

/// The limits that hosts have published: the host, the calls, and the seconds. For other hosts, our
/// adapters' own limits count.
const PUBLISHED: [(&str, u32, u64); 6] = [
    ("api.coingecko.com", 30, 60),
    ("api.gopluslabs.io", 30, 60),
    ("api.hyperliquid.xyz", 1_200, 60),
    ("api.dexscreener.com", 300, 60),
    ("iris-api.circle.com", 35, 1),
    ("li.quest", 75, 7_200),
];

/// Hosts with several limits. Each row has the host, the beginning of the paths that a limit
/// covers, and the limit's name in our adapter. The first row that matches counts.
const FAMILIES: [(&str, &str, &str); 10] = [
    ("web3.okx.com", "/api/v6/dex/market/social", "social"),
    ("web3.okx.com", "/api/v6/dex/market", "market"),
    ("web3.okx.com", "/api/v6/dex/aggregator", "aggregator"),
    ("web3.okx.com", "/api/v6/dex/balance", "balances"),
    ("web3.okx.com", "/api/v6/security", "security"),
    ("web3.okx.com", "/api/v6/defi", "defi"),
    ("fapi.binance.com", "/futures/data", "statistics"),
    ("fapi.binance.com", "/fapi", "market"),
    ("www.okx.com", "/api/v5/rubik", "statistics"),
    ("www.okx.com", "/api/v5/public", "public"),
];

/// Upstreams with a daily quota in the paid API's configuration: the adapter's name, its host, and
/// the calls. Killing a server must not lead to more calls.
pub const DAILY: [(&str, &str, u32); 1] = [("coinpaprika", "api.coinpaprika.com", 60)];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the name of the limit that covers a call of `host/path`. Empty when no row matches.
pub(super) fn family(target: &str) -> &'static str {
    let fits = |(host, path, _): &&(&str, &str, &'static str)| {
        let rest = target.strip_prefix(host);
        rest.is_some_and(|rest| rest.starts_with(path))
    };
    FAMILIES
        .iter()
        .find(fits)
        .map_or("", |(_, _, family)| family)
}

/// Returns the limits of all hosts: the published limit of a host, otherwise each of our adapters'
/// limits.
pub fn quotas(specs: &[&UpstreamSpec]) -> Vec<Quota> {
    let mut quotas: BTreeMap<(String, &'static str), Quota> = BTreeMap::new();
    for spec in specs {
        for (at, (key, url)) in spec.urls.iter().enumerate() {
            let host = url.trim_start_matches("https://");
            let host = host.split('/').next().unwrap_or_default().to_owned();
            let rates = spec.families.each(spec.urls.iter().map(|(key, _)| *key));
            let rates: Vec<_> = match spec.families {
                Families::One(_) => rates.map(|(_, rate)| ("", rate)).collect(),
                Families::EachAddress(_) => {
                    rates.skip(at).take(1).map(|(_, rate)| ("", rate)).collect()
                }
                // Some adapters have a limit for each of their hosts. Its name is the key of the
                // host's address.
                Families::Groups(_) => rates
                    .filter(|(family, _)| family == key || spec.urls.len() == 1)
                    .map(|(family, rate)| (if family == *key { "" } else { family }, rate))
                    .collect(),
            };
            for (family, rate) in rates {
                let window = Duration::from_secs(rate.seconds.into());
                // Two adapters may ask the same host. Each keeps to its own limit.
                let quota = quotas.entry((host.clone(), family)).or_insert(Quota {
                    host: host.clone(),
                    family,
                    limit: 0,
                    window,
                });
                quota.limit = quota.limit.saturating_add(rate.weight);
            }
        }
    }
    for (host, limit, seconds) in PUBLISHED {
        quotas.retain(|(known, _), _| known != host);
        let quota = Quota {
            host: host.to_owned(),
            family: "",
            limit,
            window: Duration::from_secs(seconds),
        };
        quotas.insert((host.to_owned(), ""), quota);
    }
    let daily = DAILY.map(|(_, host, limit)| Quota {
        host: host.to_owned(),
        family: "",
        limit,
        window: DAY,
    });
    quotas.into_values().chain(daily).collect()
}

#[cfg(test)]
mod tests {
    use api_server::Sources;

    use super::*;

    #[test]
    fn quotas_are_those_of_hosts_or_else_of_adapters() {
        let quotas = quotas(&Sources::specs());
        let of = |host: &str| quotas.iter().find(|quota| quota.host == host).unwrap();
        assert_eq!(of("api.coingecko.com").limit, 30);
        assert_eq!(of("li.quest").window, Duration::from_secs(7_200));
        // Each family of one host has a limit of its own.
        let of_okx = |family: &str| {
            let mut of_host = quotas.iter().filter(|quota| quota.host == "web3.okx.com");
            of_host.find(|quota| quota.family == family).unwrap().limit
        };
        assert_eq!((of_okx("market"), of_okx("security")), (240, 60));
        // Every limit of a host belongs to a path, and every path names an existing limit.
        let mut named: Vec<_> = FAMILIES.iter().map(|(host, _, of)| (*host, *of)).collect();
        let mut limits: Vec<_> = quotas
            .iter()
            .filter(|quota| !quota.family.is_empty())
            .map(|quota| (quota.host.as_str(), quota.family))
            .collect();
        named.sort_unstable();
        limits.sort_unstable();
        assert_eq!(named, limits);
        // Each address has a limit of its own.
        assert_eq!(of("eth.blockscout.com").limit, 120);
        let daily: Vec<_> = quotas.iter().filter(|quota| quota.window == DAY).collect();
        assert_eq!((daily.len(), daily[0].limit), (1, 60));
        for (name, host, _) in DAILY {
            let spec = Sources::specs().into_iter().find(|spec| spec.name == name);
            let urls = spec.unwrap().urls;
            assert!(urls.iter().all(|(_, url)| url.contains(host)), "{host}");
        }
        // No limit of an adapter is higher than the limit of its host.
        for spec in Sources::specs() {
            let rates = spec.families.each(spec.urls.iter().map(|(key, _)| *key));
            for ((_, rate), (_, url)) in rates.zip(spec.urls) {
                let host = url.trim_start_matches("https://");
                if let Some((_, limit, seconds)) = PUBLISHED.iter().find(|(name, ..)| *name == host)
                {
                    assert_eq!(*seconds, u64::from(rate.seconds), "{host}");
                    assert!(rate.weight <= *limit, "{host}");
                }
            }
        }
    }

    #[test]
    fn a_path_belongs_to_the_first_limit_that_matches() {
        for (target, expected) in [
            ("web3.okx.com/api/v6/dex/market/price", "market"),
            ("web3.okx.com/api/v6/dex/market/social/news", "social"),
            ("fapi.binance.com/fapi/v1/premiumIndex?symbol=A", "market"),
            ("fapi.binance.com/elsewhere", ""),
            ("li.quest/v1/quote", ""),
        ] {
            assert_eq!(family(target), expected, "{target}");
        }
    }
}
