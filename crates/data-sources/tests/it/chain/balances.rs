//! Balances according to an index and to explorers.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256, address};
use data_sources::{
    Clock,
    blockscout::Blockscout,
    okx::{Credentials, Okx, OkxConfig},
};
use readings::portfolio::{Asset, Holding, Risk};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::chain::{
    answering, at, clock, code, json as answer, recorded, recorded_clock, transport,
};

const ACCOUNT: Address = address!("1111111111111111111111111111111111111111");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");

async fn blockscout(response: ResponseTemplate) -> (Blockscout, MockServer) {
    let server = answering(response).await;
    let config = at(&server, &["base_url"]);
    (
        Blockscout::new(&transport(), config, clock()).unwrap(),
        server,
    )
}

async fn okx(response: ResponseTemplate) -> (Okx, MockServer) {
    let server = answering(response).await;
    (okx_at(&server, clock()), server)
}

fn okx_at(server: &MockServer, clock: Arc<dyn Clock>) -> Okx {
    let config = OkxConfig {
        base_url: server.uri(),
        credentials: Some(Credentials {
            api_key: "key".into(),
            secret_key: "secret".into(),
            passphrase: "phrase".into(),
        }),
        ..OkxConfig::default()
    };
    Okx::new(&transport(), config, clock).unwrap()
}

async fn explored(change: impl FnOnce(&mut Value)) -> Result<Vec<Holding>, String> {
    let mut rows = recorded("blockscout/token_balances");
    change(&mut rows);
    let (blockscout, _server) = blockscout(answer(&rows)).await;
    let found = blockscout.tokens(8453, ACCOUNT).await;
    found
        .map(|found| found.value)
        .map_err(|error| error.reason())
}

#[tokio::test]
async fn an_explorer_lists_fungible_tokens() {
    let (blockscout, server) = blockscout(answer(&recorded("blockscout/token_balances"))).await;
    let found = blockscout.tokens(8453, ACCOUNT).await.unwrap().value;
    let expected = Holding {
        asset: Asset::Token(USDC),
        symbol: Some("USDC".to_owned()),
        decimals: Some(6),
        raw: Some(U256::from(10_000_000)),
        amount: None,
        price_usd: "0.9999".parse().ok(),
        risk: Risk::Unknown,
    };
    assert_eq!(found, [expected]);
    let requests = server.received_requests().await.unwrap();
    assert_eq!(
        requests[0].url.path(),
        "/api/v2/addresses/0x1111111111111111111111111111111111111111/token-balances"
    );
}

