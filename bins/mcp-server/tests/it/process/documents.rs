//! Compares documents of the repository with the binary.

use calldata_checks::Rail;
use mcp_server::Config;
use mcp_server::config::{PlansSection, SharesSection};
use serde_json::Value;

use crate::process::server::run;

const EXAMPLE: &str = include_str!("../../../../../docs/mcp-server.example.toml");

#[test]
fn the_registry_entry_is_about_this_server() {
    let entry: Value = serde_json::from_str(include_str!("../../../server.json")).unwrap();
    let version = run(&["--version"], &[]).stdout;
    let expected = format!("mcp-server {}", entry["version"].as_str().unwrap());
    assert_eq!(version.trim(), expected);
    let listed = &entry["_meta"]["io.modelcontextprotocol.registry/publisher-provided"]["tools"];
    let tools = run(&["tools", "--json"], &[]).json();
    let names = tools.as_array().unwrap().iter();
    assert_eq!(
        *listed,
        names.map(|tool| tool["name"].clone()).collect::<Value>()
    );
    // The registry has these limits.
    assert!(entry["description"].as_str().unwrap().len() <= 100);
    assert_eq!(entry["name"].as_str().unwrap().matches('/').count(), 1);
    let remote = &entry["remotes"][0];
    assert_eq!(remote["type"], "streamable-http");
    assert!(remote["url"].as_str().unwrap().ends_with("/mcp"));
}

#[test]
fn the_example_shows_the_defaults() {
    let shown = Config::parse(EXAMPLE, []).unwrap();
    // A comment with a key states the default of that key.
    let all: Vec<&str> = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest.contains(" = ")
                    && !rest.contains("_file = ")
                    && !rest.contains("allowed_origins")
                    && !rest.contains("client_address_header") =>
            {
                rest
            }
            Some(rest) if rest.starts_with("[chains.") || rest == "[delegation]" => rest,
            _ => line,
        })
        .collect();
    let all = Config::parse(&all.join("\n"), []).unwrap();
    assert_eq!(all.server.listen, Some(shown.listen()));
    let text = |config: &Config| {
        let mut server = config.server.clone();
        server.listen = None;
        format!(
            "{server:?} {:?} {:?} {:?} {:?} {:?}",
            PlansSection {
                shares: SharesSection::default(),
                ..config.plans.clone()
            },
            Rail::ALL.map(|rail| config.plans.shares.rules(rail)),
            config.worth.rules(),
            config.log.format,
            config.brand()
        )
    };
    assert_eq!(text(&all), text(&shown));
    assert_eq!(all.log.filter.as_deref(), Some("info"));
    for (name, url) in [
        ("lifi", data_sources::lifi::DEFAULT_BASE_URL),
        ("circle", data_sources::circle::DEFAULT_BASE_URL),
        ("hyperliquid", data_sources::hyperliquid::DEFAULT_BASE_URL),
    ] {
        assert_eq!(all.upstreams.table(name).base_url.as_deref(), Some(url));
    }
    let polymarket = all.upstreams.table("polymarket");
    assert_eq!(
        polymarket.clob_url.as_deref(),
        Some(data_sources::polymarket::DEFAULT_CLOB_URL)
    );
    assert_eq!(
        polymarket.gamma_url.as_deref(),
        Some(data_sources::polymarket::DEFAULT_GAMMA_URL)
    );
    let lifi = data_sources::lifi::LifiConfig::default()
        .common
        .limits
        .timeout;
    assert_eq!(
        all.upstreams.table("lifi").timeout_ms.map(u128::from),
        Some(lifi.as_millis())
    );
}
