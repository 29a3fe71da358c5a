//! Tests of `[delegation]` as operators use it: the real binary with a pinned policy.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::config::{PAYEE, run_on};
use crate::process::server::{Server, start_server};

const POLICY: &str = include_str!("../../../../../docs/fence-policy.example.json");
const FEES: &str = include_str!("../../../../../docs/fees.example.toml");
const SALT: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";

/// The example of a fee configuration with a recipient.
fn fees() -> String {
    FEES.replace(
        "0xYOUR_OWN_ADDRESS",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    )
}

/// A folder with a usable configuration and its files.
struct Configured {
    folder: TempDir,
    section: String,
}

impl Configured {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.json"), POLICY).unwrap();
        std::fs::write(folder.path().join("fees.toml"), fees()).unwrap();
        let digest = delegation_fence::Policy::parse(POLICY).unwrap().digest();
        let section = format!(
            "project_id = 'shop'\ninstance_salt = '{SALT}'\npolicy = 'policy.json'\npolicy_digest = '{digest}'\n"
        );
        Self { folder, section }
    }

    fn path(&self) -> PathBuf {
        let path = self.folder.path().join("api.toml");
        let database = self.folder.path().join("service.db");
        let file = format!(
            "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\nstorage.url = 'sqlite://{}'\n\
             server.listen = '127.0.0.1:0'\nserver.probe_hours = 0\nplans.fee_config = 'fees.toml'\n[delegation]\n{}",
            database.display(),
            self.section
        );
        std::fs::write(&path, file).unwrap();
        path
    }

    /// Asserts that neither command accepts the configuration, and that both name the reason.
    fn assert_refused(&self, says: &str) {
        for command in ["serve", "check-config"] {
            run_on(command, &self.path(), &[]).error(2, &[says]);
        }
    }
}

async fn get(server: &Server, path: &str) -> (u16, Value) {
    let answer = test_support::http_client()
        .get(server.url(path))
        .send()
        .await
        .unwrap();
    let status = answer.status().as_u16();
    (
        status,
        serde_json::from_str(&answer.text().await.unwrap()).unwrap(),
    )
}

#[tokio::test]
async fn a_pinned_policy_is_served_and_outlives_a_restart() {
    let configured = Configured::new();
    let checked = run_on("check-config", &configured.path(), &[]);
    let said = checked.stdout;
    assert!(
        said.contains("  fence        svc-base-swap-fence.v2 0x"),
        "{said}"
    );
    let policy = delegation_fence::Policy::parse(POLICY).unwrap();
    for _ in 0..2 {
        let server = start_server(&configured.path(), &[]).await;
        let (status, record) = get(&server, "/delegation/status").await;
        assert_eq!((status, &record["present"]), (200, &Value::Bool(true)));
        assert_eq!(record["policy_name"], policy.name().to_string());
        assert_eq!(record["project_id"], "shop");
        let (_, document) = get(&server, "/delegation/policy").await;
        assert_eq!(document, serde_json::from_str::<Value>(POLICY).unwrap());
    }
    assert!(configured.folder.path().join("service.fence.db").exists());
    // Nobody has agreed to a changed document under the same name.
    let mut changed = configured;
    let edited = POLICY
        .replace("\"5000000000\"", "\"4000000000\"")
        .replace("\"5000\"", "\"4000\"");
    let digest = delegation_fence::Policy::parse(&edited).unwrap().digest();
    std::fs::write(changed.folder.path().join("policy.json"), &edited).unwrap();
    changed.section = changed
        .section
        .replace(&policy.digest().to_string(), &digest.to_string());
    run_on("serve", &changed.path(), &[])
        .error(2, &["delegation.policy: the policy svc-base-swap-fence.v2"]);
}

/// A policy under which a stolen delegate's key could choose the token, and one whose router nobody
/// has reviewed.
#[test]
fn a_policy_under_which_nothing_is_sent_is_refused_at_the_start() {
    let digest = |text: &str| delegation_fence::Policy::parse(text).unwrap().digest();
    let mut document: Value = serde_json::from_str(POLICY).unwrap();
    drop(document.as_object_mut().unwrap().remove("output_tokens"));
    let unlisted = document.to_string();
    let router = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE";
    let unreviewed = POLICY.replace(router, "0x74a55CaDb12501A3707E9F3C5dfd8b563C6A5940");
    for (text, says) in [
        (
            unlisted,
            "delegation.policy: policy_without_output_tokens: ",
        ),
        (unreviewed, "delegation.policy: policy_router_unreviewed: "),
    ] {
        let mut configured = Configured::new();
        std::fs::write(configured.folder.path().join("policy.json"), &text).unwrap();
        let (pinned, changed) = (digest(POLICY).to_string(), digest(&text).to_string());
        configured.section = configured.section.replace(&pinned, &changed);
        configured.assert_refused(says);
    }
}

