//! Products and positions.

use std::sync::Arc;

use alloy_primitives::Address;
use data_sources::{
    Mode, SourceErrorKind,
    okx::{Okx, OkxConfig, defi::OkxDefi},
    transport::{Limits, Transport},
};
use readings::defi::position::{Side, total_usd};
use serde_json::json as value;
use wiremock::{MockServer, ResponseTemplate};

use super::{changed, json, kind, now, recorded, serve, serving};

const SEARCH: &str = "/api/v6/defi/product/search";
const LIST: &str = "/api/v6/defi/user/asset/platform/list";
const DETAIL: &str = "/api/v6/defi/user/asset/platform/detail";
const ACCOUNT: Address = Address::repeat_byte(0x11);

fn okx(server: &MockServer) -> OkxDefi {
    let config = OkxConfig {
        base_url: server.uri(),
        mode: Mode::Replay,
        limits: Limits {
            backoff: std::time::Duration::ZERO,
            ..Limits::default()
        },
        ..OkxConfig::default()
    };
    OkxDefi::new(Okx::new(&Transport::new().unwrap(), config, Arc::new(now())).unwrap())
}

fn tokens() -> [String; 1] {
    ["USDT0".to_owned()]
}

#[tokio::test]
async fn a_rate_is_a_fraction() {
    let server = serving(
        SEARCH,
        json(recorded("okx_defi/defi_search_usdt0_196.json")),
    )
    .await;
    let okx = okx(&server);
    let found = okx.products(196, &tokens(), None).await.unwrap();
    let first = &found.value[0];
    assert_eq!(
        (
            first.pool.as_str(),
            first.symbol.as_str(),
            first.project.as_str()
        ),
        ("okx-124561", "USD₮0", "Aave V3")
    );
    assert_eq!(first.apy_pct.normalize().to_string(), "4.12");
    assert_eq!(
        (found.value.len(), found.sources[0].mode),
        (3, Mode::Replay)
    );
    let sent = server.received_requests().await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&sent[0].body).unwrap();
    let expected = value!({"tokenKeywordList": ["USDT0"], "chainIndex": "196", "productGroup": "SINGLE_EARN", "pageNum": 1});
    assert_eq!(body, expected);
    assert!(okx.products(196, &tokens(), None).await.unwrap().sources[0].cached);
}

#[tokio::test]
async fn a_product_without_figures_is_left_out_and_one_of_another_chain_refuses_the_list() {
    let file = "okx_defi/defi_search_usdt0_196.json";
    let body = changed(file, |body| {
        body["data"]["list"][0]["rate"] = value!("");
        body["data"]["list"][1]["tvl"] = value!(null);
    });
    let server = serving(SEARCH, json(body)).await;
    assert_eq!(
        okx(&server)
            .products(196, &tokens(), None)
            .await
            .unwrap()
            .value
            .len(),
        1
    );

    let body = changed(file, |body| {
        body["data"]["list"][1]["chainIndex"] = value!("1")
    });
    let server = serving(SEARCH, json(body)).await;
    let error = kind(
        okx(&server)
            .products(196, &tokens(), None)
            .await
            .unwrap_err(),
    );
    assert!(
        matches!(error, SourceErrorKind::Malformed { ref path, .. } if path.contains("[1].chainIndex")),
        "{error}"
    );

    for rate in ["NaN", "high", "1e99"] {
        let body = changed(file, |body| body["data"]["list"][0]["rate"] = value!(rate));
        let server = serving(SEARCH, json(body)).await;
        let error = okx(&server)
            .products(196, &tokens(), None)
            .await
            .unwrap_err();
        assert_eq!(error.code(), "upstream_malformed", "{rate}");
    }
}