#[tokio::test]
async fn both_spellings_of_the_address_are_read_and_nfts_are_not() {
    let old = explored(|rows| {
        let token = rows[0]["token"].as_object_mut().unwrap();
        let address = token.remove("address_hash").unwrap();
        token.insert("address".to_owned(), address);
        token.insert("reputation".to_owned(), json!("scam"));
    });
    assert_eq!(old.await.unwrap()[0].risk, Risk::High);
    let nft = explored(|rows| rows[0]["token"]["type"] = json!("ERC-721"));
    assert_eq!(nft.await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_balance_unknown_to_an_explorer_is_not_zero() {
    let vague = explored(|rows| {
        for member in ["decimals", "exchange_rate", "symbol"] {
            rows[0]["token"][member] = Value::Null;
        }
    })
    .await
    .unwrap();
    assert_eq!(
        (vague[0].decimals, vague[0].price_usd, &vague[0].symbol),
        (None, None, &None)
    );
    let nonsense = explored(|rows| {
        rows[0]["token"]["decimals"] = json!("99");
        rows[0]["token"]["exchange_rate"] = json!("NaN");
        rows[0]["token"]["symbol"] = json!("\u{202e}\u{200b}");
    })
    .await
    .unwrap();
    assert_eq!(
        (
            nonsense[0].decimals,
            nonsense[0].price_usd,
            &nonsense[0].symbol
        ),
        (None, None, &None)
    );
    assert_eq!(
        explored(|rows| rows[0]["value"] = json!("1e30")).await,
        Err("upstream_malformed".to_owned())
    );
    let twice = explored(|rows| {
        let mut row = rows[0].clone();
        row["value"] = json!("11");
        rows.as_array_mut().unwrap().push(row);
    });
    assert_eq!(twice.await.unwrap()[0].raw, None);
}

#[tokio::test]
async fn an_account_that_was_never_seen_has_nothing_and_a_missing_page_is_no_answer() {
    let missing =
        |message: &str| ResponseTemplate::new(404).set_body_json(json!({"message": message}));
    let (unseen, _server) = blockscout(missing("Not found")).await;
    assert_eq!(unseen.tokens(8453, ACCOUNT).await.unwrap().value, []);
    let (moved, _server) = blockscout(missing("Cannot GET /api/v2")).await;
    assert_eq!(code(moved.tokens(8453, ACCOUNT).await), "upstream_http_404");
    let (any, _server) = blockscout(missing("Not found")).await;
    assert_eq!(code(any.tokens(56, ACCOUNT).await), "upstream_disabled");
    let (page, _server) =
        blockscout(ResponseTemplate::new(200).set_body_raw("<html>", "text/html")).await;
    assert_eq!(
        code(page.tokens(8453, ACCOUNT).await),
        "upstream_wrong_content_type"
    );
}

#[tokio::test]
async fn an_index_answers_for_all_chains_at_once() {
    let (okx, server) = okx(answer(&recorded("okx_balance/balance_all_tokens"))).await;
    let found = okx.balances(ACCOUNT, &[196, 8453]).await.unwrap().value;
    assert_eq!((found[&196].len(), found[&8453].len()), (2, 1));
    let native = &found[&196][0];
    assert_eq!((native.asset, native.decimals), (Asset::Native, Some(18)));
    let usdt0 = &found[&196][1];
    assert_eq!(
        (usdt0.symbol.as_deref(), usdt0.decimals, usdt0.risk),
        (Some("USD₮0"), Some(6), Risk::Low)
    );
    let requests = server.received_requests().await.unwrap();
    assert_eq!(
        requests[0].url.query(),
        Some(
            "address=0x1111111111111111111111111111111111111111&chains=196,8453&excludeRiskToken=1"
        )
    );
}

#[tokio::test]
async fn an_index_says_which_chains_it_covers() {
    let (okx, server) = okx(answer(&recorded("okx_balance/supported_chains"))).await;
    let covered = okx.balance_chains().await.unwrap().value;
    assert!(covered.contains(&196) && covered.contains(&8453));
    okx.balance_chains().await.unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1, "the list is kept");
    assert_eq!(
        requests[0].url.path(),
        "/api/v6/dex/balance/supported/chain"
    );
}

#[tokio::test]
async fn failures_inside_a_success_and_foreign_chains_are_refused() {
    let (limited, _server) = okx(answer(
        &json!({"code": "50011", "msg": "Too Many Requests", "data": []}),
    ))
    .await;
    assert_eq!(
        code(limited.balances(ACCOUNT, &[196]).await),
        "upstream_rate_limited"
    );
    let (broken, _server) = okx(answer(&json!({"code": "50000", "msg": "x", "data": []}))).await;
    assert_eq!(
        code(broken.balances(ACCOUNT, &[196]).await),
        "upstream_business_50000"
    );
    // The recording also contains Base, which was not requested.
    let (foreign, _server) = okx(answer(&recorded("okx_balance/balance_all_tokens"))).await;
    assert_eq!(
        code(foreign.balances(ACCOUNT, &[196]).await),
        "upstream_malformed"
    );
    let (nothing, _server) = okx(answer(&json!({"code": "0", "msg": "", "data": []}))).await;
    // An answer without rows says nothing about the chain.
    assert_eq!(
        nothing
            .balances(ACCOUNT, &[196])
            .await
            .unwrap()
            .value
            .get(&196),
        None
    );
}

/// An account's balances are kept for five seconds; another account, and the same account
/// elsewhere, are asked for.
#[tokio::test]
async fn an_index_is_not_asked_for_the_same_account_at_once() {
    let nothing = answer(&json!({"code": "0", "msg": "", "data": []}));
    let (server, clock) = (answering(nothing).await, recorded_clock());
    let okx = okx_at(&server, Arc::new(clock.clone()));
    let asked = async || server.received_requests().await.unwrap().len();
    let read = async |account: Address, chains: &[u64]| {
        let told = okx.balances(account, chains).await.unwrap();
        (told.sources[0].cached, asked().await)
    };
    assert_eq!(read(ACCOUNT, &[196]).await, (false, 1));
    clock.advance(Duration::from_secs(4));
    assert_eq!(read(ACCOUNT, &[196]).await, (true, 1));
    assert_eq!(read(Address::repeat_byte(7), &[196]).await, (false, 2));
    assert_eq!(read(ACCOUNT, &[196, 8453]).await, (false, 3));
    clock.advance(Duration::from_secs(2));
    assert_eq!(read(ACCOUNT, &[196]).await, (false, 4));
}

#[tokio::test]
async fn an_explorer_is_not_asked_for_the_same_account_at_once() {
    let server = answering(answer(&recorded("blockscout/token_balances"))).await;
    let clock = recorded_clock();
    let config = at(&server, &["base_url", "ethereum_url"]);
    let blockscout = Blockscout::new(&transport(), config, Arc::new(clock.clone())).unwrap();
    let read = async |chain_id: u64, account: Address| {
        let told = blockscout.tokens(chain_id, account).await.unwrap();
        let asked = server.received_requests().await.unwrap().len();
        (told.sources[0].cached, asked)
    };
    assert_eq!(read(8453, ACCOUNT).await, (false, 1));
    clock.advance(Duration::from_secs(4));
    assert_eq!(read(8453, ACCOUNT).await, (true, 1));
    assert_eq!(read(8453, Address::repeat_byte(7)).await, (false, 2));
    assert_eq!(read(1, ACCOUNT).await, (false, 3));
    clock.advance(Duration::from_secs(2));
    assert_eq!(read(8453, ACCOUNT).await, (false, 4));
}
