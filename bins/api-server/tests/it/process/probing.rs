//! Tests of `upstreams probe` against recordings.

use std::fmt::Write as _;

use api_server::Sources;
use data_sources::evm::PUBLIC_ENDPOINTS;
use replay::{Recordings, ReplayServer};
use serde_json::Value;

use crate::process::config::PAYEE;
use crate::process::server::run;

/// A facilitator that is never asked.
const SETTLED: &str = "settlement.facilitator_url = 'http://127.0.0.1:9'\n";
const KEY: &str = "5ec2e7-of-the-operator";

/// A configuration with every upstream at `root`, treated as live; `more` ends the file.
fn file(root: &str, more: &str) -> String {
    let mut text = format!("{PAYEE}{SETTLED}");
    let at = |public: &str| format!("{root}/{}", public.strip_prefix("https://").unwrap());
    for spec in Sources::specs() {
        for (key, public) in spec.urls {
            writeln!(text, "upstreams.{}.{key} = '{}'", spec.name, at(public)).unwrap();
        }
    }
    for (id, [public, _]) in PUBLIC_ENDPOINTS {
        writeln!(text, "chains.{id}.rpc_urls = ['{}?key={KEY}']", at(public)).unwrap();
    }
    text + more
}

async fn probe(file: String, more: Vec<String>) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    std::fs::write(&path, file).unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        let mut arguments = vec!["upstreams", "probe", "--config", path.to_str().unwrap()];
        arguments.extend(more.iter().map(String::as_str));
        run(&arguments, &[("SVC__UPSTREAMS__FRED__API_KEY", KEY)])
    })
    .await
    .unwrap();
    let (said, errors) = (ended.stdout, ended.stderr);
    assert!(!format!("{said}{errors}").contains(KEY), "{said}{errors}");
    (ended.code, said, errors)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstreams_are_asked_and_their_answers_kept_without_keys() {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("kept");
    let more = ["--json", "--record", into.to_str().unwrap()].map(str::to_owned);
    let (_, said, errors) = probe(file(&replay.url(), ""), more.to_vec()).await;
    let document: Value = serde_json::from_str(&said).unwrap();
    let rows = document["sources"].as_array().unwrap();
    let row = |source: &str| rows.iter().find(|row| row["source"] == source).unwrap();
    assert_eq!(row("binance.funding")["state"], "ok", "{said}");
    assert!(
        row("binance.funding")["serves"]
            .to_string()
            .contains("/funding-rates")
    );
    assert_eq!(row("openai.responses")["state"], "disabled");
    assert_eq!(row("defillama.chains")["state"], "ok", "{said}");
    assert!(errors.contains("answers kept in"), "{errors}");
    let kept = Recordings::load(&into).unwrap();
    assert!(kept.files().count() > 30);
    for file in kept.files() {
        let text = std::fs::read_to_string(into.join(file)).unwrap();
        assert!(!text.contains(KEY), "{file}");
    }
    for entry in std::fs::read_dir(&into).unwrap() {
        let manifest = entry.unwrap().path().join("manifest.json");
        assert!(!std::fs::read_to_string(manifest).unwrap().contains(KEY));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_has_a_line_for_each_source() {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let (_, said, _) = probe(file(&replay.url(), ""), Vec::new()).await;
    for spec in Sources::specs() {
        for source in spec.sources {
            assert!(said.contains(source), "{source}:\n{said}");
        }
    }
    if let Some(file) = std::env::var_os("PROBE_TABLE") {
        std::fs::write(file, said).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_upstream_has_an_exit_code_of_its_own() {
    let mut text = format!("{PAYEE}{SETTLED}");
    for spec in Sources::specs() {
        writeln!(
            text,
            "upstreams.{}.enabled = {}",
            spec.name,
            spec.name == "cboe"
        )
        .unwrap();
    }
    text += "upstreams.cboe.base_url = 'http://127.0.0.1:1'\n";
    for (id, _) in PUBLIC_ENDPOINTS {
        writeln!(text, "chains.{id}.rpc_urls = ['http://127.0.0.1:1']").unwrap();
    }
    let (code, said, _) = probe(text, Vec::new()).await;
    assert_eq!(code, 1, "{said}");
    let line = said.lines().find(|line| line.contains("cboe.vix")).unwrap();
    assert!(line.contains("unreachable"), "{line}");
}