#[tokio::test]
async fn failures_inside_a_success_are_failures() {
    let business = json(r#"{"code":"50113","data":[],"msg":"Invalid sign"}"#);
    let limited = json(r#"{"code":"50011","data":[],"msg":"Too many"}"#);
    let page = ResponseTemplate::new(200).set_body_raw("<html>", "text/html");
    for (answer, code) in [
        (business, "upstream_business"),
        (limited, "upstream_rate_limited"),
        (page, "upstream_wrong_content_type"),
        (json(r#"{"code":"0","data":{}}"#), "upstream_malformed"),
    ] {
        let server = serving(SEARCH, answer).await;
        let error = okx(&server)
            .products(196, &tokens(), None)
            .await
            .unwrap_err();
        assert_eq!(error.code(), code);
    }
}

#[tokio::test]
async fn positions_are_read_with_their_debts() {
    let server = MockServer::start().await;
    serve(
        &server,
        LIST,
        json(recorded("okx_defi/defi_positions.json")),
    )
    .await;
    serve(
        &server,
        DETAIL,
        json(recorded("okx_defi/defi_position_detail.json")),
    )
    .await;
    let found = okx(&server)
        .positions(ACCOUNT, &[196, 8453], None)
        .await
        .unwrap();
    let rows: Vec<_> = found
        .value
        .iter()
        .map(|row| {
            (
                row.position_id.as_str(),
                row.asset.as_deref().unwrap(),
                row.side,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("okx-196-10-124561", "USD₮0", Side::Supply),
            ("okx-196-10-124901-borrow", "GHO", Side::Borrow),
            ("okx-8453-123-9801", "USDC-WETH", Side::Supply),
        ]
    );
    let first = &found.value[0];
    assert_eq!(
        (
            first.amount.unwrap().to_string(),
            first.health.unwrap().to_string()
        ),
        ("1112.44".into(), "3.2".into())
    );
    assert_eq!(found.value[2].amount, None, "two assets have no one amount");
    assert_eq!(total_usd(&found.value).unwrap().to_string(), "1262.84");

    let sent = server.received_requests().await.unwrap();
    let detail: serde_json::Value = serde_json::from_slice(&sent[1].body).unwrap();
    assert_eq!(
        detail["platformList"][1],
        value!({"chainIndex": "8453", "analysisPlatformId": "123"})
    );
    assert_eq!(
        detail["walletAddressList"][0]["walletAddress"],
        "0x1111111111111111111111111111111111111111"
    );
}

#[tokio::test]
async fn without_details_the_totals_are_known() {
    let server = MockServer::start().await;
    serve(
        &server,
        LIST,
        json(recorded("okx_defi/defi_positions.json")),
    )
    .await;
    serve(&server, DETAIL, ResponseTemplate::new(403)).await;
    let found = okx(&server)
        .positions(ACCOUNT, &[196, 8453], None)
        .await
        .unwrap();
    let row = &found.value[0];
    assert_eq!(
        (row.position_id.as_str(), row.asset.as_deref(), row.amount),
        ("okx-196-10", None, None)
    );
    assert_eq!(row.value_usd.unwrap().to_string(), "1012.34");
    assert_eq!(found.value.len(), 2);
}

#[tokio::test]
async fn an_empty_list_of_positions_is_an_answer_and_a_foreign_chain_is_refused() {
    let server = serving(LIST, json(recorded("okx_defi/defi_positions_none.json"))).await;
    assert!(
        okx(&server)
            .positions(ACCOUNT, &[196], None)
            .await
            .unwrap()
            .value
            .is_empty()
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 1);

    let server = serving(LIST, json(recorded("okx_defi/defi_positions.json"))).await;
    let error = okx(&server)
        .positions(ACCOUNT, &[196], None)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "upstream_malformed", "Base was not asked for");
}

#[tokio::test]
async fn a_detail_may_stand_alone_and_repeat() {
    let server = MockServer::start().await;
    serve(
        &server,
        LIST,
        json(recorded("okx_defi/defi_positions.json")),
    )
    .await;
    let body = changed("okx_defi/defi_position_detail.json", |body| {
        // One object instead of a list, without its id, with the same investment twice.
        let mut aave = body["data"][0].clone();
        aave.as_object_mut().unwrap().remove("analysisPlatformId");
        let supply = &mut aave["walletIdPlatformDetailList"][0]["networkHoldVoList"][0]["investMarketTokenBalanceVoList"]
            [0]["assetMap"]["SUPPLY"];
        let again = supply[0].clone();
        supply.as_array_mut().unwrap().push(again);
        body["data"] = aave;
    });
    serve(&server, DETAIL, json(body)).await;
    let found = okx(&server)
        .positions(ACCOUNT, &[196, 8453], None)
        .await
        .unwrap();
    let ids: Vec<_> = found
        .value
        .iter()
        .map(|row| row.position_id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "okx-196-10-124561",
            "okx-196-10-124561-2",
            "okx-196-10-124901-borrow",
            "okx-8453-123"
        ]
    );
}

#[tokio::test]
async fn a_platform_on_no_chain_is_not_left_out_silently() {
    let body = changed("okx_defi/defi_positions.json", |body| {
        let platform = &mut body["data"]["walletIdPlatformList"][0]["platformList"][0];
        platform.as_object_mut().unwrap().remove("chainIndex");
    });
    let server = serving(LIST, json(body)).await;
    let error = okx(&server)
        .positions(ACCOUNT, &[196, 8453], None)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "upstream_malformed");
}

#[tokio::test]
async fn a_platform_may_name_its_chains_in_a_list_and_details_may_name_more() {
    let server = MockServer::start().await;
    let body = changed("okx_defi/defi_positions.json", |body| {
        let platforms = &mut body["data"]["walletIdPlatformList"][0]["platformList"];
        let aave = platforms[0].as_object_mut().unwrap();
        aave.remove("chainIndex");
        aave.insert(
            "networkBalanceVoList".into(),
            value!([{"chainIndex": 8453, "currencyAmount": "7"}]),
        );
        platforms.as_array_mut().unwrap().truncate(1);
    });
    serve(&server, LIST, json(body)).await;
    serve(
        &server,
        DETAIL,
        json(recorded("okx_defi/defi_position_detail.json")),
    )
    .await;
    let found = okx(&server)
        .positions(ACCOUNT, &[196, 8453], None)
        .await
        .unwrap();
    let ids: Vec<_> = found
        .value
        .iter()
        .map(|row| row.position_id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "okx-8453-10",
            "okx-196-10-124561",
            "okx-196-10-124901-borrow"
        ]
    );
}
