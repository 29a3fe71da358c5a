//! `onchain …`, and what an eoa7702 grant needs beside its signature, against a stand-in of a
//! chain's endpoint.

use serde_json::{Value, json};

use crate::fence::{
    desk::{ACCOUNT, DELEGATE, Desk, Ended, NOW},
    node::{BLOCK, Node},
    service::{Service, State},
};

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
        "redeemed by       whoever holds the key of 0x90F79bf6EB2c4f870365E785982E1f101E93b906",
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
    // The key file signs the same digest; its signatures equal those of a wallet.
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
    // As `cast wallet sign-auth` prints it.
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

fn read_back(desk: &Desk, node: &Node, more: &str) -> Ended {
    desk.run(&format!(
        "onchain read-back --grant signed.json --url {} {more}",
        node.url
    ))
}

#[test]
fn the_chain_is_read_in_one_sealed_block() {
    let desk = delegated("");
    let all = hashes(&desk);
    let node = Node::of(|_| {});
    let said = read_back(&desk, &node, "");
    assert_eq!(said.code, 5, "{said:?}");
    for part in [
        "block             99 0xabab",
        "has the framework's code",
        "NOT disabled",
        "need not be",
        "NOT gone: send this from 0x70997970C51812dc3A010C7d01b50e0d17dc79C8: {",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // Half of it: the transaction covers the rest.
    let half = Node::of(|chain| chain.disabled = all[..1].to_vec());
    let said = read_back(&desk, &half, "--json");
    assert_eq!(said.code, 5);
    let rest = desk.run(&format!(
        "onchain disable --grant signed.json --already {}",
        all[0]
    ));
    assert_eq!(said.json()["disable_transaction"], rest.json());
    let over = Node::of(|chain| chain.disabled = all.clone());
    let said = read_back(&desk, &over, "");
    assert!(
        said.ok()
            .stdout
            .contains("gone: the delegations are disabled in a sealed block"),
        "{said:?}"
    );
    assert_eq!(read_back(&desk, &over, "--json").ok().json()["gone"], true);
    let asked = over.chain.lock().unwrap().asked.len();
    assert!(asked > 0);
}

#[test]
fn an_endpoint_that_cannot_be_used_confirms_nothing() {
    let desk = delegated("");
    let other = Node::of(|chain| chain.id = 1);
    read_back(&desk, &other, "").refused_by("chain_mismatch");
    for (fixed, part) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no\u001b such block"}}"#,
            "no\\u{1b} such block",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            "answered nothing",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#, "no number"),
        ("<html>", "not JSON"),
    ] {
        let node = Node::of(|chain| chain.fixed = Some(fixed.to_owned()));
        read_back(&desk, &node, "").error(4, &[part]);
    }
    // A key in the address appears in no message.
    let said =
        desk.run("onchain read-back --grant signed.json --url http://127.0.0.1:9/v2/secret-key");
    said.error(4, &["http://127.0.0.1:9: "]);
    assert!(!said.stderr.contains("secret-key"), "{said:?}");
    desk.run("onchain read-back --grant signed.json")
        .error(2, &["SVC_FENCE_RPC_URL"]);
    desk.run("onchain read-back --grant signed.json --url http://rpc.example")
        .error(2, &["plain http"]);
}

#[test]
fn an_allowance_is_read_and_what_clears_it_is_said() {
    let desk = delegated("");
    let clear = |node: &Node, more: &str| {
        desk.run(&format!(
            "onchain clear-allowance --grant signed.json --url {} {more}",
            node.url
        ))
    };
    let none = Node::of(|_| {});
    assert!(clear(&none, "").ok().stdout.starts_with("clear: "));
    let left = Node::of(|chain| chain.allowance = 1_500_000);
    let said = clear(&left, "");
    assert_eq!(said.code, 5);
    assert!(
        said.stdout.contains("the router may take 1.5 USDC"),
        "{said:?}"
    );
    let answer = clear(&left, "--json").json();
    let data = format!("0x095ea7b3{:0>64}{:0>64}", &ROUTER[2..].to_lowercase(), "");
    assert_eq!(answer["clear_transaction"]["data"], data);
    assert_eq!(answer["allowance"], "1500000");
}

fn revoke_now(desk: &Desk, service: &Service, more: &str) -> Ended {
    desk.run(&format!(
        "revoke now --grant signed.json --url {} {SIGN} --timeout 0 {more}",
        service.url
    ))
}

