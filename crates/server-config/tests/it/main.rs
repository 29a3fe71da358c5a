//! Tests of the guarantees that the servers' own tests of their processes do not cover.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use secrecy::ExposeSecret;
use serde::Deserialize;
use server_config::{
    Chains, ConfigError, Configuration, Problem, ServerSection, Upstreams, lenient, load, parse,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    server: ServerSection,
    upstreams: Upstreams,
    chains: Chains,
    own: Own,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Own {
    #[serde(deserialize_with = "lenient::scalar")]
    number: u32,
    #[serde(deserialize_with = "lenient::optional_scalar")]
    perhaps: Option<u64>,
    #[serde(deserialize_with = "lenient::boolean")]
    flag: bool,
    #[serde(deserialize_with = "lenient::list")]
    list: Vec<String>,
    #[serde(deserialize_with = "lenient::list")]
    numbers: Vec<u64>,
    #[serde(deserialize_with = "lenient::tables")]
    tables: Vec<Row>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
}

impl Configuration for Config {
    fn complete(&mut self, problems: &mut Vec<Problem>) {
        self.upstreams.read_secret_files(problems);
        self.server.check(problems);
        self.upstreams.check(problems);
        self.chains.check(problems);
    }
}

fn with(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    parse("", variables)
}

fn refusal(text: &str) -> String {
    parse::<Config>(text, []).unwrap_err().to_string()
}

#[test]
fn a_variable_can_set_every_kind_of_value() {
    let config = with(&[
        ("SVC__OWN__NUMBER", " 7 "),
        ("SVC__OWN__PERHAPS", "8"),
        ("SVC__OWN__FLAG", "true"),
        ("SVC__OWN__LIST", "a, b,,c"),
        ("SVC__OWN__NUMBERS", "196, 8453,"),
        ("SVC__OWN__TABLES", "[{ name = 'x' }, { name = 'y' }]"),
        ("SVC__SERVER__ALLOWED_ORIGINS", "https://a.test"),
        ("SVC__UPSTREAMS__LIFI__ENABLED", "false"),
        ("SVC__UPSTREAMS__X_API__PAGES", "3"),
        (
            "SVC__CHAINS__8453__RPC_URLS",
            "https://one.test,https://two.test/key",
        ),
        ("PATH", "/bin"),
        ("svc__own__number", "9"),
    ])
    .unwrap();
    let rows = ["x", "y"].map(|name| Row {
        name: name.to_owned(),
    });
    let own = Own {
        number: 7,
        perhaps: Some(8),
        flag: true,
        list: ["a", "b", "c"].map(str::to_owned).to_vec(),
        numbers: vec![196, 8453],
        tables: Vec::from(rows),
    };
    assert_eq!(config.own, own);
    assert_eq!(config.server.allowed_origins.unwrap(), ["https://a.test"]);
    assert_eq!(config.upstreams.table("lifi").enabled, Some(false));
    assert_eq!(config.upstreams.table("x_api").pages, Some(3));
    assert_eq!(
        config.chains.rpc_urls(8453),
        ["https://one.test", "https://two.test/key"]
    );
    assert_eq!(config.chains.rpc_urls(1), [""; 0]);
}

#[test]
fn a_value_that_is_not_unicode_is_refused_by_name() {
    // Linux allows any bytes; `environment` shows the bad ones as replacement characters.
    let shown = String::from_utf8_lossy(b"/etc/\xff").into_owned();
    let error = with(&[("PATH", &shown), ("SVC__OWN__LIST", &shown)]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("SVC__OWN__LIST: expected Unicode text"),
        "{text}"
    );
    with(&[("PATH", &shown)]).unwrap();
}

#[test]
fn numbers_keep_to_their_range() {
    for text in [
        "own.number = -1",
        "own.number = 4294967296",
        "own.number = 1.5",
        "own.number = true",
    ] {
        assert!(refusal(text).contains("own.number: "), "{text}");
    }
    for value in ["-1", "", "0x10", "1 000", "1.0"] {
        assert!(with(&[("SVC__OWN__NUMBER", value)]).is_err(), "{value}");
    }
    assert!(with(&[("SVC__OWN__FLAG", "yes")]).is_err());
}

#[test]
fn a_secret_file_is_read_unless_the_environment_has_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("key");
    private(&secret, " from-file \n", 0o600);
    let empty = folder.path().join("empty");
    private(&empty, " \n", 0o400);
    let text = format!("upstreams.lifi.api_key_file = '{}'", secret.display());
    let config: Config = parse(&text, []).unwrap();
    let key = config.upstreams.table("lifi").api_key.unwrap();
    assert_eq!(key.expose_secret(), "from-file");
    assert!(!format!("{:?}", config.upstreams).contains("from-file"));
    let over = [(
        "SVC__UPSTREAMS__LIFI__API_KEY".to_owned(),
        "over".to_owned(),
    )];
    let config: Config = parse(&text, over).unwrap();
    assert_eq!(
        config
            .upstreams
            .table("lifi")
            .api_key
            .unwrap()
            .expose_secret(),
        "over"
    );
    for (path, says) in [
        (&empty, "is empty"),
        (&folder.path().join("none"), "cannot read"),
    ] {
        let said = refusal(&format!(
            "upstreams.lifi.api_key_file = '{}'",
            path.display()
        ));
        assert!(
            said.contains("upstreams.lifi.api_key_file: ") && said.contains(says),
            "{said}"
        );
    }
}

