//! Tests of `grant new`, `sign`, `attach`, `inspect` and `verify`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::fence::desk::{
    ACCOUNT, DELEGATE, Desk, GRANT_ID, NOW, PROJECT, Refused as _, SALT, vector,
};

const OTHER: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

#[test]
fn a_grant_is_written_signed_and_judged() {
    let desk = Desk::new();
    let written = desk.new_grant("");
    assert_eq!(written.ok().stdout, "");
    let grant = desk.json("grant.json");
    assert_eq!(grant["primaryType"], "FenceGrant");
    assert_eq!(grant["message"]["perSwapCap"], "5000000000");
    assert_eq!(grant["message"]["accountKind"], "eoa7702");
    assert_eq!(grant["message"]["expiresAt"], "1802998800");
    let signed = desk.sign_grant("");
    assert_eq!(signed.ok().stdout, "");
    assert_eq!(desk.json("signed.json")["typed_data"], grant);
    for name in ["grant.json", "signed.json"] {
        let mode = desk.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let judged = desk.verify_grant(&format!("--now {NOW}"));
    let last = judged.ok().stdout.lines().last().unwrap().to_owned();
    assert_eq!(last, format!("verified: grant {GRANT_ID}"));
    let json = desk.verify_grant(&format!("--now {NOW} --json")).json();
    assert_eq!(json["verified"]["signer"], ACCOUNT);
    assert_eq!(json["verified"]["expires_at"], "2027-02-19T01:00:00Z");
}

/// The tool shows the terms before a signature: the amount at risk, the expiry, who may order, how
/// to end the grant, and the text that a device's screen shows.
#[test]
fn the_terms_are_shown_before_the_signature() {
    let desk = Desk::new();
    desk.new_grant("").ok();
    let signed = desk.sign_grant("");
    let hashes = desk.run("grant inspect --in grant.json --json").json()["hashes"].clone();
    let hash = |name: &str| hashes[name].as_str().unwrap().to_owned();
    for part in [
        "lost at most      5000 USDC in one swap, fees included",
        "in one day: everything of that token in the account. There is no daily and no total limit",
        "until             2027-02-19T01:00:00Z (90 days from its issue)",
        &format!("who may order     the holder of the key of {DELEGATE}"),
        "how to end it     fence-cli revoke now --grant FILE, at any time and for ever",
        &format!("domain hash       {}", hash("domain_hash")),
        &format!("message hash      {}", hash("message_hash")),
        &format!("digest            {}", hash("digest")),
        "this is the policy that this build of fence-cli pins",
    ] {
        assert!(signed.ok().stderr.contains(part), "{part}: {signed:?}");
    }
}

/// The tool makes the same signature as cast, viem, eth-account and alloy do.
#[test]
fn the_signature_of_the_vector_is_made_again() {
    let desk = Desk::new();
    let vector = vector("grant_eoa7702");
    desk.put("grant.json", &vector["typed_data"].to_string());
    let document = crate::fence::desk::vector("rules_document")["vector"]["document"].clone();
    desk.put("v3.json", &document.to_string());
    let signed = desk.sign_grant("--policy-file v3.json");
    let words = "NOT the policy that this build of fence-cli pins:";
    assert!(signed.ok().stderr.contains(words), "{signed:?}");
    assert_eq!(desk.json("signed.json")["signature"], vector["signature"]);
    let revocation = crate::fence::desk::vector("revocation");
    desk.put("revocation.json", &revocation["typed_data"].to_string());
    let ended = desk.run(
        "revoke sign --in revocation.json --keystore owner.key --password-file password --yes",
    );
    assert_eq!(ended.ok().json()["signature"], revocation["signature"]);
}

#[test]
fn a_wallets_signature_is_attached_if_it_is_the_right_keys() {
    let desk = Desk::with_signed_grant();
    let signature = desk.json("signed.json")["signature"]
        .as_str()
        .unwrap()
        .to_owned();
    let attach = |signature: &str| {
        desk.run(&format!(
            "grant attach --in grant.json --signature {signature}"
        ))
    };
    let attached = attach(&signature);
    assert_eq!(attached.ok().json(), desk.json("signed.json"));
    desk.new_grant("--cap 1").ok();
    attach(&signature).refused_by("wrong_signer");
    for (signature, code) in [
        ("0x12", "signature_length"),
        (&signature[..130], "signature_compact"),
        (
            format!("0x{}{}", "11".repeat(64), "01").as_str(),
            "signature_recovery_id",
        ),
        (
            format!("0x{}{}1b", "11".repeat(32), "ff".repeat(32)).as_str(),
            "signature_high_s",
        ),
        (
            format!("0x{}1b", "00".repeat(64)).as_str(),
            "signature_zero",
        ),
    ] {
        let ended = attach(signature);
        ended.refused_by(code);
        let repeated =
            signature.len() > 10 && ended.stderr.contains(signature.trim_start_matches("0x"));
        assert!(!repeated, "{ended:?}");
    }
}

#[test]
fn a_grant_that_the_service_would_refuse_is_not_signed() {
    let desk = Desk::new();
    for (more, code) in [
        ("--cap 5000.000001", "grant_cap_above_policy"),
        ("--cap 0", "grant_cap_zero"),
        ("--expires 181d", "grant_lifetime_too_long"),
        ("--expires 2026-11-21T01:00:00Z", "grant_window_empty"),
        ("--kind eoa", "account_kind_unsupported"),
        ("--kind safe", "account_kind_unsupported"),
        (format!("--owner {OTHER}").as_str(), "account_not_owned"),
    ] {
        desk.new_grant(more).refused_by(code);
    }
    assert!(!desk.path("grant.json").exists());
    for (more, part) in [
        ("--cap 1.0000001", "at most 6 decimals"),
        ("--cap 1e3", "at most 6 decimals"),
        ("--expires 90", "neither a span like 90d"),
        ("--kind multisig", "invalid value 'multisig'"),
    ] {
        desk.new_grant(more).error(2, &[part]);
    }
    desk.new_grant("--expires 180d --cap 4999.5").ok();
    assert_eq!(
        desk.json("grant.json")["message"]["perSwapCap"],
        "4999500000"
    );
    // `sign` refuses a grant that another program wrote with other rules.
    desk.edit("grant.json", |grant| {
        grant["message"]["expiresAt"] = json!("1899999999")
    });
    desk.sign_grant("").refused_by("grant_lifetime_too_long");
    desk.new_grant("").ok();
    desk.edit("grant.json", |grant| {
        grant["message"]["perSwapCap"] = json!("5000000001")
    });
    desk.sign_grant("").refused_by("grant_cap_above_policy");
    assert!(!desk.path("signed.json").exists());
}

#[test]
fn another_policy_than_the_pinned_one_is_not_signed_and_the_difference_is_shown() {
    let desk = Desk::new();
    desk.edit("policy.json", |policy| {
        policy["grant"]["max_days"] = json!(120)
    });
    desk.new_grant("").ok();
    let said = desk.sign_grant("");
    let said = said.refused_by("grant_policy_digest_mismatch");
    assert!(
        said.contains("the one that this build pins; nothing was signed"),
        "{said}"
    );
    // With the policy file named, the tool shows the difference and then signs.
    let said = desk.sign_grant("--policy-file policy.json");
    for part in ["NOT the policy", "$.grant.max_days: pinned 180, here 120"] {
        assert!(said.ok().stderr.contains(part), "{said:?}");
    }
    // A digest that the person pins counts against any file.
    let pinned = desk.run("policy digest").stdout;
    let said = desk.sign_grant(&format!(
        "--policy-file policy.json --policy-digest {}",
        pinned.trim()
    ));
    let said = said.refused_by("fence_digest_mismatch");
    assert!(
        said.contains("$.grant.max_days: pinned 180, here 120"),
        "{said}"
    );
    // The pinned policy was changed after the grant was written.
    desk.put("policy.json", &crate::fence::desk::pinned_policy());
    desk.new_grant("").ok();
    desk.edit("policy.json", |policy| {
        policy["grant"]["max_days"] = json!(120)
    });
    let said = desk.sign_grant("--policy-file policy.json");
    let said = said.refused_by("grant_policy_digest_mismatch");
    assert!(
        said.contains("$.grant.max_days: pinned 180, here 120"),
        "{said}"
    );
}

#[test]
fn a_grant_is_judged_by_every_rule_of_the_service() {
    let desk = Desk::with_signed_grant();
    let at = |more: &str| desk.verify_grant(more);
    at("--now 2026-11-21T00:58:59Z").refused_by("grant_issued_in_future");
    at("--now 2027-02-19T01:00:00Z").refused_by("grant_expired");
    let now = format!("--now {NOW}");
    at(&format!("{now} --valid-until 2027-02-19T01:00:00Z"))
        .refused_by("grant_expires_before_valid_until");
    at(&format!("{now} --valid-until 2027-02-19T00:59:59Z")).ok();
    at(&format!("{now} --kind sub_wallet")).refused_by("account_kind_mismatch");
    at(&format!("{now} --owner {OTHER}")).refused_by("account_not_owned");
    let with = |project: &str, salt: &str| {
        desk.run(&format!(
            "grant verify --in signed.json --policy-file policy.json --project-id {project} --salt {salt} {now}"
        ))
    };
    with("another", SALT).refused_by("grant_project_mismatch");
    with(PROJECT, &SALT.replace("11", "12")).refused_by("domain_salt_mismatch");
    desk.run(&format!("grant verify --in signed.json {now}"))
        .error(
            2,
            &[
                "--project-id is missing",
                "SVC_FENCE_PROJECT_ID",
                "config.toml",
            ],
        );
    desk.run(&format!(
        "grant verify --in grant.json --project-id {PROJECT} --salt {SALT} {now}"
    ))
    .refused_by("not_signed");
    desk.edit("signed.json", |signed| {
        signed["typed_data"]["message"]["delegate"] = json!(ACCOUNT)
    });
    at(&now).refused_by("grant_not_by_account");
    desk.new_grant("--not-before 2026-12-01T00:00:00Z").ok();
    desk.sign_grant("").ok();
    at(&now).refused_by("grant_not_yet_valid");
    at("--now 2026-12-01T00:00:00Z").ok();
}

#[test]
fn a_sub_wallets_grant_is_signed_by_its_owner() {
    let desk = Desk::new();
    let account = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
    desk.run(&format!(
        "grant new --account {account} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --now {NOW} \
         --kind sub_wallet --owner {ACCOUNT} --out grant.json"
    ))
    .ok();
    desk.sign_grant(&format!("--owner {OTHER}"))
        .refused_by("wrong_signer");
    desk.sign_grant(&format!("--owner {ACCOUNT}")).ok();
    let judge = |owner: &str| desk.verify_grant(&format!("--now {NOW} {owner}"));
    judge(&format!("--owner {ACCOUNT}")).ok();
    judge(&format!("--owner {account}")).refused_by("grant_not_by_account");
    judge("").error(2, &["name the owner with --owner"]);
}

#[test]
fn a_grant_is_signed_only_after_a_yes_and_with_its_own_key() {
    let desk = Desk::new();
    desk.new_grant("").ok();
    desk.run(&format!(
        "grant sign --in grant.json --keystore owner.key --password-file password --now {NOW}"
    ))
    .error(3, &["no terminal to ask on", "--yes"]);
    desk.run("key new --keystore other.key --password-file password")
        .ok();
    let other = desk.run(&format!(
        "grant sign --in grant.json --keystore other.key --password-file password --yes --now {NOW}"
    ));
    other.refused_by("wrong_signer");
    desk.run(&format!(
        "grant sign --in grant.json --password-file password --yes --now {NOW}"
    ))
    .error(2, &["--keystore is missing"]);
    desk.put("wrong", "wrong");
    desk.run(&format!(
        "grant sign --in grant.json --keystore owner.key --password-file wrong --yes --now {NOW}"
    ))
    .error(3, &["owner.key: wrong password"]);
}

#[test]
fn files_are_never_overwritten_silently() {
    let desk = Desk::with_signed_grant();
    let before = desk.text("grant.json");
    let again = desk.run(&format!(
        "grant new --account {ACCOUNT} --delegate {DELEGATE} --project-id {PROJECT} --salt {SALT} --out grant.json"
    ));
    again.error(3, &["grant.json: exists already; nothing was written"]);
    assert_eq!(desk.text("grant.json"), before);
    desk.run(&format!(
        "grant sign --in grant.json --keystore owner.key --password-file absent --yes --now {NOW} --out signed.json"
    ))
    // The tool refuses before it asks for the password.
    .error(3, &["signed.json: exists already"]);
    desk.run("grant attach --in grant.json --signature 0x --out signed.json")
        .error(3, &["signed.json: exists already"]);
}

#[test]
fn six_broken_grants_have_six_messages() {
    let desk = Desk::with_signed_grant();
    let good = desk.text("signed.json");
    let mut seen: Vec<String> = Vec::new();
    let mut check = |text: String, code: &str| {
        desk.put("bad.json", &text);
        let said = desk.run("grant inspect --in bad.json");
        let said = said.refused_by(code).to_owned();
        assert!(!seen.contains(&said), "twice: {said}");
        seen.push(said);
    };
    check(String::new(), "typed_data_malformed");
    check("{}".to_owned(), "typed_data_malformed");
    check(good.replace("FenceGrant", "Permit"), "typed_data_malformed");
    check(
        good.replacen("\"uint64\"", "\"uint128\"", 1),
        "typed_data_types",
    );
    check(
        good.replace("\"delegate\":\"0x3C44", "\"delegate\":\"0x3c44"),
        "typed_data_malformed",
    );
    check(
        good.replace("1802998800", "1802998800000"),
        "time_out_of_range",
    );
    let mut other: serde_json::Value = serde_json::from_str(&good).unwrap();
    other["typed_data"]["message"]["chainId"] = json!(1);
    check(other.to_string(), "message_chain_mismatch");
    check(
        good.replace("\"signature\"", "\"signatures\""),
        "typed_data_malformed",
    );
    check(
        good.replace("\"projectId\":\"3f2c", "\"projectId\":\"\\u001b[2K3f2c"),
        "typed_data_malformed",
    );
}

#[test]
fn inspect_names_the_signer_and_judges_nothing() {
    let desk = Desk::with_signed_grant();
    let said = desk.run("grant inspect --in signed.json");
    for part in [
        format!("signed by         {ACCOUNT}").as_str(),
        "NOT JUDGED",
    ] {
        assert!(said.ok().stdout.contains(part), "{said:?}");
    }
    let said = desk.run("grant inspect --in grant.json");
    assert!(said.ok().stdout.ends_with("\nNot signed.\n"), "{said:?}");
    for name in ["FenceOrder", "FenceLimit", "revocation"] {
        let vector = vector(name);
        desk.put("any.json", &vector["typed_data"].to_string());
        let json = desk.run("grant inspect --in any.json --json").json();
        assert_eq!(
            json["hashes"]["digest"], vector["vector"]["digest"],
            "{name}"
        );
    }
}

/// The holder sees where a swap may end before anything is signed, and afterwards.
#[test]
fn a_grant_shows_the_tokens_that_a_swap_may_end_in() {
    let desk = Desk::with_signed_grant();
    let listed = "may end in        WETH 0x4200000000000000000000000000000000000006\n                  cbBTC 0x";
    let inspected = desk.run("grant inspect --in signed.json");
    assert!(inspected.ok().stdout.contains(listed), "{inspected:?}");
    let signed = desk.sign_grant("");
    assert!(signed.ok().stderr.contains(listed), "{signed:?}");
    let json = desk.run("grant inspect --in signed.json --json").json();
    assert_eq!(json["output_tokens"][1]["symbol"], "cbBTC");
    // The list is the one of the grant's own policy, or none.
    desk.edit("policy.json", |policy| {
        let tokens = policy["output_tokens"].as_array_mut().unwrap();
        tokens.truncate(1);
    });
    let inspect = "grant inspect --in signed.json --policy-file policy.json";
    let other = desk.run(inspect);
    let unknown =
        "may end in        the output_tokens of the policy (its document was not compared)";
    assert!(other.ok().stdout.contains(unknown), "{other:?}");
    let json = desk.run(&format!("{inspect} --json")).json();
    assert!(json["output_tokens"].is_null());
    desk.new_grant("").ok();
    let own = desk.run("grant inspect --in grant.json --policy-file policy.json");
    let stdout = &own.ok().stdout;
    assert!(
        stdout.contains("WETH 0x") && !stdout.contains("cbBTC"),
        "{own:?}"
    );
}
