//! Tests of `upstreams probe` against recordings, and against a venue that has changed.

use std::fs;

use replay::{Recordings, ReplayServer};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::process::server::{Configured, run};

const KEY: &str = "5ec2e7-of-the-operator";

fn configured(root: &str) -> Configured {
    Configured::new(&format!(
        "chains.8453.rpc_urls = ['{root}/mainnet.base.org']
         upstreams.lifi.base_url = '{root}/li.quest/v1'
         upstreams.circle.base_url = '{root}/iris-api.circle.com'
         upstreams.polymarket.clob_url = '{root}/clob.polymarket.com'
         upstreams.polymarket.gamma_url = '{root}/gamma-api.polymarket.com'
         upstreams.hyperliquid.base_url = '{root}/api.hyperliquid.xyz'
         upstreams.defillama.coins_url = '{root}/coins.llama.fi'
         upstreams.dexscreener.base_url = '{root}/api.dexscreener.com'"
    ))
}

fn probe(configured: &Configured, more: &[&str]) -> (i32, String, String) {
    let path = configured.path();
    let mut arguments = vec!["upstreams", "probe", "--config", path.to_str().unwrap()];
    arguments.extend(more);
    let output = run(&arguments, &[("SVC__UPSTREAMS__LIFI__API_KEY", KEY)]);
    let (said, errors) = (output.stdout, output.stderr);
    assert!(!format!("{said}{errors}").contains(KEY), "{said}{errors}");
    (output.code, said, errors)
}

#[test]
fn the_venues_are_asked_and_their_answers_kept() {
    let runtime = Runtime::new().unwrap();
    let recordings = Recordings::embedded().unwrap();
    let replay = runtime.block_on(ReplayServer::start(recordings)).unwrap();
    let configured = configured(&replay.url());
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("kept");
    let (_, said, errors) = probe(&configured, &["--json", "--record", into.to_str().unwrap()]);
    let document: Value = serde_json::from_str(&said).unwrap();
    let state = |source: &str| {
        let rows = document["sources"].as_array().unwrap();
        let row = rows.iter().find(|row| row["source"] == source).unwrap();
        (
            row["state"].as_str().unwrap().to_owned(),
            row["serves"].to_string(),
        )
    };
    for (source, tool) in [
        ("lifi.quote", "prepare_swap"),
        ("defillama.coins", "prepare_swap"),
        ("dexscreener.pairs", "prepare_swap"),
        ("circle.fees", "prepare_bridge"),
        ("polymarket.gamma", "prepare_pm_order"),
        ("hyperliquid.meta", "prepare_perp_order"),
    ] {
        let (state, serves) = state(source);
        assert_eq!(state, "ok", "{source}: {said}");
        assert!(serves.contains(tool), "{serves}");
    }
    assert!(errors.contains("answers kept in"), "{errors}");
    let kept = Recordings::load(&into).unwrap();
    assert!(
        kept.files().count() >= 8,
        "{:?}",
        kept.files().collect::<Vec<_>>()
    );
}

#[test]
fn a_member_that_was_renamed_is_named() {
    let runtime = Runtime::new().unwrap();
    let changed = tempfile::tempdir().unwrap();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/upstreams");
    let (from, to) = (format!("{recorded}/circle"), changed.path().join("circle"));
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path)
            .unwrap()
            .replace("minimumFee", "minFee");
        fs::write(to.join(path.file_name().unwrap()), text).unwrap();
    }
    let recordings = Recordings::load(changed.path()).unwrap();
    let replay = runtime.block_on(ReplayServer::start(recordings)).unwrap();
    let (code, said, _) = probe(&configured(&replay.url()), &[]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("$[].minimumFee is missing (perhaps renamed to $[].minFee)"),
        "{said}"
    );
}
