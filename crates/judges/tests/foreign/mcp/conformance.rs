//! Runs the scenarios of the protocol's conformance suite that need no tools made for the suite.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use judges::run;
use serde::Deserialize;

use super::world::{AgentWorld, LEGACY, MODERN};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    #[serde(default)]
    #[expect(dead_code, reason = "printed when the check fails")]
    error_message: Option<String>,
}

/// Runs one scenario and returns its checks.
async fn scenario(world: &AgentWorld, name: &str, revision: &str) -> Vec<Check> {
    let folder = tempfile::tempdir().unwrap();
    let mut suite = world.toolchain.conformance();
    suite
        .args(["server", "--url", &world.server.endpoint()])
        .args(["--scenario", name, "--spec-version", revision])
        .arg("-o")
        .arg(folder.path());
    // The suite fails when any check fails. Its report says which checks failed.
    let ended = run(suite, b"").await;
    let checks = report(folder.path());
    assert!(!checks.is_empty(), "{name}: {ended:?}");
    checks
}

/// Reads `server-SCENARIO-TIME/checks.json` in the output folder.
fn report(folder: &Path) -> Vec<Check> {
    fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("checks.json")).ok())
        .flat_map(|text| serde_json::from_str::<Vec<Check>>(&text).unwrap())
        .collect()
}

/// Asserts that this many checks of a scenario pass. Only the checks in `exempt` may fail; they ask
/// for features that this server does not have.
async fn check(world: &AgentWorld, name: &str, revision: &str, passed: usize, exempt: &[&str]) {
    let checks = scenario(world, name, revision).await;
    let with = |statuses: &[&str]| -> Vec<&Check> {
        let has = |check: &&Check| statuses.contains(&check.status.as_str());
        checks.iter().filter(has).collect()
    };
    let failures = with(&["FAILURE", "WARNING"]);
    let failed: BTreeSet<&str> = failures.iter().map(|check| check.id.as_str()).collect();
    let exempt: BTreeSet<&str> = exempt.iter().copied().collect();
    assert_eq!(failed, exempt, "{name} {revision}: {failures:#?}");
    assert_eq!(
        with(&["SUCCESS"]).len(),
        passed,
        "{name} {revision}: {checks:#?}"
    );
}

/// The checks of `server-stateless` that need tools made for the suite.
const NEEDS_FIXTURES: [&str; 4] = [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
];

/// The checks of `caching` about lists that this server does not offer.
const NOT_OFFERED: [&str; 3] = [
    "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints",
    "sep-2549-resources-templates-list-caching-hints",
];

#[tokio::test]
async fn the_newest_revision() {
    let world = AgentWorld::start().await;
    check(&world, "server-stateless", MODERN, 21, &NEEDS_FIXTURES).await;
    check(&world, "tools-list", MODERN, 4, &[]).await;
    check(&world, "caching", MODERN, 4, &NOT_OFFERED).await;
    check(&world, "dns-rebinding-protection", MODERN, 2, &[]).await;
    check(&world, "http-header-validation", MODERN, 14, &[]).await;
}

#[tokio::test]
async fn the_handshake_era() {
    let world = AgentWorld::start().await;
    check(&world, "server-initialize", LEGACY, 2, &[]).await;
    check(&world, "ping", LEGACY, 2, &[]).await;
    check(&world, "tools-list", LEGACY, 3, &[]).await;
    check(&world, "dns-rebinding-protection", LEGACY, 2, &[]).await;
}
