use alloy_primitives::{Address, U256, address, hex};
use data_sources::{NATIVE_COIN, ReviewedContracts, okx::OkxConfig};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::okx::{answering, code, config, json as answer, okx, recorded};

const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
const AMOUNT: U256 = U256::from_limbs([10_000_000, 0, 0, 0]);

#[tokio::test]
async fn an_approval_goes_to_the_token_for_the_reviewed_spender() {
    let (okx, server) = answering(answer(&recorded("approve_transaction_reviewed"))).await;
    let approval = okx.approval(USDT0, AMOUNT).await.unwrap();
    assert_eq!(approval.value.to, USDT0);
    assert_eq!(approval.value.spender, ReviewedContracts::default().spender);
    assert_eq!(approval.value.gas_limit, Some(70_000));
    assert_eq!(
        hex::encode(&approval.value.data),
        "095ea7b30000000000000000000000008b773d83bc66be128c60e07e17c8901f7a64f0000000000000000000000000000000000000000000000000000000000000989680"
    );
    let sources: Vec<_> = approval
        .sources
        .iter()
        .map(|s| (s.source, s.status.as_str()))
        .collect();
    assert_eq!(
        sources,
        [
            ("reviewed.contracts", "ok"),
            ("okx.approve-transaction", "ok")
        ]
    );
    let query = server.received_requests().await.unwrap()[0]
        .url
        .query()
        .unwrap()
        .to_owned();
    assert_eq!(
        query,
        "chainIndex=196&tokenContractAddress=0x779ded0c9e1022225f8e0630b35a9b54be713736&approveAmount=10000000"
    );
}

#[tokio::test]
async fn a_different_approval_of_the_aggregator_is_refused() {
    let thief = "deaddeaddeaddeaddeaddeaddeaddeaddeaddead";
    let data = recorded("approve_transaction_reviewed")["data"][0]["data"]
        .as_str()
        .unwrap()
        .to_owned();
    let spender_in_data = data.replace("8b773d83bc66be128c60e07e17c8901f7a64f000", thief);
    for (name, expected, changed) in [
        (
            "another router",
            "spender_unreviewed",
            recorded("approve_transaction"),
        ),
        (
            "spender member",
            "spender_unreviewed",
            with("dexContractAddress", &format!("0x{thief}")),
        ),
        (
            "spender in calldata",
            "spender_unreviewed",
            with("data", &spender_in_data),
        ),
        (
            "amount",
            "approval_amount",
            with("data", &data.replace("989680", "ffffff")),
        ),
        (
            "trailing byte",
            "approval_calldata",
            with("data", &format!("{data}00")),
        ),
        (
            "transfer",
            "approval_calldata",
            with("data", &data.replace("095ea7b3", "a9059cbb")),
        ),
        ("no calldata", "approval_calldata", with("data", "0x")),
    ] {
        let (okx, _server) = answering(answer(&changed)).await;
        assert_eq!(code(okx.approval(USDT0, AMOUNT).await), expected, "{name}");
    }
}

#[tokio::test]
async fn an_approval_without_the_aggregator_is_ours_and_says_so() {
    for (response, reason) in [
        (ResponseTemplate::new(503), "upstream_http_503"),
        (
            answer(&recorded("error_rate_limited")),
            "upstream_rate_limited",
        ),
        (
            answer(&json!({"code": "82104", "data": [], "msg": "token"})),
            "upstream_business_82104",
        ),
        (answer(&with("data", "0xzz")), "upstream_malformed"),
    ] {
        let (okx, _server) = answering(response).await;
        let approval = okx.approval(USDT0, AMOUNT).await.unwrap();
        assert_eq!(approval.value.gas_limit, None);
        assert_eq!(approval.sources[0].status.as_str(), "ok");
        assert_eq!(approval.sources[1].status.reason(), Some(reason));
    }
    let server = MockServer::start().await;
    let keyless = okx(OkxConfig {
        credentials: None,
        ..config(&server)
    });
    let approval = keyless.approval(USDT0, U256::MAX).await.unwrap();
    assert_eq!(
        approval.sources[1].status.reason(),
        Some("upstream_disabled")
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn zero_revokes_and_the_native_coin_is_refused() {
    let (okx, _server) = answering(ResponseTemplate::new(503)).await;
    let revoke = okx.approval(USDT0, U256::ZERO).await.unwrap();
    assert_eq!(
        (revoke.value.amount, revoke.value.needs_reset),
        (U256::ZERO, Some(false))
    );
    assert_eq!(
        okx.approval(USDT0, AMOUNT).await.unwrap().value.needs_reset,
        None
    );
    assert_eq!(
        code(okx.approval(NATIVE_COIN, AMOUNT).await),
        "native_source_token"
    );
    assert_eq!(
        code(okx.approval(Address::ZERO, AMOUNT).await),
        "zero_address"
    );
}

fn with(member: &str, value: &str) -> Value {
    let mut answer = recorded("approve_transaction_reviewed");
    answer["data"][0][member] = json!(value);
    answer
}
