//! Tests of the commands that read a chain: the end of a grant, and an allowance.

use serde_json::{Value, json};
use test_support::process::Ended;

use super::{MANAGER, ROUTER, SIGN, delegated, hashes};
use crate::fence::desk::{DELEGATE, Desk, Refused as _};
use crate::fence::node::Node;
use crate::fence::service::{Service, State};

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
    // Only some of the delegations are disabled, so the transaction covers the others.
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
        (
            r#"{"jsonrpc":"2.0","id":1,"result":"0x+2105"}"#,
            "no number",
        ),
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
fn an_allowance_is_read_and_its_clearing_transaction_is_printed() {
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

/// The service's statement does not replace the holder's own reading of the chain. The tool builds
/// the printed transaction from the delegations that the holder signed.
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
    let body: Value = serde_json::from_str(&service.requests()[0].2).unwrap();
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
    // Without an endpoint the tool reports the service's statement, and says so.
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

/// A holder who names an endpoint wants its own reading, and not the service's statement. The tool
/// sends the revocation even when the file lacks what that reading needs.
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
        // Without an endpoint the tool reports the service's statement, and says so.
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
