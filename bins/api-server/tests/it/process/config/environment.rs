//! Tests of the variables of the environment, which replace keys of the configuration file.

use std::path::Path;

use api_server::Config;
use dev_chain::GAS_PAYER;
use test_support::process::{program, run};

use super::{MARKER, PAYEE, USABLE, assert_refused, run_on};

#[test]
fn secrets_do_not_belong_in_the_file_and_are_not_repeated() {
    for key in [
        "settlement.private_key",
        "settlement.keystore_password",
        "settlement.okx_api_key",
        "settlement.okx_secret_key",
        "settlement.okx_passphrase",
        "upstreams.okx.api_key",
        "upstreams.okx.secret_key",
        "upstreams.lifi.passphrase",
        "custody.api_private_key",
    ] {
        let variable = format!("SVC__{}", key.to_uppercase().replace('.', "__"));
        let says = [
            format!("{key}: a secret does not belong in this file"),
            format!("set {variable}, or "),
        ];
        let says: Vec<&str> = says.iter().map(String::as_str).collect();
        assert_refused(&format!("{USABLE}{key} = '{MARKER}'"), &[], &says);
    }
    // These lines are mistakes near a secret.
    for line in [
        format!("settlement.private_key = 0x{MARKER}zz"),
        format!("settlement.private_key = \"{MARKER}"),
        format!("settlement.private_key {MARKER}"),
        format!("settlement = '{MARKER}'"),
        format!("upstreams.okx = '{MARKER}'"),
        format!("upstreams = [{{ api_key = '{MARKER}' }}]"),
        format!("storage.url = 'postgres://user:{MARKER}@host/db'"),
    ] {
        assert_refused(&format!("{PAYEE}{line}"), &[], &[]);
    }
}

/// The secrets that may be in the file: URLs, although a URL may contain a password or a key.
const MAY_BE_IN_THE_FILE: [&str; 2] = ["url", "web3signer_url"];

/// Returns the names of all secrets in the sections of the configuration.
fn secrets() -> Vec<String> {
    let mut names = Vec::new();
    for folder in [
        "src/config/sections",
        "../../crates/server-config/src/sections",
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let fields = text.lines().filter_map(|line| {
                let field = line.trim().strip_prefix("pub ")?;
                field.strip_suffix(": Option<SecretString>,")
            });
            names.extend(fields.map(str::to_owned));
        }
    }
    names
}

#[test]
fn every_secret_of_the_configuration_is_refused_in_the_file() {
    let names = secrets();
    for known in [
        "api_private_key",
        "redeemer_key",
        "okx_passphrase",
        "passphrase",
        "url",
    ] {
        assert!(names.iter().any(|name| name == known), "{known}: {names:?}");
    }
    for name in names {
        if MAY_BE_IN_THE_FILE.contains(&name.as_str()) {
            continue;
        }
        let refused = Config::parse(&format!("any.{name} = '{MARKER}'"), []).unwrap_err();
        let refused = refused.to_string();
        let says = format!("any.{name}: a secret does not belong in this file");
        assert!(refused.contains(&says), "{refused}");
    }
}

#[test]
fn the_environment_wins_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    std::fs::write(&path, format!("{USABLE}server.listen = 'nowhere'")).unwrap();
    let payee = "0x000000000000000000000000000000000000bEEF";
    let secrets = folder.path().join("secret");
    test_support::private_file(&secrets, format!("{:x}\n", GAS_PAYER.key));
    let output = run_on(
        "check-config",
        &path,
        &[
            ("SVC__SERVER__LISTEN", "127.0.0.1:0"),
            ("SVC__SERVER__MAX_CONNECTIONS", "12"),
            (
                "SVC__SERVER__ALLOWED_ORIGINS",
                "https://a.test, https://b.test",
            ),
            ("SVC__UPSTREAMS__OKX__ENABLED", "false"),
            ("SVC__UPSTREAMS__OKX__API_KEY", MARKER),
            ("SVC__UPSTREAMS__OKX__SECRET_KEY", MARKER),
            ("SVC__UPSTREAMS__OKX__PASSPHRASE", MARKER),
            (
                "SVC__CHAINS__8453__RPC_URLS",
                "https://rpc.test/key,https://rpc.test",
            ),
            ("SVC__PAYMENT__PAY_TO", payee),
            ("SVC__SETTLEMENT__MODE", "onchain"),
            (
                "SVC__SETTLEMENT__RPC_URL",
                &format!("http://127.0.0.1:9/?key={MARKER}"),
            ),
            (
                "SVC__SETTLEMENT__PRIVATE_KEY_FILE",
                secrets.to_str().unwrap(),
            ),
            ("SERVER__LISTEN", "not ours"),
        ],
    );
    let stdout = &output.ok().stdout;
    assert_eq!(output.stderr, "");
    assert!(stdout.contains("listening on 127.0.0.1:0"), "{stdout}");
    assert!(
        stdout.contains(&format!("paid to {payee}, settled by onchain")),
        "{stdout}"
    );
    // The output names the scheme that no payment can use, and the routes without a key or a
    // custodian.
    for line in [
        "every challenge offers aggr_deferred, but mode onchain can never settle it",
        "POST /swap is not served here: no_upstream_configured (needs upstreams.okx.enabled)",
        "POST /auto-swap is not served here: no_custody_connected",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
}

#[test]
fn a_variable_that_cannot_be_used_is_named() {
    for (name, value, says) in [
        (
            "SVC__PAYMENT",
            MARKER,
            "SVC__PAYMENT: expected SVC__SECTION__KEY",
        ),
        ("SVC__", MARKER, "SVC__: expected SVC__SECTION__KEY"),
        (
            "SVC__PAYMENT__",
            MARKER,
            "SVC__PAYMENT__: expected SVC__SECTION__KEY",
        ),
        (
            "SVC__PAYMENT__PAY_TO__X",
            MARKER,
            "SVC__PAYMENT__PAY_TO__X: expected SVC__SECTION__KEY",
        ),
        (
            "SVC__PAYMENT__PAYTO",
            MARKER,
            "payment.payto: unknown field",
        ),
        ("SVC__PRIVATE_KEY", MARKER, "private_key: unknown field"),
        (
            "SVC__SETTLEMENT__PRIVAT_KEY",
            MARKER,
            "settlement.privat_key: unknown field",
        ),
        ("SVC__STORAGE", MARKER, "storage: expected a section"),
        (
            "SVC__UPSTREAMS__OKX",
            MARKER,
            "upstreams.okx: expected a section",
        ),
        (
            "SVC__SERVER__MAX_CONNECTIONS",
            "many",
            "server.max_connections: ",
        ),
        (
            "SVC__SETTLEMENT__PRIVATE_KEY",
            MARKER,
            "settlement.private_key: expected 32 bytes",
        ),
        (
            "SVC__CREDIT__CAP_MICRO_USD",
            "9223372036854775808",
            "credit.cap_micro_usd: expected at most 9223372036854775807",
        ),
    ] {
        assert_refused(USABLE, &[(name, value)], &[says]);
    }
}

#[test]
fn an_environment_that_is_not_text_is_no_reason_to_panic() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    std::fs::write(&path, USABLE).unwrap();
    for (name, expected) in [("LC_SOMETHING", 0), ("SVC__SERVER__LISTEN", 2)] {
        let mut command = program(env!("CARGO_BIN_EXE_api-server"), &[]);
        command.args(["check-config", "--config", path.to_str().unwrap()]);
        let output = run(command.env(name, OsStr::from_bytes(b"\xff")));
        assert_eq!(output.code, expected, "{}", output.stderr);
    }
}
