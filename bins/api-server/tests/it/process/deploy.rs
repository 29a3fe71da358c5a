//! Checks the configuration of `docs/deploy`, in the environment that its `compose.yaml` gives the
//! server.

use std::path::{Path, PathBuf};

use route_catalog::Operation;

use crate::process::config::run_on;

fn deploy(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.join("../../docs/deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap()
}

/// The values that an operator writes into `.env`.
const VALUES: [(&str, &str); 5] = [
    ("DOMAIN", "api.example.com"),
    ("PAY_TO", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ("RPC_URL", "https://rpc-one.example/v1/KEY"),
    ("SECOND_RPC_URL", "https://rpc-two.example"),
    ("POSTGRES_PASSWORD", "5ec2e7passw0rd"),
];

/// Returns the variables of the servers in `compose.yaml`, with an operator's values.
fn variables() -> Vec<(String, String)> {
    let compose = read("compose.yaml");
    let lines = compose.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("SVC__"));
    let named = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        let mut value = value.trim_matches('"').to_owned();
        for (name, with) in VALUES {
            value = value.replace(&format!("${{{name}:?}}"), with);
        }
        assert!(!value.contains("${"), "no value for {value}");
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
    assert!(!stdout.contains("5ec2e7passw0rd"), "{stdout}");
    assert_eq!(output.stderr, "");
}

/// Caddy comes from these addresses. The servers count and believe nobody else's.
#[test]
fn the_servers_trust_the_proxy_alone() {
    let variables = variables();
    let mut trusted = variables.iter();
    let trusted = trusted.find(|(name, _)| name == "SVC__SERVER__TRUSTED_PROXIES");
    let compose = read("compose.yaml");
    let addresses = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ipv4_address: "));
    let addresses: Vec<&str> = addresses.collect();
    assert_eq!(addresses.len(), 2);
    assert_eq!(trusted.unwrap().1, addresses.join(","));
    for address in addresses {
        let network = address.strip_suffix(".2").unwrap();
        assert!(
            compose.contains(&format!("subnet: {network}.0/24")),
            "{address}"
        );
        assert!(
            compose.contains(&format!("ip_range: {network}.128/25")),
            "{address}"
        );
    }
    let file: toml::Table = read("config/api-server.toml").parse().unwrap();
    let server = &file["server"];
    assert_eq!(
        server["trusted_proxies"],
        toml::Value::from(vec!["127.0.0.1"])
    );
    assert_eq!(
        server["client_address_header"].as_str(),
        Some("x-forwarded-for")
    );
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

/// A call of these operations may take a minute or longer without any fault.
#[test]
fn the_alert_of_slow_calls_leaves_out_the_operations_that_wait() {
    let alerts = read("prometheus/alerts.yml");
    let named = alerts
        .split_once("svc_paid_call_seconds_bucket{operation!~\"")
        .unwrap()
        .1;
    let mut named: Vec<&str> = named.split('"').next().unwrap().split('|').collect();
    named.sort_unstable();
    let long = Operation::ALL
        .iter()
        .filter(|it| it.route().work_seconds > 10);
    let mut long: Vec<&str> = long.map(|it| it.name()).collect();
    long.sort_unstable();
    assert_eq!(named, long);
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
