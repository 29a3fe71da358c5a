//! Tests of the network verbs of `fence-cli` against the real server.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_signer_local::PrivateKeySigner;
use api_server::config::DelegationSection;
use clap::Parser;
use delegation_fence::onchain::Level;
use delegation_fence::{Grant, Revocation, RevocationReceipt, verify_log};
use fence_offline::{CommandOutcome, Exit, Failure};
use fence_online::{
    Confirm, RevokeNow, Status, SubmitGrant, confirm, revoke_now, status, submit_grant,
};

use crate::delegation::after_the_shared_seconds;
use crate::delegation::onchain::{Node, account, delegated_grant, file};
use crate::delegation::sample::{ACCOUNT, NOW};
use crate::delegation::served::Served;
use crate::delegation::stage::{GRANT_ID, fence_policy, grant, owner, revocation, sign};
use crate::delegation::world::Clock;

/// A key file of `cast wallet import`.
const KEY_FILE: &str = include_str!("../../../../../fixtures/keystores/cast.json");
const PASSWORD: &str = "correct horse";
const KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

#[derive(Parser)]
enum Command {
    Submit(SubmitGrant),
    Revoke(RevokeNow),
    Confirm(Confirm),
    Status(Status),
}

fn run(arguments: &[String]) -> Result<CommandOutcome, Failure> {
    let arguments = std::iter::once("fence-cli".to_owned()).chain(arguments.iter().cloned());
    match Command::try_parse_from(arguments).unwrap() {
        Command::Submit(arguments) => submit_grant(&arguments),
        Command::Revoke(arguments) => revoke_now(&arguments),
        Command::Confirm(arguments) => confirm(&arguments),
        Command::Status(arguments) => status(&arguments),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_is_given_seen_and_ended_from_the_command_line() {
    let wall = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let clock = Clock::new();
    clock.pass(wall - NOW);
    let served = Served::with(DelegationSection::default(), clock).await;
    let owner: PrivateKeySigner = KEY.parse().unwrap();
    *served.custody.owner.lock().unwrap() = owner.address();

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let message = Grant {
        issued_at: wall - 10,
        not_before: wall - 10,
        expires_at: wall + 86_400,
        ..grant(GRANT_ID)
    };
    let signed = sign(message, &owner).to_json();
    fs::write(file("grant.json"), &signed).unwrap();
    fs::write(file("policy.json"), fence_policy(1).canonical()).unwrap();
    fs::write(file("password"), PASSWORD).unwrap();
    fs::write(file("key.json"), KEY_FILE).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    for name in ["key.json", "password"] {
        fs::set_permissions(file(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    let url = format!("http://{}", served.address);
    let of = Arc::new(move |words: &str, files: &[(&str, PathBuf)]| {
        let mut arguments: Vec<String> = words.split(' ').map(str::to_owned).collect();
        for (option, path) in files {
            arguments.extend([(*option).to_owned(), path.display().to_string()]);
        }
        arguments.extend(["--url".to_owned(), url.clone()]);
        arguments
    });
    let asked = async |words: &str, files: &[(&str, PathBuf)]| {
        let arguments = of(words, files);
        let ended = tokio::task::spawn_blocking(move || run(&arguments));
        ended
            .await
            .unwrap()
            .map_err(|failure| format!("{failure:?}"))
            .unwrap()
    };

    let said = asked("submit", &[("--in", file("grant.json"))]).await;
    let expected = format!("the service has the grant {GRANT_ID}: active, until ");
    assert!(said.stdout.starts_with(&expected), "{}", said.stdout);
    let files = [
        ("--policy-file", file("policy.json")),
        ("--grant", file("grant.json")),
    ];
    let said = asked("status", &files).await;
    assert!(
        said.stdout.ends_with("the grant reads back as active\n"),
        "{}",
        said.stdout
    );

    let said = asked("confirm --timeout 0", &[("--grant", file("grant.json"))]).await;
    assert_eq!(
        said.stdout,
        "the permission is NOT gone: the service reads it back as active\n"
    );
    assert_eq!(said.exit, Exit::Unconfirmed);
    let files = [
        ("--grant", file("grant.json")),
        ("--keystore", file("key.json")),
        ("--password-file", file("password")),
        ("--receipt", file("receipt.json")),
    ];
    let said = asked("revoke --yes", &files).await;
    assert_eq!(
        said.stdout,
        "the permission is gone: the service reads it back as revoked\n"
    );
    assert_eq!(said.exit, Exit::Ok);

    // The server's log has the receipt.
    let receipt = fs::read_to_string(file("receipt.json")).unwrap();
    let receipt = RevocationReceipt::parse(&receipt).unwrap();
    let log = served
        .get(&format!("/delegation/grants/{ACCOUNT}/{GRANT_ID}/log"))
        .await;
    receipt
        .require_in(&verify_log([log.text.as_str()]).unwrap())
        .unwrap();
    let refused = served.post("/delegation/grants", signed).await.error();
    assert_eq!(refused, (403, "grant_revoked".to_owned()));
}

/// The holder names no endpoint of its own, so the service's statement counts. The permission has
/// ended only when a sealed block shows that every delegation is disabled.
#[tokio::test]
async fn the_end_for_an_own_account_waits_for_the_chain() {
    let node = Node::new(Level::Stock);
    let served = Served::delegated(&node).await;
    let own = file(delegated_grant(GRANT_ID), Level::Stock);
    let granted = served.post("/delegation/grants", own.to_json()).await;
    granted.ok(201);
    let message = Revocation {
        account: account(),
        ..revocation(GRANT_ID, NOW).message().clone()
    };
    let revoked = sign(message, &owner()).to_json();
    served
        .post("/delegation/revocations", revoked)
        .await
        .ok(200);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grant.json");
    fs::write(&path, own.to_json()).unwrap();
    let confirmed = async || {
        let url = format!("http://{}", served.address);
        let words = ["confirm", "--timeout", "0", "--url", &url, "--grant"];
        let mut arguments: Vec<String> = words.map(str::to_owned).into();
        arguments.push(path.display().to_string());
        let ended = tokio::task::spawn_blocking(move || run(&arguments));
        let ended = ended.await.unwrap();
        ended.map_err(|failure| format!("{failure:?}")).unwrap()
    };
    let mut hashes = own
        .delegations
        .iter()
        .map(|signed| signed.delegation.hash());
    for _ in 0..2 {
        let said = confirmed().await;
        assert_eq!(said.exit, Exit::Unconfirmed);
        let shown = format!("send this from {}: ", account());
        assert!(said.stdout.contains(&shown), "{}", said.stdout);
        assert!(said.stdout.contains("0x49934047"), "{}", said.stdout);
        let next = hashes.next().unwrap();
        node.change(|said| said.disabled.push(next));
        after_the_shared_seconds().await;
    }
    let said = confirmed().await;
    let gone = "the permission is gone: revoked at the service, and its delegations are disabled in a sealed block, by the service's word";
    assert!(said.stdout.starts_with(gone), "{}", said.stdout);
    assert_eq!(said.exit, Exit::Ok);
}
