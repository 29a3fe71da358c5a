//! Interfaces and signatures.

use alloy_primitives::{Address, Selector, address};
use data_sources::{fourbyte::Fourbyte, sourcify::Sourcify};
use readings::chain::knowledge::Candidate;
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::chain::{answering, at, clock, code, json as answer, recorded, transport};

const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
const TRANSFER: Selector = Selector::new([0xa9, 0x05, 0x9c, 0xbb]);
const UNKNOWN: Selector = Selector::new([0x12, 0x34, 0x56, 0x78]);

async fn sourcify(response: ResponseTemplate) -> (Sourcify, MockServer) {
    let server = answering(response).await;
    let config = at(&server, &["base_url", "signatures_url"]);
    (
        Sourcify::new(&transport(), config, clock()).unwrap(),
        server,
    )
}

async fn fourbyte(response: ResponseTemplate) -> (Fourbyte, MockServer) {
    let server = answering(response).await;
    let config = at(&server, &["base_url"]);
    (
        Fourbyte::new(&transport(), config, clock()).unwrap(),
        server,
    )
}

fn changed(change: impl FnOnce(&mut Value)) -> ResponseTemplate {
    let mut contract = recorded("sourcify/contract_abi");
    change(&mut contract);
    answer(&contract)
}

async fn refused(change: impl FnOnce(&mut Value)) -> String {
    let (sourcify, _server) = sourcify(changed(change)).await;
    code(sourcify.contract(196, USDT0).await)
}

#[tokio::test]
async fn an_interface_of_verified_code_is_read_once() {
    let (sourcify, server) = sourcify(changed(|_| {})).await;
    for _ in 0..2 {
        let published = sourcify.contract(196, USDT0).await.unwrap();
        // The answer describes the contract, and its age does not count.
        assert!(published.sources.iter().all(|source| source.reference));
        let published = published.value;
        assert!(published.facts.verified && published.facts.function(TRANSFER).is_some());
        assert!(published.implementations.is_empty());
    }
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].url.path(),
        "/server/v2/contract/196/0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
    );
    assert_eq!(requests[0].url.query(), Some("fields=abi,proxyResolution"));
}

#[tokio::test]
async fn only_verified_code_has_an_interface() {
    let (sourcify, _server) = sourcify(changed(|contract| contract["match"] = Value::Null)).await;
    let published = sourcify.contract(196, USDT0).await.unwrap().value;
    assert!(!published.facts.verified && !published.facts.has_functions());
}

