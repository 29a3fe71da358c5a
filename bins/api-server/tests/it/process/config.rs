//! Tests of unusable configurations: the messages name every key and show no secret.

mod environment;

use std::path::Path;

use dev_chain::GAS_PAYER;
use test_support::process::Ended;

use crate::process::server::{Environment, run};

/// Stands for a secret, which must never be printed.
const MARKER: &str = "5ec2e7d00dfeed5ec2e7";

pub(crate) const PAYEE: &str = "payment.pay_to = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'\n";
const USABLE: &str = "payment.pay_to = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'\n\
                      settlement.facilitator_url = 'http://127.0.0.1:9'\n";

/// Runs a command on a configuration file; no output may hold the marker or the gas payer's key.
pub(crate) fn run_on(command: &str, path: &Path, environment: Environment<'_>) -> Ended {
    let output = run(&[command, "--config", path.to_str().unwrap()], environment);
    let all = format!("{}{}", output.stdout, output.stderr);
    for secret in [MARKER, &format!("{:x}", GAS_PAYER.key)] {
        assert!(!all.contains(secret), "{command} prints a secret: {all}");
    }
    output
}

/// Asserts that neither `serve` nor `check-config` accepts a configuration, and that both name the
/// reasons.
pub(crate) fn assert_refused(file: &str, environment: Environment<'_>, says: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    std::fs::write(&path, file).unwrap();
    for command in ["serve", "check-config"] {
        let output = run_on(command, &path, environment);
        output.error(2, says);
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
}

#[test]
fn a_missing_key_is_named_with_its_reason() {
    assert_refused(
        "",
        &[],
        &[
            "payment.pay_to: is missing",
            "settlement.facilitator_url: is missing: settlement.mode",
        ],
    );
    assert_refused(PAYEE, &[], &["settlement.facilitator_url: is missing"]);
    assert_refused(
        &format!("{PAYEE}settlement.mode = 'okx'"),
        &[],
        &[
            "settlement.okx_api_key: is missing",
            "SVC__SETTLEMENT__OKX_SECRET_KEY or settlement.okx_secret_key_file",
            "settlement.okx_passphrase: is missing",
        ],
    );
    assert_refused(
        &format!("{PAYEE}settlement.mode = 'onchain'"),
        &[],
        &[
            "settlement.rpc_url: is missing",
            "settlement.private_key: is missing",
        ],
    );
}

/// Without a node, only a facilitator or broker could say who pays.
#[test]
fn custody_needs_a_node_of_the_payment_chain() {
    let custody = "[custody]\nprovider = 'local'\ndirectory = 'wallets'\nsecret_file = 'secret'\n";
    let says = ["settlement.rpc_url: is missing: [custody] needs a node of the payment chain"];
    assert_refused(&format!("{USABLE}{custody}"), &[], &says);
    let broker = format!("{PAYEE}settlement.mode = 'okx'\n{custody}");
    let keys = [
        ("SVC__SETTLEMENT__OKX_API_KEY", "a"),
        ("SVC__SETTLEMENT__OKX_SECRET_KEY", "b"),
        ("SVC__SETTLEMENT__OKX_PASSPHRASE", "c"),
    ];
    assert_refused(&broker, &keys, &says);
    for (line, says) in [
        (
            "max_wallets = 0",
            "custody.max_wallets: expected at least 1",
        ),
        (
            "new_wallets_per_hour = 0",
            "custody.new_wallets_per_hour: expected at least 1",
        ),
    ] {
        let node = "settlement.rpc_url = 'http://127.0.0.1:9'\n";
        assert_refused(&format!("{USABLE}{node}{custody}{line}\n"), &[], &[says]);
    }
}

#[test]
fn a_key_that_cannot_be_used_is_named() {
    for (line, says) in [
        ("payment.pay_too = '0x'", "payment.pay_too: unknown field"),
        ("paiment.pay_to = '0x'", "paiment: unknown field"),
        (
            "upstreams.okex.enabled = false",
            "upstreams.okex: unknown upstream",
        ),
        (
            "upstreams.okx.base = 'http://x'",
            "upstreams.okx.base: unknown field",
        ),
        (
            "upstreams.okx.enabled = 'perhaps'",
            "upstreams.okx.enabled: ",
        ),
        (
            "upstreams.okx.base_url = 'web3.okx.com'",
            "upstreams.okx.base_url: expected an http",
        ),
        ("server.listen = 'nowhere'", "server.listen: "),
        (
            "server.max_connections = 'many'",
            "server.max_connections: ",
        ),
        ("server.max_connections = -1", "server.max_connections: "),
        (
            "server.max_body_bytes = 0",
            "server.max_body_bytes: expected at least 1",
        ),
        (
            "server.max_header_bytes = 100",
            "server.max_header_bytes: expected at least 4096",
        ),
        (
            "server.public_url = 'ftp://x'",
            "server.public_url: expected an http",
        ),
        (
            "payment.max_timeout_seconds = 10",
            "payment.max_timeout_seconds: expected at least",
        ),
        (
            "payment.assets = []",
            "payment.assets: expected three assets, observed 0",
        ),
        (
            "settlement.mode = 'magic'",
            "settlement.mode: unknown variant",
        ),
        (
            "settlement.rpc_url = 'ws://127.0.0.1'",
            "settlement.rpc_url: expected an http",
        ),
        (
            "settlement.rpc_url = 'http://'",
            "settlement.rpc_url: expected an http",
        ),
        (
            "settlement.timeout_ms = 0",
            "settlement.timeout_ms: expected at least 1",
        ),
        (
            "settlement.timeout_ms = 40001",
            "settlement.timeout_ms: expected at most 40 s: payment.settle_budget_seconds",
        ),
        (
            "settlement.timeout_ms = 100001\npayment.settle_budget_seconds = 110",
            "settlement.timeout_ms: expected at most 100 s",
        ),
        (
            "settlement.gas_cap = 20000",
            "settlement.gas_cap: expected 60000 to 2000000 gas",
        ),
        (
            "settlement.contract_wallets = 'perhaps'",
            "settlement.contract_wallets: ",
        ),
        (
            "settlement.max_fee_gwei = 0",
            "settlement.max_fee_gwei: expected 1 to 100000 gwei",
        ),
        (
            "chains.196.confirmations = 65",
            "chains.196.confirmations: expected at most 64",
        ),
        (
            "chains.196.block_time_ms = 0",
            "chains.196.block_time_ms: expected 10 to 60000 ms",
        ),
        (
            "settlement.confirmations = 65",
            "settlement.confirmations: expected at most 64",
        ),
        (
            "settlement.reconcile_seconds = 0",
            "settlement.reconcile_seconds: expected",
        ),
        (
            "settlement.private_key_file = '/nowhere/key'",
            "settlement.private_key_file: cannot read",
        ),
        (
            "storage.url = 'mysql://x'",
            "storage.url: expected sqlite://",
        ),
        (
            "storage.answer_retention_seconds = 1",
            "storage.answer_retention_seconds: expected",
        ),
        (
            "storage.private_answer_seconds = 86401",
            "storage.private_answer_seconds: expected at most answer_retention_seconds",
        ),
        (
            "storage.payment_retention_days = 0",
            "storage.payment_retention_days: expected at least 1",
        ),
        (
            "credit.model_call_micro_usd = 1000001",
            "credit.pool_micro_usd: expected at least 1000001",
        ),
        (
            "credit.pool_refill_micro_usd_per_second = 0",
            "credit.pool_refill_micro_usd_per_second: expected at least 1",
        ),
        ("credit.pool = 1", "credit.pool: unknown field"),
        ("storage.max_bytes = 'much'", "storage.max_bytes: "),
        (
            "storage.artifact_max_bytes = 1000",
            "storage.artifact_max_bytes: expected",
        ),
        (
            "chains.abc.rpc_urls = []",
            "chains.abc: expected a chain id",
        ),
        (
            "chains.1.rpc_urls = ['x']",
            "chains.1.rpc_urls[0]: expected an http",
        ),
        (
            "settlement.rpc_url = 'http://node.example/5ec2e7'",
            "settlement.rpc_url: expected https://: plain http goes to this machine",
        ),
        (
            "settlement.okx_base_url = 'http://10.0.0.1'",
            "settlement.okx_base_url: expected https://",
        ),
        (
            "upstreams.lifi.base_url = 'http://li.quest/v1'",
            "upstreams.lifi.base_url: expected https://",
        ),
        (
            "chains.8453.rpc_urls = ['https://a.example', 'http://b.example']",
            "chains.8453.rpc_urls[1]: expected https://",
        ),
        (
            "storage.url = 'postgres://svc@db.example/payments'",
            "storage.url: the connection to db.example may be unencrypted: expected ?sslmode=require",
        ),
        (
            "outbound.allow_http_hosts = ['http://db']",
            "outbound.allow_http_hosts[0]: expected the name or the address of a host",
        ),
        ("outbound.allow = []", "outbound.allow: unknown field"),
        (
            "wallets.gas_topup_total_wei = 499999999999999",
            "wallets.gas_topup_total_wei: expected at least gas_topup_most_wei",
        ),
        ("log.format = 'xml'", "log.format: unknown variant"),
        ("log.filter = 'info=loud'", "log.filter: "),
        ("plans = 1", "plans: "),
    ] {
        assert_refused(&format!("{USABLE}{line}\n"), &[], &[says]);
    }
    let zero = PAYEE.replace("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", &"0".repeat(40));
    for (payee, says) in [
        (zero.as_str(), "payment.pay_to: the zero address"),
        (
            "payment.pay_to = '0x12'",
            "payment.pay_to: expected 0x and 40 hexadecimal digits",
        ),
        ("payment.pay_to = 5", "payment.pay_to: "),
    ] {
        let rest = "\nsettlement.facilitator_url = 'http://127.0.0.1:9'";
        assert_refused(&format!("{payee}{rest}"), &[], &[says]);
    }
    let url = "settlement.facilitator_url = 'ftp://x'";
    assert_refused(
        &format!("{PAYEE}{url}"),
        &[],
        &["settlement.facilitator_url: expected"],
    );
}

/// The names come from the file or from the environment.
#[test]
fn hosts_of_a_private_network_that_are_named_need_no_tls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let connections = "settlement.rpc_url = 'http://node.internal:8545/'\n\
                       storage.url = 'postgres://svc@db/payments'\n";
    let list = "outbound.allow_http_hosts = ['node.internal', 'db']\n";
    std::fs::write(&path, format!("{USABLE}{connections}{list}")).unwrap();
    run_on("check-config", &path, &[]).ok();
    std::fs::write(&path, format!("{USABLE}{connections}")).unwrap();
    let variable = "SVC__OUTBOUND__ALLOW_HTTP_HOSTS";
    run_on("check-config", &path, &[(variable, "node.internal,db")]).ok();
    let refused = run_on("check-config", &path, &[(variable, "node.internal")]);
    refused.error(2, &["storage.url: the connection to db may be unencrypted"]);
    // Nor does a connection to this machine.
    let here = "storage.url = 'postgres://svc@127.0.0.1/payments'\n";
    std::fs::write(&path, format!("{USABLE}{here}")).unwrap();
    run_on("check-config", &path, &[]).ok();
}

#[test]
fn every_unusable_value_is_named_at_once() {
    assert_refused(
        "server.max_body_bytes = 0\nsettlement.timeout_ms = 0\nstorage.url = 'x'\n",
        &[],
        &[
            "server.max_body_bytes",
            "settlement.timeout_ms",
            "storage.url",
            "payment.pay_to",
        ],
    );
}

#[test]
fn an_unreadable_or_malformed_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (path, says) in [
        (
            folder.path().join("none.toml"),
            "none.toml: entity not found",
        ),
        (folder.path().to_owned(), "is a directory"),
    ] {
        for command in ["serve", "check-config"] {
            let output = run_on(command, &path, &[]);
            output.error(2, &["cannot read the configuration", says]);
        }
    }
    assert_refused("[server\nlisten = 1", &[], &["is not TOML: line 1"]);
    assert_refused("\n\nserver.listen = = 1", &[], &["is not TOML: line 3"]);
}
