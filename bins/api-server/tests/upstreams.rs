//! `docs/UPSTREAMS.md` is the table of what the server can ask.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    unused_crate_dependencies,
    reason = "test code"
)]

use std::fmt::Write as _;
use std::path::Path;

use api_server::{Config, Sources};
use data_sources::KeyRule;

fn table() -> String {
    let mut page = String::from(
        "# Upstreams\n\nEach has a table `[upstreams.NAME]` with `enabled`, `timeout_ms`, `mode` and the addresses below (a path in one is \
         a prefix of\nevery request). Keys come from the environment (`SVC__UPSTREAMS__NAME__API_KEY`) or from files \
         (`api_key_file`), never from\nthe file itself. Without a key that it needs an upstream is `disabled`, and `/status` says so. \
         Written by `cargo xtask docs`.\n\n\
         | Name | Address | Key | Calls per minute | Sources |\n|---|---|---|---|---|\n",
    );
    for spec in Sources::specs() {
        let urls: Vec<_> = spec
            .urls
            .iter()
            .map(|(key, url)| format!("`{key} = \"{url}\"`"))
            .collect();
        let key = match (spec.name, spec.key) {
            ("okx", _) => "`api_key`, `secret_key`, `passphrase`",
            (_, KeyRule::Required) => "`api_key`",
            (_, KeyRule::Optional) => "`api_key`, optional",
            (_, KeyRule::Keyless) => "none",
        };
        let sources: Vec<_> = spec.sources.iter().map(|id| format!("`{id}`")).collect();
        writeln!(
            page,
            "| `{}` | {} | {key} | {} | {} |",
            spec.name,
            urls.join("<br>"),
            spec.per_minute,
            sources.join(", ")
        )
        .unwrap();
    }
    page
}

#[test]
fn generated_docs_of_upstreams_are_those_of_the_adapters() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/UPSTREAMS.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, table()).unwrap();
    }
    let observed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        observed == table(),
        "docs/UPSTREAMS.md is out of date: run `cargo xtask docs`"
    );
}

/// Every address and key that an adapter knows can be configured.
#[test]
fn every_upstream_can_be_configured() {
    for spec in Sources::specs() {
        let name = spec.name.to_ascii_uppercase();
        let mut environment: Vec<(String, String)> = spec
            .urls
            .iter()
            .map(|(key, _)| {
                let variable = format!("SVC__UPSTREAMS__{name}__{}", key.to_ascii_uppercase());
                (variable, "http://127.0.0.1:9/prefix".to_owned())
            })
            .collect();
        for key in ["API_KEY", "SECRET_KEY", "PASSPHRASE"] {
            environment.push((format!("SVC__UPSTREAMS__{name}__{key}"), "k".to_owned()));
        }
        let text = "[payment]\npay_to = \"0x1111111111111111111111111111111111111111\"\n\
                    [settlement]\nfacilitator_url = \"http://127.0.0.1:9\"\n";
        let config = Config::parse(text, environment);
        assert!(config.is_ok(), "{}: {:?}", spec.name, config.err());
    }
}