/// The service's word does not replace the holder's own reading of the chain, and the printed
/// transaction is made of what the holder signed.
#[test]
fn a_revocation_is_confirmed_by_the_holders_own_reading() {
    let desk = delegated("");
    let all = hashes(&desk);
    let service = Service::start(State {
        disabled: true,
        ..State::default()
    });
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let body: Value = serde_json::from_str(&service.asked()[0].2).unwrap();
    assert_eq!(body["delegations"].as_array().unwrap().len(), 3);
    let standing = Node::of(|_| {});
    let said = revoke_now(&desk, &service, &format!("--rpc-url {}", standing.url));
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(said.stdout.lines().count(), 1);
    let own = desk.run("onchain disable --grant signed.json").json();
    assert!(said.stdout.contains(&own.to_string()), "{said:?}");
    let over = Node::of(|chain| chain.disabled = all);
    let said = revoke_now(&desk, &service, &format!("--rpc-url {}", over.url));
    assert!(said.ok().stdout.contains("read in block 99"), "{said:?}");
    let confirm = |node: &Node| {
        desk.run(&format!(
            "revoke confirm --grant signed.json --url {} --rpc-url {} --timeout 0 --json",
            service.url, node.url
        ))
    };
    assert_eq!(confirm(&over).ok().json()["gone"], true);
    let said = confirm(&standing);
    assert_eq!(said.code, 5);
    assert_eq!(said.json()["disable_transaction"], own);
    // Without a reading of its own the tool reports the service's word, and says so.
    let said = revoke_now(&desk, &service, "");
    assert!(
        said.ok().stdout.contains("by the service's word"),
        "{said:?}"
    );
    service.state.lock().unwrap().disabled = false;
    let said = revoke_now(&desk, &service, "");
    assert_eq!(said.code, 5);
    assert!(said.stdout.contains(&own.to_string()), "{said:?}");
}

/// A holder who names an endpoint does not want the service's word. The revocation at the service
/// does not wait for what the file lacks.
#[test]
fn a_named_endpoint_is_never_passed_over() {
    let plain = Desk::with_signed_grant();
    let foreign = delegated("");
    foreign.edit("signed.json", |file| {
        file["delegations"][1]["delegate"] = json!(DELEGATE);
    });
    for (desk, why) in [
        (plain, "delegations_missing"),
        (foreign, "delegation_redeemer_mismatch"),
    ] {
        let message = desk.json("signed.json")["typed_data"]["message"].clone();
        let service = Service::start(State {
            grant: Some(message),
            disabled: true,
            ..State::default()
        });
        let node = Node::of(|_| {});
        let own = format!("--rpc-url {}", node.url);
        let said = revoke_now(&desk, &service, &own);
        assert_eq!(said.code, 5, "{said:?}");
        assert_eq!(said.stdout.lines().count(), 1);
        for part in ["NOT confirmed as gone", "the chain was not read", why] {
            assert!(said.stdout.contains(part), "{part}: {said:?}");
        }
        assert!(service.state.lock().unwrap().revoked);
        let confirm = |more: &str| {
            desk.run(&format!(
                "revoke confirm --grant signed.json --url {} --timeout 0 {more}",
                service.url
            ))
        };
        let said = confirm(&format!("{own} --json"));
        assert_eq!((said.code, &said.json()["gone"]), (5, &json!(false)));
        let reason = said.json()["chain_not_read"].as_str().unwrap().to_owned();
        assert!(reason.starts_with(why), "{said:?}");
        // Without an endpoint the tool reports the service's word, and says so.
        assert!(confirm("").ok().stdout.contains("by the service's word"));
    }
}

/// A compromised service could offer any transaction: the tool shows only one that ends the
/// permission.
#[test]
fn a_services_own_transaction_is_shown_only_if_it_ends_something() {
    let desk = Desk::with_signed_grant();
    let service = Service::start(State::default());
    desk.run(&format!(
        "grant submit --in signed.json --url {}",
        service.url
    ))
    .ok();
    let with = |to: &str, data: &str, value: &str| {
        let read = json!({"state": "revoked", "on_chain": {"disabled": false,
            "disable_transaction": {"chain_id": 8453, "to": to, "value": value, "data": data}}});
        service.state.lock().unwrap().read = Some((200, read.to_string()));
        let said = revoke_now(&desk, &service, "");
        assert_eq!(said.code, 5, "{said:?}");
        said.stdout
    };
    assert!(with(MANAGER, "0x49934047", "0").contains("\"data\":\"0x49934047\""));
    for (to, data, value) in [
        (ROUTER, "0x49934047", "0"),
        (MANAGER, "0x3ed01015", "0"),
        (MANAGER, "0x49934047", "1"),
        ("nobody", "0x49934047", "0"),
    ] {
        let said = with(to, data, value);
        assert!(
            said.contains("gives no transaction that disables them"),
            "{said}"
        );
        assert!(!said.contains("\"data\""), "{said}");
    }
}