#[tokio::test]
async fn a_proxy_names_its_implementation_and_not_itself() {
    let proxy = changed(|contract| {
        contract["proxyResolution"] = json!({"isProxy": true, "proxyType": "EIP1967Proxy", "implementations": [
            {"address": "0x2222222222222222222222222222222222222222", "name": "Token"},
            {"address": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"},
            {"address": "0x0000000000000000000000000000000000000000"}
        ]});
    });
    let (sourcify, _server) = sourcify(proxy).await;
    let published = sourcify.contract(196, USDT0).await.unwrap().value;
    assert_eq!(published.implementations, [Address::repeat_byte(0x22)]);
}

#[tokio::test]
async fn other_contracts_and_chains_are_refused() {
    assert_eq!(
        refused(|contract| contract["chainId"] = json!("1")).await,
        "upstream_malformed"
    );
    assert_eq!(
        refused(
            |contract| contract["address"] = json!("0x2222222222222222222222222222222222222222")
        )
        .await,
        "upstream_malformed"
    );
    assert_eq!(
        refused(|contract| contract["address"] = Value::Null).await,
        "upstream_malformed"
    );
    assert_eq!(
        refused(|contract| contract["abi"] = json!("none")).await,
        "upstream_malformed"
    );
}

#[tokio::test]
async fn an_unpublished_contract_is_an_answer_and_a_missing_page_is_a_failure() {
    let missing = |body: &Value| ResponseTemplate::new(404).set_body_json(body);
    let (known, _server) = sourcify(missing(&recorded("sourcify/contract_not_found"))).await;
    let published = known.contract(196, USDT0).await.unwrap().value;
    assert!(!published.facts.verified);
    let unmatched = json!({"match": null, "creationMatch": null, "runtimeMatch": null, "chainId": "196", "address": USDT0});
    let (known, _server) = sourcify(missing(&unmatched)).await;
    assert!(known.contract(196, USDT0).await.is_ok());
    let (moved, _server) = sourcify(missing(&json!({"message": "no such route"}))).await;
    assert_eq!(code(moved.contract(196, USDT0).await), "upstream_http_404");
}

#[tokio::test]
async fn entries_of_an_interface_that_cannot_be_read_are_left_out() {
    let odd = changed(|contract| {
        let abi = contract["abi"].as_array_mut().unwrap();
        abi.push(json!("text"));
        abi.push(json!({"type": "function", "name": "a b", "inputs": []}));
        abi.push(json!({"type": "function", "name": "deep", "inputs": [{"name": "x", "type": "uint256[99999999]"}]}));
        abi.push(json!({"type": "event", "name": "E", "inputs": []}));
    });
    let (sourcify, _server) = sourcify(odd).await;
    let published = sourcify.contract(196, USDT0).await.unwrap().value;
    assert!(published.facts.function(TRANSFER).is_some());
}

#[tokio::test]
async fn signatures_are_listed_for_each_selector() {
    let (sourcify, server) = sourcify(answer(&recorded("sourcify/4byte_lookup"))).await;
    let found = sourcify
        .signatures(&[TRANSFER, UNKNOWN])
        .await
        .unwrap()
        .value;
    let transfer = Candidate {
        text: "transfer(address,uint256)".to_owned(),
        verified: true,
    };
    assert_eq!(found[&TRANSFER], [transfer]);
    assert_eq!(found[&UNKNOWN], []);
    // The same selectors in another order are the same question.
    let again = sourcify.signatures(&[UNKNOWN, TRANSFER]).await.unwrap();
    assert!(again.sources[0].cached, "{again:?}");
    assert_eq!(again.value.len(), 2);
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].url.query(),
        Some("function=0xa9059cbb,0x12345678&filter=true")
    );
    let (down, _server) = self::sourcify(answer(&json!({"ok": false, "result": {}}))).await;
    assert_eq!(
        code(down.signatures(&[TRANSFER]).await),
        "upstream_business_not_ok"
    );
}

#[tokio::test]
async fn the_oldest_entry_of_the_directory_comes_first() {
    let row = |id: u64, text: &str, selector: &str| json!({"id": id, "text_signature": text, "hex_signature": selector});
    let page = |rows: Vec<Value>| {
        answer(&json!({"count": rows.len(), "next": null, "previous": null, "results": rows}))
    };
    let (directory, server) = fourbyte(page(vec![
        row(900_000, "many_msg_babbage(bytes1)", "0xa9059cbb"),
        row(145, "transfer(address,uint256)", "0xa9059cbb"),
    ]))
    .await;
    let found = directory.signatures(TRANSFER).await.unwrap().value;
    let texts: Vec<&str> = found
        .iter()
        .map(|candidate| candidate.text.as_str())
        .collect();
    assert_eq!(
        texts,
        ["transfer(address,uint256)", "many_msg_babbage(bytes1)"]
    );
    let again = directory.signatures(TRANSFER).await.unwrap();
    assert_eq!(again.value.len(), 2);
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    let (other, _server) = fourbyte(page(vec![row(1, "f()", "0x26121ff0")])).await;
    assert_eq!(code(other.signatures(TRANSFER).await), "upstream_malformed");
    let (real, _server) = fourbyte(answer(&recorded("fourbyte_directory/signatures"))).await;
    assert_eq!(real.signatures(TRANSFER).await.unwrap().value.len(), 1);
}