#[test]
fn an_unusable_value_is_named() {
    let digest = delegation_fence::Policy::parse(POLICY)
        .unwrap()
        .digest()
        .to_string();
    for (from, to, says) in [
        (
            digest.as_str(),
            SALT,
            "delegation.policy_digest: expected the digest of",
        ),
        (
            "'policy.json'",
            "'none.json'",
            "delegation.policy: cannot read",
        ),
        ("'policy.json'", "'fees.toml'", "delegation.policy: "),
        (
            "project_id = 'shop'\n",
            "",
            "delegation.project_id: expected the project's public id",
        ),
        (
            SALT,
            "0x11",
            "delegation.instance_salt: expected 0x and 64 hexadecimal digits",
        ),
        (
            "policy = 'policy.json'\n",
            "",
            "delegation.policy: is missing",
        ),
        (
            "project_id",
            "min_order_usd = -1\nproject_id",
            "delegation.min_order_usd: ",
        ),
        (
            "project_id",
            "gas_budget_usd = 0.01\nproject_id",
            "delegation.gas_budget_usd: expected at least gas_estimate_usd",
        ),
        (
            "project_id",
            "gas_estimate_usd = 0\nproject_id",
            "delegation.gas_estimate_usd: expected more than 0",
        ),
        (
            "project_id",
            "posts_per_minute = 0\nproject_id",
            "delegation.posts_per_minute: expected at least 1",
        ),
        (
            "project_id",
            "strangers_revocations = 0\nproject_id",
            "delegation.strangers_revocations: expected at least 1",
        ),
        (
            "project_id",
            "redeemer_key = '0x01'\nproject_id",
            "delegation.redeemer_key: a secret does not belong in this file: set SVC__DELEGATION__REDEEMER_KEY",
        ),
        (
            "project_id",
            "redeemer_key_file = 'policy.json'\nproject_id",
            "delegation.redeemer_key_file: cannot read",
        ),
        (
            "project_id",
            "enforcer = '0xfe0ce00000000000000000000000000000000001'\nproject_id",
            "delegation.enforcer: has no effect without delegation.redeemer_key_file",
        ),
        (
            "project_id",
            "enforcer = '0xfe'\nproject_id",
            "delegation.enforcer: expected 0x and 40 hexadecimal digits",
        ),
        (
            "project_id",
            "enforcer = '0x0000000000000000000000000000000000000000'\nproject_id",
            "delegation.enforcer: expected the address of the enforcer, observed zero",
        ),
        (
            "project_id",
            "cap = 1\nproject_id",
            "delegation.cap: unknown field",
        ),
    ] {
        let mut configured = Configured::new();
        assert!(configured.section.contains(from), "{from}");
        configured.section = configured.section.replacen(from, to, 1);
        configured.assert_refused(says);
    }
    let other_fees = Configured::new();
    let fees = fees().replacen("version = \"", "version = \"other-", 1);
    std::fs::write(other_fees.folder.path().join("fees.toml"), fees).unwrap();
    other_fees.assert_refused("plans.fee_config: expected version");
}

/// The key of local test chains' account number 9.
const KEY: &str = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6";

#[test]
fn the_redeemer_and_its_enforcers_are_shown() {
    let node = "[chains.8453]\nrpc_urls = ['http://127.0.0.1:9']\n";
    let check = |configured: &Configured, environment: &[(&str, &str)]| {
        let output = run_on("check-config", &configured.path(), environment);
        (output.code, output.stdout + &output.stderr)
    };
    let variable = "SVC__DELEGATION__REDEEMER_KEY";
    let mut configured = Configured::new();
    let (code, said) = check(&configured, &[(variable, KEY)]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("chains.8453.rpc_urls: is missing: plans are sent on this chain"),
        "{said}"
    );
    configured.section += node;
    let stock = "  redeemer     0xa0Ee7A142d267C1f36714E4a8F75612F20a79720, held by the framework's own enforcers";
    let (code, said) = check(&configured, &[(variable, KEY)]);
    assert_eq!((code, said.contains(stock)), (0, true), "{said}");
    assert!(!said.contains(&KEY[2..]));
    let (code, said) = check(&configured, &[(variable, "0x01")]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("delegation.redeemer_key: expected a private key of 32 bytes"));
    let file = configured.folder.path().join("redeemer");
    test_support::private_file(&file, KEY);
    let lines = format!(
        "redeemer_key_file = '{}'\nenforcer = '0xfe0ce00000000000000000000000000000000001'\nproject_id",
        file.display()
    );
    configured.section = configured.section.replacen("project_id", &lines, 1);
    let (code, said) = check(&configured, &[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("held by the enforcer at 0x"), "{said}");
    // The account that settles must not send anything else, because both would count its nonces.
    let own = [("SVC__SETTLEMENT__PRIVATE_KEY", KEY)];
    let (code, said) = check(&configured, &own);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("delegation.redeemer_key: is the key that settles payments"),
        "{said}"
    );
}
