//! Tests of `onchain …`, and of the delegations of an eoa7702 grant, against a stand-in for a
//! chain's endpoint.

mod reading;

use serde_json::{Value, json};

use crate::fence::desk::{ACCOUNT, DELEGATE, Desk, NOW, Refused as _};
use crate::fence::node::BLOCK;

const REDEEMER: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const ENFORCER: &str = "0xFE0Ce00000000000000000000000000000000001";
const MANAGER: &str = "0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3";
const ROUTER: &str = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE";
const SIGN: &str = "--keystore owner.key --password-file password --yes";

/// A desk with a grant and its delegations.
fn delegated(more: &str) -> Desk {
    let desk = Desk::new();
    desk.new_grant("").ok();
    desk.sign_grant(&format!("--redeemer {REDEEMER} {more}"))
        .ok();
    desk
}

fn hashes(desk: &Desk) -> Vec<String> {
    let said = desk.run("onchain disable --grant signed.json --json");
    let list = said.ok().json()["delegations"].clone();
    serde_json::from_value(list).unwrap()
}

#[test]
fn a_grant_is_signed_with_its_delegations() {
    let desk = Desk::new();
    desk.new_grant("").ok();
    let plain = desk.sign_grant("");
    assert!(
        plain
            .ok()
            .stderr
            .contains("Nothing of it is on the chain yet"),
        "{plain:?}"
    );
    assert!(desk.json("signed.json").get("delegations").is_none());

    let said = desk.sign_grant(&format!("--redeemer {REDEEMER}"));
    for part in [
        "redeemed by       the holder of the key of 0x90F79bf6EB2c4f870365E785982E1f101E93b906",
        "one approval of at most 4294.967295 USDC",
        "NOT held          the cap of 5000 USDC",
        "domain hash       0x8d2d5589afbd2ea476a0a77bdd1af10f0e7813283ad1771e85826f47e7c0a53f",
    ] {
        assert!(said.ok().stderr.contains(part), "{part}: {said:?}");
    }
    let file = desk.json("signed.json");
    let delegations = file["delegations"].as_array().unwrap();
    assert_eq!(delegations.len(), 3);
    for delegation in delegations {
        assert_eq!(delegation["delegator"], ACCOUNT);
        assert_eq!(delegation["delegate"], REDEEMER);
    }
    let said = desk.verify_grant(&format!("--now {NOW}"));
    assert!(
        said.ok()
            .stdout
            .contains("on the chain      3 delegations, exactly what the grant promises"),
        "{said:?}"
    );
    desk.run("grant inspect --in signed.json").ok();

    let fenced = delegated(&format!("--enforcer {ENFORCER}"));
    let file = fenced.json("signed.json");
    assert_eq!(file["delegations"].as_array().unwrap().len(), 2);
    let said = fenced.sign_grant(&format!("--redeemer {REDEEMER} --enforcer {ENFORCER}"));
    for part in ["It is NOT AUDITED", "One swap of at most 5000 USDC"] {
        assert!(said.ok().stderr.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn delegations_that_are_not_the_grants_are_refused_by_name() {
    let refused = |edit: fn(&mut Value), check: &str| {
        let desk = delegated("");
        desk.edit("signed.json", |file| edit(&mut file["delegations"]));
        desk.verify_grant(&format!("--now {NOW}")).refused_by(check);
        desk.run("onchain disable --grant signed.json")
            .refused_by(check);
    };
    refused(
        |list| drop(list.as_array_mut().unwrap().pop()),
        "delegations_missing",
    );
    refused(
        |list| list[0]["caveats"][6]["terms"] = json!(format!("0x{:064x}", 4)),
        "delegation_caveat_terms",
    );
    refused(
        |list| drop(list[1]["caveats"].as_array_mut().unwrap().pop()),
        "delegation_caveat_missing",
    );
    refused(
        |list| list[1]["delegate"] = json!(DELEGATE),
        "delegation_redeemer_mismatch",
    );
    refused(
        |list| list[0]["signature"] = list[1]["signature"].clone(),
        "delegation_not_by_account",
    );
    refused(
        |list| list[0]["authority"] = json!(BLOCK),
        "delegation_malformed",
    );
    let desk = Desk::with_signed_grant();
    let said = desk.run("onchain disable --grant signed.json");
    said.refused_by("delegations_missing");
    for (redeemer, check) in [
        (DELEGATE, "grant_delegate_is_service"),
        (ACCOUNT, "delegation_redeemer_invalid"),
    ] {
        desk.sign_grant(&format!("--redeemer {redeemer}"))
            .refused_by(check);
    }
}

#[test]
fn a_wallet_signs_the_delegations_one_by_one() {
    let desk = Desk::with_signed_grant();
    let ask = format!("onchain delegation --grant signed.json --redeemer {REDEEMER}");
    let list = desk.run(&format!("{ask} --typed-data"));
    let list = list.ok().json();
    assert_eq!(list.as_array().unwrap().len(), 3);
    for typed_data in list.as_array().unwrap() {
        assert_eq!(typed_data["primaryType"], "Delegation");
        assert_eq!(typed_data["domain"]["verifyingContract"], MANAGER);
    }
    // The key file signs the same digests, so its signatures equal those of a wallet.
    desk.run(&format!("{ask} {SIGN} --out all.json")).ok();
    let all = desk.json("all.json");
    let signatures: Vec<_> = all["delegations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|delegation| format!("--signature {}", delegation["signature"].as_str().unwrap()))
        .collect();
    let given = desk.run(&format!("{ask} {}", signatures.join(" ")));
    assert_eq!(given.ok().json(), all);
    desk.run(&format!("{ask} {}", signatures[0]))
        .error(2, &["there are 3 delegations"]);
    let swapped = [&signatures[1], &signatures[0], &signatures[2]].map(String::as_str);
    desk.run(&format!("{ask} {}", swapped.join(" ")))
        .refused_by("wrong_signer");
    desk.run(&format!("onchain delegation --grant signed.json {SIGN}"))
        .error(2, &["--redeemer is missing"]);
    desk.run(&format!(
        "onchain delegation --grant grant.json --redeemer {REDEEMER} {SIGN}"
    ))
    .refused_by("not_signed");
}

#[test]
fn the_code_of_an_account_is_signed_for_one_chain() {
    let desk = Desk::new();
    let said = desk.run(&format!("onchain auth7702 --nonce 0 {SIGN}"));
    let answer = said.ok().json();
    assert_eq!(answer["account"], ACCOUNT);
    // `cast wallet sign-auth` prints this form.
    let rlp = "0xf85c8221059463c0c19a282a1b52b07dd5a65b58948a07dae32b8080a0b3596cae5f5ab2544f40f028295fd4b1f91b1deffb2f978fcad2671fe33bf1e7\
               a027bf07d68661d35770cbe1149efeabdb8ab17c16a2b0d18ecc2b01c093be212e";
    assert_eq!(answer["rlp"], rlp);
    let cleared = desk.run(&format!("onchain auth7702 --nonce 1 --clear {SIGN}"));
    let address = cleared.ok().json()["authorization"]["address"].clone();
    assert_eq!(address, "0x0000000000000000000000000000000000000000");
    assert!(cleared.stderr.contains("disable them first"), "{cleared:?}");
    desk.run(&format!("onchain auth7702 --nonce 0 --chain-id 0 {SIGN}"))
        .refused_by("authorization_any_chain");
    desk.run(&format!(
        "onchain auth7702 --nonce 0 --implementation {ROUTER} {SIGN}"
    ))
    .refused_by("authorization_implementation");
    desk.run(&format!(
        "onchain auth7702 --nonce 0 --account {DELEGATE} {SIGN}"
    ))
    .refused_by("wrong_signer");
}

#[test]
fn the_end_on_the_chain_is_one_transaction() {
    let desk = delegated("");
    let said = desk.run("onchain disable --grant signed.json");
    let transaction = said.ok().json();
    assert_eq!(transaction["to"], ACCOUNT);
    assert_eq!(transaction["from"], ACCOUNT);
    assert_eq!(transaction["value"], "0");
    assert_eq!(transaction["chain_id"], 8453);
    let all = hashes(&desk);
    assert_eq!(all.len(), 2);
    let each = desk.run("onchain disable --grant signed.json --each");
    let lines: Vec<Value> = each
        .ok()
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(line["to"], MANAGER);
        assert!(line["data"].as_str().unwrap().starts_with("0x49934047"));
    }
    let rest = desk.run(&format!(
        "onchain disable --grant signed.json --each --already {}",
        all[0]
    ));
    assert_eq!(rest.ok().json(), lines[1]);
    let none = desk.run(&format!(
        "onchain disable --grant signed.json --already {} --already {}",
        all[0], all[1]
    ));
    assert_eq!(none.ok().stdout, "");
}
