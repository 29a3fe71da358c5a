//! Tests of `api-server wallets`, with which an operator manages the keys of sub-wallets.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, Bytes, address, b256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use custody::{
    Custody as _, ExportRequest, LocalCustody, Owner, SqliteWalletRecords, WalletRecords as _,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::process::Ended;

use crate::process::config::PAYEE;
use crate::process::online;
use crate::process::server::run;

const OWNER: Owner = Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
const SECRET: &str = "5ec2e7d00dfeed under which they are";
const NEW: &str = "5ec2e7d00dfeed under which they come";

/// A folder with a configuration and the secrets.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        test_support::private_file(path("secret"), SECRET);
        test_support::private_file(path("new-secret"), NEW);
        let file = format!(
            "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\nstorage.url = 'sqlite://{}'\n\
             settlement.rpc_url = 'http://127.0.0.1:9'\n\
             [custody]\nprovider = 'local'\ndirectory = '{}'\nsecret_file = '{}'\n",
            path("service.db").display(),
            path("wallets").display(),
            path("secret").display()
        );
        std::fs::write(path("api.toml"), file).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// Records the owner's wallet beside the ledger, as a server does when it makes one.
    async fn record(&self, wallet: Address) {
        let file = self.folder.path().join("service.custody.db");
        let records = SqliteWalletRecords::open(file).unwrap();
        let recorded = records.finish(OWNER, wallet, 1).await;
        assert_eq!(recorded.unwrap(), wallet);
    }

    /// Runs the command. Returns its exit code, standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let config = self.path("api.toml");
        let config = ["--config", &config];
        let arguments = [&["wallets"], arguments, &config].concat();
        let Ended {
            code,
            stdout,
            stderr,
        } = run(&arguments, &[]);
        assert!(!stderr.contains("panicked"), "{stderr}");
        for secret in [SECRET, NEW] {
            assert!(!format!("{stdout}{stderr}").contains(secret));
        }
        (code, stdout, stderr)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallets_are_listed_checked_and_written_under_another_secret() {
    let desk = Desk::new();
    // No command creates a missing folder, because a volume may not be mounted.
    let (code, _, stderr) = desk.run(&["list"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("custody.directory: there is no folder at "),
        "{stderr}"
    );

    let folder = desk.folder.path().join("wallets");
    let custody = LocalCustody::open_weakly_stretched(&folder, SECRET.into()).unwrap();
    assert_eq!(desk.run(&["list"]).1.trim(), "no sub-wallet");
    let wallet = custody.get_or_create(OWNER).await.unwrap();
    let address = wallet.address.to_string();

    // A file that is not recorded is no wallet.
    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, 1, "{stdout}");
    let named = format!("{OWNER}: wallet_file_unknown: the wallet's file eip155-196-0x7099");
    assert!(stdout.contains(&named), "{stdout}");
    assert_eq!(desk.run(&["list"]).1.trim(), "no sub-wallet");
    desk.record(wallet.address).await;

    let (code, stdout, _) = desk.run(&["list"]);
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with(&format!("{OWNER}  {address}  20")),
        "{stdout}"
    );
    let (_, stdout, _) = desk.run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(listed[0]["owner"], OWNER.to_string());
    assert_eq!(listed[0]["address"], address);
    assert_eq!(listed[0]["created_at"], wallet.created_at.unwrap());

    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, 0, "{stdout}");
    assert_eq!(
        stdout.trim(),
        format!("{OWNER}: ok: {address}\n1 wallet, 0 cannot be opened")
    );

    let (to, new) = (desk.path("rotated"), desk.path("new-secret"));
    let same = desk.path("wallets");
    let (code, _, stderr) = desk.run(&["rotate", "--to", &same, "--secret-file", &new]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--to: expected another folder"), "{stderr}");
    let missing = desk.path("nothing");
    let (code, _, stderr) = desk.run(&["rotate", "--to", &to, "--secret-file", &missing]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--secret-file: cannot read "), "{stderr}");

    // While a server has the folder open, the commands write nothing. Here `custody` takes the
    // place of a server.
    let rotate = ["rotate", "--to", &to, "--secret-file", &new];
    let (code, _, stderr) = desk.run(&rotate);
    assert_eq!(code, 2);
    assert!(stderr.contains("(custody_folder_in_use)"), "{stderr}");
    assert!(!std::path::Path::new(&to).exists());
    drop(custody);
    let (code, stdout, stderr) = desk.run(&rotate);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("1 wallet written to "), "{stdout}");
    let rotated = LocalCustody::open(to.as_ref(), NEW.into()).unwrap();
    assert_eq!(rotated.find(OWNER).await.unwrap(), Some(wallet));

    // The list has a line for a wallet that cannot be opened, and the exit code shows it.
    let file = folder.join(format!("eip155-196-{:#x}.json", OWNER.address()));
    std::fs::write(&file, "{}").unwrap();
    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, 1);
    let named = format!("{OWNER}: wallet_file_altered: the wallet's file eip155-196-0x7099");
    assert!(stdout.contains(&named), "{stdout}");
    assert!(
        stdout.trim().ends_with("1 wallet, 1 cannot be opened"),
        "{stdout}"
    );

    // A folder that has lost its wallets is no new folder: no command and no server accepts it, and
    // none writes into it.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let rotate = ["rotate", "--to", &to, "--secret-file", &new];
    for verb in [&["list"][..], &["check"], &rotate] {
        let (code, _, stderr) = desk.run(verb);
        assert_eq!(code, 2);
        assert!(stderr.contains("(wallet_folder_empty)"), "{stderr}");
    }
    let config = desk.path("api.toml");
    let listen = [("SVC__SERVER__LISTEN", "127.0.0.1:0")];
    let output = run(&["serve", "--config", &config], &listen);
    output.error(
        2,
        &["custody: the folder of the wallets is empty, and 1 of its wallets are recorded"],
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// A key file of the old form, its password, and the account of its key.
const OLD: &str = include_str!("../../../../../fixtures/keystores/cast.json");
const OLD_SECRET: &str = "correct horse";
const OLD_ADDRESS: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_taken_over_only_after_they_were_shown() {
    let desk = Desk::new();
    test_support::private_file(desk.path("old-secret"), OLD_SECRET);
    let folder = desk.folder.path().join("wallets");
    let custody = LocalCustody::open_weakly_stretched(&folder, SECRET.into()).unwrap();
    let name = format!("eip155-196-{:#x}.json", OWNER.address());
    let file = desk.path(&name);
    std::fs::write(&file, OLD).unwrap();
    let old_secret = desk.path("old-secret");
    let adopt = ["adopt", &file, "--secret-file", &old_secret];

    // Not while a server has the folder open, and not without a readable file or the right secret.
    let (code, _, stderr) = desk.run(&adopt);
    assert_eq!(code, 2);
    assert!(stderr.contains("(custody_folder_in_use)"), "{stderr}");
    drop(custody);
    let (code, _, stderr) = desk.run(&["adopt", &desk.path("nothing.json")]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot read the wallet "), "{stderr}");
    let (code, _, stderr) = desk.run(&["adopt", &file]);
    assert_eq!(code, 2);
    assert!(stderr.contains("(wallet_file_altered)"), "{stderr}");

    // Nobody answers the question.
    let (code, stdout, _) = desk.run(&adopt);
    assert_eq!(code, 1);
    let shown = format!(
        "{name}: wallet {OLD_ADDRESS} of {OWNER}: has no file yet; the old form proves no owner"
    );
    assert!(stdout.starts_with(&shown), "{stdout}");
    assert!(
        stdout.contains("not confirmed: nothing was changed"),
        "{stdout}"
    );
    assert_eq!(desk.run(&["list"]).1.trim(), "no sub-wallet");

    let confirmed = [&adopt[..], &["--yes"]].concat();
    let (code, stdout, stderr) = desk.run(&confirmed);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with(&shown), "{stdout}");
    assert!(stdout.trim().ends_with("1 wallet taken over"), "{stdout}");
    let (code, stdout, _) = desk.run(&["check"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(
        stdout.contains(&format!("{OWNER}: ok: {OLD_ADDRESS}")),
        "{stdout}"
    );
    let (code, stdout, _) = desk.run(&confirmed);
    assert_eq!(code, 0);
    assert!(stdout.contains("is there already, and stays"), "{stdout}");
}

/// While `wallets rotate` has the folder for itself, no server starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_server_starts_while_the_wallets_are_written_anew() {
    let desk = Desk::new();
    let folder = desk.folder.path().join("wallets");
    let rotating = LocalCustody::open_alone(&folder, SECRET.into()).unwrap();
    let config = desk.path("api.toml");
    let ledger = format!("sqlite://{}", desk.path("service.db"));
    let variables = [
        ("SVC__STORAGE__URL", ledger.as_str()),
        ("SVC__SERVER__LISTEN", "127.0.0.1:0"),
    ];
    let output = run(&["serve", "--config", &config], &variables);
    output.error(2, &["the folder of the wallets is in use"]);
    for verb in ["list", "check"] {
        let (code, _, stderr) = desk.run(&[verb]);
        assert_eq!(code, 2);
        assert!(stderr.contains("(custody_folder_in_use)"), "{stderr}");
    }
    drop(rotating);
    assert_eq!(desk.run(&["list"]).0, 0);
}

/// The key of `OWNER`: account 1 of the development phrase.
const OWNER_KEY: B256 = b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");

/// The request of the wallet's owner, with the brand of the configuration.
fn request(wallet: Address, public_key: B256, issued_at: u64) -> Value {
    let mut request = ExportRequest {
        owner: OWNER,
        wallet,
        public_key,
        issued_at,
        signature: Bytes::new(),
    };
    let key = PrivateKeySigner::from_bytes(&OWNER_KEY).unwrap();
    let digest = request.digest("example");
    request.signature = key
        .sign_hash_sync(&digest)
        .unwrap()
        .as_bytes()
        .to_vec()
        .into();
    json!({
        "owner": OWNER.to_string(), "wallet": wallet, "public_key": public_key,
        "issued_at": issued_at, "signature": request.signature,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_is_exported_to_its_owner_once_and_for_good() {
    let desk = Desk::new();
    let config = std::fs::read_to_string(desk.path("api.toml")).unwrap();
    std::fs::write(
        desk.path("api.toml"),
        format!("server.brand = 'example'\n{config}"),
    )
    .unwrap();
    let folder = desk.folder.path().join("wallets");
    // A running server has the folder open.
    let custody = LocalCustody::open_weakly_stretched(&folder, SECRET.into()).unwrap();
    let wallet = custody.get_or_create(OWNER).await.unwrap();
    desk.record(wallet.address).await;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let key = b256!("7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13");
    let put = |name: &str, request: &Value| {
        std::fs::write(desk.path(name), request.to_string()).unwrap();
        desk.path(name)
    };
    let (out, other) = (desk.path("export.json"), desk.path("other.json"));
    let export =
        |request: &str, out: &str| desk.run(&["export", "--request", request, "--out", out]);
    let marks = || {
        std::fs::read_dir(&folder)
            .unwrap()
            .filter(|file| {
                file.as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .starts_with("exported-")
            })
            .count()
    };

    // A refused request marks nothing and writes nothing: another signer, an old request, an
    // unwritable file.
    let mut forged = request(wallet.address, key, now);
    forged["public_key"] = json!(B256::repeat_byte(1));
    let old = request(wallet.address, key, now - 30 * 86_400);
    let good = request(wallet.address, key, now);
    for (request, out, says) in [
        (&forged, &out, "(wallet_export_other_signer)"),
        (&old, &out, "(wallet_export_expired)"),
        (
            &json!({"owner": "alice"}),
            &out,
            "(wallet_export_malformed)",
        ),
        (&good, &desk.path("no/such/folder"), "--out: cannot write "),
        (&good, &desk.path("secret"), "exists and has other content"),
    ] {
        let (code, stdout, stderr) = export(&put("request.json", request), out);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(says), "{says}: {stderr}");
        assert_eq!(
            (marks(), std::path::Path::new(out).exists()),
            (0, out.ends_with("secret"))
        );
    }
    let (code, _, stderr) = export(&desk.path("none"), &out);
    assert_eq!(code, 2);
    assert!(stderr.contains("--request: cannot read "), "{stderr}");

    let file = put("request.json", &good);
    let (code, stdout, stderr) = export(&file, &out);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("this service never signs with the wallet again"),
        "{stdout}"
    );
    assert_eq!(marks(), 1);
    let document = std::fs::read_to_string(&out).unwrap();
    let written: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(written["format"], "wallet-export-2");
    assert_eq!(written["wallet"], json!(wallet.address));

    // The same request again, with the same file or another one, gives the same bytes.
    for out in [&out, &other] {
        assert_eq!(export(&file, out).0, 0);
        assert_eq!(std::fs::read_to_string(out).unwrap(), document);
    }
    assert!(custody.find(OWNER).await.unwrap().unwrap().exported);
    let (_, stdout, _) = desk.run(&["list"]);
    assert!(stdout.contains("  exported 20"), "{stdout}");
    let (_, stdout, _) = desk.run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert!(listed[0]["exported_at"].as_u64().unwrap() >= now);
}

#[test]
fn verbs_of_keys_that_are_at_turnkey_say_what_to_do_there() {
    let desk = Desk::new();
    let file = format!(
        "{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\n\
         settlement.rpc_url = 'http://127.0.0.1:9'\n\
         [custody]\nprovider = 'turnkey'\norganization_id = '0a1b2c3d-0000-4000-8000-000000000001'\n\
         api_public_key = '0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d'\n\
         api_private_key_file = '{}'\n",
        desk.path("turnkey")
    );
    test_support::private_file(desk.path("turnkey"), "33".repeat(32));
    std::fs::write(desk.path("api.toml"), file).unwrap();
    for (arguments, says) in [
        (&["list"][..], "dashboard"),
        (&["check"], "check-config --online"),
        (
            &["rotate", "--to", "x", "--secret-file", "y"],
            "API keys are exchanged at Turnkey",
        ),
        (
            &["export", "--request", "x", "--out", "y"],
            "EXPORT_PRIVATE_KEY",
        ),
    ] {
        let (code, _, stderr) = desk.run(arguments);
        assert_eq!(code, 2);
        assert!(stderr.contains(says), "{stderr}");
        assert!(!stderr.contains("3333"), "{stderr}");
    }
}

#[test]
fn without_custody_there_are_no_wallets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let file = format!("{PAYEE}settlement.facilitator_url = 'http://127.0.0.1:9'\n");
    std::fs::write(&path, file).unwrap();
    let output = run(
        &["wallets", "list", "--config", path.to_str().unwrap()],
        &[],
    );
    output.error(2, &["custody: is missing"]);
}

/// Without this check, only the first payer would find out that Turnkey does not know the key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turnkey_is_asked_online_for_our_identity() {
    const ORGANIZATION: &str = "0a1b2c3d-0000-4000-8000-000000000001";
    let identity = |organization: &str| {
        json!({
            "organizationId": organization, "organizationName": "Acme",
            "userId": "0a1b2c3d-0000-4000-8000-000000000002", "username": "svc",
        })
        .to_string()
    };
    let other = "0a1b2c3d-0000-4000-8000-00000000000f";
    let chain = dev_chain::DevChain::with_chain_196_assets().unwrap();
    for (answer, expected, code) in [
        (
            identity(ORGANIZATION),
            "ok: the API key is \"svc\" of \"Acme\"",
            0,
        ),
        (
            identity(other),
            "contradicts: expected 0a1b2c3d-0000-4000-8000-000000000001, observed",
            2,
        ),
        (
            "{}".to_owned(),
            "not reached: the custody provider was asked to say who we are",
            1,
        ),
        (
            "<html>".to_owned(),
            "not reached: the custody provider is unavailable",
            1,
        ),
    ] {
        let facilitator = online::saying(online::BOTH).await;
        let (_node, node) = online::node(&chain).await;
        let turnkey = online::saying(answer).await;
        let key = tempfile::NamedTempFile::new().unwrap();
        test_support::private_file(key.path(), "33".repeat(32));
        let (lines, exit) = online::check(&format!(
            "settlement.facilitator_url = '{facilitator}'\nsettlement.rpc_url = '{node}'\n[custody]\nprovider = 'turnkey'\nbase_url = '{turnkey}'\n\
             organization_id = '{ORGANIZATION}'\n\
             api_public_key = '0351a7580833898ea1b183cbd7350a4099078c6ef1c1e18e970cd7683035f25e7d'\n\
             api_private_key_file = '{}'\n",
            key.path().display()
        ))
        .await;
        let line = lines.last().unwrap();
        assert!(
            line.starts_with(&format!("custody.organization_id: {expected}")),
            "{line}"
        );
        assert_eq!(exit, code, "{lines:#?}");
    }
}
