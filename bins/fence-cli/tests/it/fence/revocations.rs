//! Tests of `revoke new`, `sign` and `attach`, which work offline.

use serde_json::json;
use test_support::process::Ended;

use crate::fence::desk::{ACCOUNT, Desk, GRANT_ID, PROJECT, Refused as _, SALT};

fn new(desk: &Desk, more: &str) -> Ended {
    desk.run(&format!(
        "revoke new --account {ACCOUNT} --grant-id {GRANT_ID} --project-id {PROJECT} --salt {SALT} \
         --now 2026-11-22T01:00:00Z --out revocation.json --force {more}"
    ))
}

const SIGN: &str =
    "revoke sign --in revocation.json --keystore owner.key --password-file password --yes";

#[test]
fn a_revocation_is_written_and_signed() {
    let desk = Desk::new();
    let said = new(&desk, "");
    assert!(
        said.ok()
            .stderr
            .starts_with("The end of a permission, for ever\n"),
        "{said:?}"
    );
    // The message and the signature equal those of the vector.
    let vector = crate::fence::desk::vector("revocation");
    assert_eq!(desk.json("revocation.json"), vector["typed_data"]);
    let signed = desk.run(SIGN).ok().json();
    assert_eq!(
        signed,
        json!({"typed_data": vector["typed_data"], "signature": vector["signature"]})
    );
    let signature = vector["signature"].as_str().unwrap();
    let attached = desk.run(&format!(
        "revoke attach --in revocation.json --signature {signature} --owner {ACCOUNT}"
    ));
    assert_eq!(attached.ok().json(), signed);
}

#[test]
fn the_end_of_all_grants_is_named_as_such() {
    let desk = Desk::new();
    let zero = format!("0x{}", "0".repeat(64));
    let said = desk.run(&format!(
        "revoke new --account {ACCOUNT} --grant-id {zero} --project-id {PROJECT} --salt {SALT} --now 2026-11-22T01:00:00Z"
    ));
    let part = "ends              every grant that was issued at or before 2026-11-22T01:00:00Z";
    assert!(said.ok().stderr.contains(part), "{said:?}");
}

#[test]
fn the_signer_is_compared_or_shown() {
    let desk = Desk::new();
    new(&desk, "").ok();
    desk.run("key new --keystore other.key --password-file password")
        .ok();
    let other =
        "revoke sign --in revocation.json --keystore other.key --password-file password --yes";
    desk.run(&format!("{other} --owner {ACCOUNT}"))
        .refused_by("wrong_signer");
    let said = desk.run(other);
    assert!(
        said.ok().stderr.contains("which is not the account"),
        "{said:?}"
    );
    let signature = desk.run(SIGN).json()["signature"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
    desk.run(&format!(
        "revoke attach --in revocation.json --signature {signature} --owner {other}"
    ))
    .refused_by("wrong_signer");
}

#[test]
fn a_wrong_digit_in_an_address_is_found() {
    let desk = Desk::new();
    let wrong = ACCOUNT.replace("dc79C8", "dc79C9");
    let ended = desk.run(&format!(
        "revoke new --account {wrong} --grant-id {GRANT_ID}"
    ));
    ended.error(2, &["whose checksum (EIP-55) does not hold"]);
}
