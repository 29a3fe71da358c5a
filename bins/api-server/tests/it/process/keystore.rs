//! Tests of the gas key in an encrypted file, and of gas accounts whose signer is a Web3Signer
//! instance or the program itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dev_chain::{DevChain, GAS_PAYER};
use tempfile::TempDir;
use test_support::private_file;

use crate::process::config::{PAYEE, assert_refused, run_on};
use crate::process::online;

const FILE: &str = include_str!("../../../../../fixtures/keystores/cast.json");
const PASSWORD: &str = "correct horse";
const ONCHAIN: &str = "settlement.mode = 'onchain'\nsettlement.rpc_url = 'http://127.0.0.1:9'\n";

/// A key file of some mode, a private file with its password, and the configuration lines that name them.
struct Files {
    _folder: TempDir,
    key: PathBuf,
    lines: String,
}

fn files(mode: u32, password: &str) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let [key, secret] = ["gas.json", "gas.password"].map(|name| folder.path().join(name));
    private_file(&key, FILE);
    fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    private_file(&secret, format!("{password}\n"));
    let line = |name: &str, path: &Path| format!("settlement.{name} = '{}'\n", path.display());
    let lines = line("keystore_file", &key) + &line("keystore_password_file", &secret);
    Files {
        _folder: folder,
        key,
        lines,
    }
}

#[test]
fn the_account_of_the_file_pays_the_gas() {
    let files = files(0o600, PASSWORD);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let account = GAS_PAYER.address;
    fs::write(
        &path,
        format!(
            "{PAYEE}{ONCHAIN}{}settlement.gas_account = '{account}'",
            files.lines
        ),
    )
    .unwrap();
    let output = run_on("check-config", &path, &[]);
    let stdout = &output.ok().stdout;
    assert!(
        stdout.contains(&format!("gas account  {account}")),
        "{stdout}"
    );
}

#[test]
fn errors_of_the_file_do_not_show_the_password() {
    let usual = format!("{PAYEE}{ONCHAIN}");
    let wrong = files(0o600, "another horse");
    let refused =
        |lines: &str, says: &str| assert_refused(&format!("{usual}{lines}"), &[], &[says]);
    refused(&wrong.lines, "settlement.keystore_file: wrong password");
    let open = files(0o644, PASSWORD);
    refused(
        &open.lines,
        "settlement.keystore_file: the key file has mode 644, expected 600",
    );
    let right = files(0o600, PASSWORD);
    let alone = format!("settlement.keystore_file = '{}'\n", right.key.display());
    refused(
        &alone,
        "settlement.keystore_file: its password is missing: set SVC__SETTLEMENT__KEYSTORE_PASSWORD",
    );
    let key = GAS_PAYER.key.to_string();
    assert_refused(
        &format!("{usual}{}", right.lines),
        &[("SVC__SETTLEMENT__PRIVATE_KEY", &key)],
        &["settlement.keystore_file: settlement.private_key is another key"],
    );
    let other = "settlement.gas_account = '0x000000000000000000000000000000000000bEEF'\n";
    let says = format!("settlement.gas_account: expected {}", GAS_PAYER.address);
    refused(&format!("{}{other}", right.lines), &says);
}

/// `api-server` itself cannot sign for an account without a key. Another program must bring the
/// signer.
#[test]
fn an_account_alone_is_served_by_a_program_that_brings_its_signer() {
    let line = "settlement.gas_account = '0x000000000000000000000000000000000000bEEF'\n";
    assert_refused(
        &format!("{PAYEE}{ONCHAIN}{line}"),
        &[],
        &[
            "settlement.gas_account: this program has no signer for 0x000000000000000000000000000000000000bEEF",
            "settlement.keystore_file",
        ],
    );
}

/// The instance has the key of the account, and this check does not ask it yet. The configuration
/// may have no other key beside it, and no message shows the URL.
#[test]
fn an_instance_of_web3signer_has_an_account_and_is_alone() {
    const MARKER: &str = "5ec2e7d00dfeed";
    let usual =
        format!("{PAYEE}{ONCHAIN}settlement.web3signer_url = 'http://127.0.0.1:9/{MARKER}'\n");
    let account = format!("settlement.gas_account = '{}'\n", GAS_PAYER.address);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    fs::write(&path, format!("{usual}{account}")).unwrap();
    let output = run_on("check-config", &path, &[]);
    let stdout = &output.ok().stdout;
    assert!(
        stdout.contains(&format!("gas account  {}", GAS_PAYER.address)),
        "{stdout}"
    );
    assert!(!stdout.contains(MARKER), "{stdout}");

    assert_refused(
        &usual,
        &[],
        &["settlement.gas_account: is missing: settlement.web3signer_url signs for this account"],
    );
    let key = GAS_PAYER.key.to_string();
    assert_refused(
        &format!("{usual}{account}"),
        &[("SVC__SETTLEMENT__PRIVATE_KEY", &key)],
        &["settlement.web3signer_url: a key is set as well, but only one key pays the gas"],
    );
    let wrong =
        format!("{PAYEE}{ONCHAIN}{account}settlement.web3signer_url = 'unix:///{MARKER}'\n");
    assert_refused(&wrong, &[], &["settlement.web3signer_url: "]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_serves_online_too() {
    let chain = DevChain::with_chain_196_assets().unwrap();
    chain.mine();
    let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let files = files(0o600, PASSWORD);
    let (lines, exit) = online::check(&format!(
        "settlement.mode = 'onchain'\nsettlement.rpc_url = '{}'\n{}",
        rpc.url(),
        files.lines
    ))
    .await;
    let last = lines.last().unwrap();
    assert!(
        last.starts_with("settlement.private_key: ok: settles exact;"),
        "{last}"
    );
    assert_eq!(exit, 0, "{lines:#?}");
}

/// An instance with another key would delay every settlement, and only the first settlement would
/// show it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_of_web3signer_is_asked_online_for_its_accounts() {
    let chain = DevChain::with_chain_196_assets().unwrap();
    chain.mine();
    let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let own = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":["{:#x}"]}}"#,
        GAS_PAYER.address
    );
    let other =
        r#"{"jsonrpc":"2.0","id":1,"result":["0x00000000000000000000000000000000000000aa"]}"#;
    let refused = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"message":"{}"}}}}"#,
        online::MARKER
    );
    for (answer, expected, code) in [
        (own, format!("ok: signs for {}", GAS_PAYER.address), 0),
        (
            other.to_owned(),
            format!(
                "contradicts: expected the key of {}, observed 1 other accounts",
                GAS_PAYER.address
            ),
            2,
        ),
        (refused, "not reached: signer_refused".to_owned(), 1),
        (
            "<html>".to_owned(),
            "not reached: signer_unavailable".to_owned(),
            1,
        ),
    ] {
        let instance = online::saying(answer).await;
        let (lines, exit) = online::check(&format!(
            "settlement.mode = 'onchain'\nsettlement.rpc_url = '{}'\nsettlement.gas_account = '{}'\n\
             settlement.web3signer_url = '{instance}'\n",
            rpc.url(),
            GAS_PAYER.address
        ))
        .await;
        assert_eq!(
            lines.last(),
            Some(&format!("settlement.web3signer_url: {expected}")),
            "{lines:#?}"
        );
        assert_eq!(exit, code, "{lines:#?}");
    }
}