/// Writes a file with a mode.
fn private(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_secret_file_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("key");
    for mode in [0o604, 0o640, 0o602, 0o660, 0o644, 0o610] {
        private(&secret, "5ec2e7", mode);
        let said = refusal(&format!(
            "upstreams.lifi.api_key_file = '{}'",
            secret.display()
        ));
        let expected = format!(
            "upstreams.lifi.api_key_file: other users may read or change {}: it has the mode {mode:03o}",
            secret.display()
        );
        assert!(said.contains(&expected), "{said}");
        assert!(!said.contains("5ec2e7"), "{said}");
    }
}

#[test]
fn a_chain_has_one_spelling() {
    for id in ["base", "01", "-1", "1.0", "18446744073709551616"] {
        assert!(
            refusal(&format!("chains.'{id}'.rpc_urls = []")).contains("expected a chain id"),
            "{id}"
        );
    }
}

#[test]
fn the_client_address_header_must_list_addresses() {
    let config: Config = parse("server.client_address_header = 'X-Real-IP'", []).unwrap();
    let header = config.server.client_address_header.unwrap();
    assert_eq!(header, "X-Real-IP");
    for name in [
        "",
        "x forwarded for",
        "x-forwarded-for,x",
        "Forwarded",
        "x-é",
    ] {
        let said = refusal(&format!("server.client_address_header = '{name}'"));
        assert!(said.contains("server.client_address_header: "), "{said}");
    }
}

#[test]
fn trusted_proxies_are_addresses_or_networks() {
    let file = "server.trusted_proxies = ['10.0.0.2', '10.1.0.0/16', 'fd00::/8']";
    let config: Config = parse(file, []).unwrap();
    let networks: Vec<_> = config.server.proxy_networks().collect();
    let address = |text: &str| text.parse().unwrap();
    assert_eq!(
        networks,
        [
            (address("10.0.0.2"), 32),
            (address("10.1.0.0"), 16),
            (address("fd00::"), 8)
        ]
    );
    for proxy in [
        "",
        "caddy",
        "10.0.0",
        "10.0.0.2:80",
        "10.0.0.2/",
        "10.0.0.2/33",
        "0.0.0.0/0",
        "::/0",
        "fd00::/129",
        "10.0.0.2/-1",
        "[::1]",
    ] {
        let said = refusal(&format!("server.trusted_proxies = ['::1', '{proxy}']"));
        assert!(
            said.contains("server.trusted_proxies[1]: expected"),
            "{said}"
        );
    }
    let said = refusal("server.max_connections_per_address = 0");
    assert!(
        said.contains("server.max_connections_per_address: expected at least 1"),
        "{said}"
    );
}

#[test]
fn problems_come_together_and_repeat_no_endpoint() {
    let said = refusal(
        "server.max_body_bytes = 0\nupstreams.nobody.enabled = true\nchains.1.rpc_urls = ['ws://secret-key']",
    );
    for key in [
        "server.max_body_bytes: ",
        "upstreams.nobody: ",
        "chains.1.rpc_urls[0]: ",
    ] {
        assert!(said.contains(key), "{said}");
    }
    assert!(!said.contains("secret-key"), "{said}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let refused = load::<Config>(&path, []).unwrap_err();
    assert!(refused.to_string().contains("none.toml"), "{refused}");
    std::fs::write(&path, "own.number = 3").unwrap();
    assert_eq!(load::<Config>(&path, []).unwrap().own.number, 3);
}

#[test]
fn only_coingecko_has_a_plan() {
    let config: Config = parse("[upstreams.coingecko]\nplan = \"pro\"", []).unwrap();
    let table = config.upstreams.table("coingecko");
    assert_eq!(table.options().collect::<Vec<_>>(), [("plan", "pro")]);
    for (name, expected) in [
        ("coingecko", "expected \"free\" or \"pro\""),
        ("coinpaprika", "only coingecko has plans"),
    ] {
        let refused = refusal(&format!("[upstreams.{name}]\nplan = \"max\""));
        let key = format!("upstreams.{name}.plan");
        assert!(
            refused.contains(&key) && refused.contains(expected),
            "{refused}"
        );
    }
}
