//! Checks the configuration of `docs/deploy`, in the environment that its `compose.yaml` gives the
//! server.

use std::path::{Path, PathBuf};

use crate::process::config::run_on;

fn deploy(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.join("../../docs/deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap()
}

/// The variables of the servers in `compose.yaml`, with the values of `example.env`.
fn variables() -> Vec<(String, String)> {
    let (compose, example) = (read("compose.yaml"), read("example.env"));
    let lines = compose.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("SVC__"));
    let named = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        let mut value = value.trim_matches('"').to_owned();
        for (name, with) in example.lines().filter_map(|line| line.split_once('=')) {
            value = value.replace(&format!("${{{name}:?}}"), with);
        }
        assert!(!value.contains("${"), "example.env lacks {value}");
        (name.to_owned(), value)
    });
    named.collect()
}

#[test]
fn the_configuration_can_be_used_and_no_password_is_printed() {
    let variables = variables();
    let mut environment: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    // The path of the file `secrets/gas_key`.
    let key = format!("0x{}", "11".repeat(32));
    environment.push(("SVC__SETTLEMENT__PRIVATE_KEY", &key));
    let output = run_on(
        "check-config",
        &deploy("config/api-server.toml"),
        &environment,
    );
    let stdout = &output.ok().stdout;
    for said in [
        "settled by onchain",
        "ledger postgres://postgres:5432/svc\n",
        "gas account",
    ] {
        assert!(stdout.contains(said), "expected {said:?} in {stdout}");
    }
    assert!(!stdout.contains("replace-with-openssl"), "{stdout}");
    assert_eq!(output.stderr, "");
}

/// Separate budgets would let the instances together ask an upstream twice as often as it allows.
#[test]
fn the_instances_share_the_budget_of_every_upstream() {
    let config: toml::Table = read("config/api-server.toml").parse().unwrap();
    for spec in api_server::Sources::specs() {
        let servers = &config["upstreams"][spec.name]["servers"];
        assert_eq!(servers.as_integer(), Some(2), "{}", spec.name);
    }
}

#[test]
fn the_operators_values_are_missing_without_the_environment() {
    let output = run_on("check-config", &deploy("config/api-server.toml"), &[]);
    let keys = [
        "payment.pay_to: is missing",
        "settlement.rpc_url: is missing",
        "settlement.private_key_file: cannot read /run/secrets/gas_key",
    ];
    output.error(2, &keys);
}
