//! Tests of transactions and balances.

mod dev_chain;

use replay::Recordings;
use serde_json::{Value, json};

use crate::routes::shop::{Shop, why_missing};
use crate::support::World;

const TRANSFER: &str =
    "/tx-explainer?txHash=0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b";
const UNKNOWN: &str =
    "/tx-explainer?txHash=0xabababababababababababababababababababababababababababababababab";
const ACCOUNT: &str = "0x1111111111111111111111111111111111111111";

/// A shop in which the nodes of these chains and these upstreams cannot be reached.
async fn without_nodes(chains: &[&str], upstreams: &[&str]) -> Shop {
    Shop::changed(|config, _replay| {
        for chain in chains {
            let table = config.chains.0.get_mut(*chain).expect("a chain");
            table.rpc_urls = vec!["http://127.0.0.1:9".to_owned()];
        }
        for name in upstreams {
            let table = config.upstreams.0.get_mut(*name).expect("an upstream");
            assert!(table.set_url("base_url", "http://127.0.0.1:9".to_owned()));
        }
    })
    .await
}

fn source<'a>(body: &'a Value, id: &str) -> Option<&'a Value> {
    let sources = body["meta"]["sources"].as_array().unwrap();
    sources.iter().find(|source| source["id"] == id)
}

#[tokio::test]
async fn a_transaction_is_found_on_its_chain_and_explained() {
    let body = Shop::open().await.buy(TRANSFER).await;
    let data = &body["data"];
    assert_eq!(data["chain"], json!({"id": 196, "name": "xlayer"}));
    assert_eq!(
        data["action"],
        json!({"type": "transfer", "summary": "Transferred 10 USD₮0 to 0x2222222222222222222222222222222222222222."})
    );
    assert_eq!(
        (&data["status"], &data["block"]),
        (&json!("success"), &json!(49_521_072))
    );
    assert_eq!(data["timestamp"], "2026-11-21T00:59:59Z");
    assert_eq!(data["signature_confidence"], "verified_abi");
    assert_eq!(data["fee"]["native"], "0.000001013501765679");
    assert_eq!(data["transfers"][0]["symbol"], "USD₮0");
    assert_eq!(data["transfers"][0]["amount"], "10");
    assert_eq!(data["balance_changes"].as_array().unwrap().len(), 3);
    assert_eq!(data["contracts"][0]["verified"], true);
    assert_eq!(data["search"]["chains"].as_array().unwrap().len(), 11);
    assert_eq!(data["search"]["unavailable"], json!([]));
    assert_eq!(body["meta"]["unavailable"], json!([]), "{body}");
    assert_eq!(source(&body, "rpc.xlayer").unwrap()["mode"], "replay");
    assert_eq!(source(&body, "sourcify.abi").unwrap()["status"], "ok");
}

#[tokio::test]
async fn a_status_says_how_many_nodes_it_rests_on() {
    let alone = Shop::open().await.buy(TRANSFER).await;
    assert_eq!(
        alone["data"]["evidence"],
        json!({"basis": "one_nodes_word", "nodes": 1, "reason": "only_one_node_configured"})
    );
    let warnings = alone["data"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|of| of["code"] == "one_nodes_word"));
    let two = Shop::changed(|config, replay| {
        let table = config.chains.0.get_mut("196").expect("a chain");
        table.rpc_urls.push(replay.base_url("xlayerrpc.okx.com"));
    })
    .await;
    let body = two.buy(TRANSFER).await;
    assert_eq!(
        body["data"]["evidence"],
        json!({"basis": "two_nodes_agree", "nodes": 2})
    );
    assert_eq!(body["data"]["warnings"], json!([]));
}

#[tokio::test]
async fn one_chain_can_be_named_and_only_that_one_is_asked() {
    let shop = Shop::open().await;
    let body = shop.buy(&format!("{TRANSFER}&chain=XLayer")).await;
    assert_eq!(body["data"]["search"]["chains"], json!(["xlayer"]));
    let error = shop
        .refused(&format!("{TRANSFER}&chain=base"), 404, "not_found")
        .await;
    assert_eq!(error["reason"], "tx_not_found");
}

#[tokio::test]
async fn a_transaction_is_unknown_only_when_every_chain_answered() {
    let shop = Shop::open().await;
    let error = shop.refused(UNKNOWN, 404, "not_found").await;
    assert_eq!(error["reason"], "tx_not_found");
    let shop = without_nodes(&["1", "8453"], &[]).await;
    let error = shop.refused(UNKNOWN, 503, "upstream_unavailable").await;
    assert_eq!(error["reason"], "chains_unavailable");
    assert_eq!(error["unavailable"], json!(["ethereum", "base"]));
    assert_eq!(error["retryable"], true);
    // The transaction that was found is true nevertheless. The answer names the chains that could
    // not be searched.
    let body = shop.buy(TRANSFER).await;
    assert_eq!(
        body["data"]["search"]["unavailable"],
        json!(["ethereum", "base"])
    );
    assert_eq!(
        why_missing(&body, "data.other_matches"),
        Some("chain_unavailable")
    );
    assert_eq!(source(&body, "rpc.base").unwrap()["status"], "unavailable");
}

#[tokio::test]
async fn a_revert_has_a_reason_or_says_why_it_has_none() {
    let told = Shop::in_scenario("evm_rpc_get_receipt_reverted")
        .await
        .buy(TRANSFER)
        .await;
    let data = &told["data"];
    assert_eq!(data["status"], "reverted");
    assert_eq!(
        data["revert_reason"],
        "ERC20: transfer amount exceeds balance"
    );
    assert_eq!(data["transfers"], json!([]));
    assert_eq!(data["balance_changes"].as_array().unwrap().len(), 1);
    let summary = data["action"]["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("Tried to transfer 10 USD₮0") && summary.contains("reverted"),
        "{summary}"
    );
    let pruned = Shop::in_scenario("evm_rpc_pruned")
        .await
        .buy(TRANSFER)
        .await;
    assert_eq!(pruned["data"]["revert_reason"], Value::Null);
    assert_eq!(
        why_missing(&pruned, "data.revert_reason"),
        Some("state_pruned")
    );
}

#[tokio::test]
async fn without_helpers_a_transaction_is_still_read() {
    let shop = Shop::without(&["sourcify", "fourbyte"]).await;
    let body = shop.buy(TRANSFER).await;
    assert_eq!(body["data"]["signature_confidence"], "signature_db");
    assert_eq!(
        source(&body, "sourcify.abi").unwrap()["status"],
        "unavailable"
    );
    let warnings = body["data"]["warnings"].as_array().unwrap();
    assert!(
        warnings
            .iter()
            .any(|warning| warning["code"] == "unverified_contract")
    );
}

#[tokio::test]
async fn a_helper_that_never_answers_removes_only_its_own_part() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let shop = Shop::changed(|config, _replay| {
        let sourcify = config.upstreams.0.get_mut("sourcify").expect("an upstream");
        for key in ["base_url", "signatures_url"] {
            assert!(sourcify.set_url(key, address.clone()));
        }
    })
    .await;
    let body = shop.buy(TRANSFER).await;
    // The node's data about the token is in the answer nevertheless.
    assert_eq!(body["data"]["transfers"][0]["amount"], "10");
    assert_eq!(body["meta"]["unavailable"], json!([]), "{body}");
    let abi = source(&body, "sourcify.abi").unwrap();
    assert_eq!(
        (&abi["status"], &abi["reason"]),
        (&json!("unavailable"), &json!("upstream_timeout"))
    );
    assert!(body["data"]["contracts"][0].get("verified").is_none());
}

#[tokio::test]
async fn a_malformed_hash_is_refused_before_anything_is_asked() {
    let shop = Shop::open().await;
    for bad in [
        "0x12",
        "88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
        "",
    ] {
        shop.refused(
            &format!("/tx-explainer?txHash={bad}"),
            400,
            "invalid_params",
        )
        .await;
    }
}

#[tokio::test]
async fn balances_come_with_values_and_a_sum() {
    let shop = Shop::open().await;
    let body = shop
        .buy(&format!("/portfolio?address={ACCOUNT}&chains=196,8453"))
        .await;
    let data = &body["data"];
    assert_eq!(data["total_usd"], "200.52825");
    assert_eq!(data["total_usd_complete"], true);
    assert_eq!(data["chains"][0]["tokens"][0]["address"], "");
    assert_eq!(data["chains"][0]["tokens"][1]["symbol"], "USD₮0");
    assert_eq!(data["chains"][1]["usd"], "9.999");
    assert_eq!(body["meta"]["unavailable"], json!([]), "{body}");
    let everywhere = shop.buy(&format!("/portfolio?address={ACCOUNT}")).await;
    let chains = everywhere["data"]["chains"].as_array().unwrap();
    assert_eq!(chains.len(), 11);
    assert_eq!(everywhere["data"]["total_usd"], "200.52825");
    // The index covers all chains. For each chain whose coin the index does not list, a node read
    // it.
    assert!(chains.iter().all(|chain| chain["status"] == "ok"));
    assert_eq!(everywhere["data"]["total_usd_complete"], true);
    assert_eq!(source(&everywhere, "rpc.linea").unwrap()["status"], "ok");
    assert_eq!(
        shop.world.replay.served("evm_rpc/balance_native_okb.json"),
        0,
        "what the index lists is not asked for again"
    );
}

/// The index covers two chains in this scenario, and nothing else reads the others.
#[tokio::test]
async fn a_chain_that_the_index_does_not_cover_is_not_empty() {
    let shop = Shop::in_scenario("balances_cover_two").await;
    let body = shop.buy(&format!("/portfolio?address={ACCOUNT}")).await;
    let data = &body["data"];
    let chains = data["chains"].as_array().unwrap();
    let read: Vec<_> = chains
        .iter()
        .filter(|chain| chain["status"] == "ok")
        .map(|chain| chain["chain_id"].as_u64().unwrap())
        .collect();
    assert_eq!(read, [196, 8453]);
    assert_eq!(data["total_usd_complete"], false);
    // The other chains were not read, so the answer does not claim a zero balance for them.
    for chain in chains.iter().filter(|chain| chain["status"] != "ok") {
        assert_eq!(chain["usd"], Value::Null, "{chain}");
    }
    let idle = shop.buy(&format!("/idle-capital?address={ACCOUNT}")).await;
    assert_eq!(idle["data"]["total_idle_usd_complete"], false);
    let unread = idle["data"]["chains_unavailable"].as_array().unwrap();
    let partly = idle["data"]["chains_partly_read"].as_array().unwrap();
    assert_eq!(unread.len() + partly.len(), 9, "{}", idle["data"]);
}

#[tokio::test]
async fn an_index_that_lists_no_coin_of_the_chain_needs_a_node() {
    let shop = without_nodes(&["8453", "1"], &[]).await;
    let body = shop.buy(&format!("/portfolio?address={ACCOUNT}")).await;
    let data = &body["data"];
    let chain = |id: u64| {
        let mut chains = data["chains"].as_array().unwrap().iter();
        chains.find(|chain| chain["chain_id"] == id).unwrap()
    };
    for (id, usd) in [(1, Value::Null), (8453, json!("9.999"))] {
        assert_eq!(chain(id)["status"], "partial");
        assert_eq!(
            chain(id)["reasons"],
            json!(["native_balance_unread", "balance_unavailable"])
        );
        assert_eq!(chain(id)["usd"], usd);
    }
    assert_eq!(chain(196)["status"], "ok");
    assert_eq!(data["total_usd_complete"], false);
    assert_eq!(source(&body, "rpc.base").unwrap()["status"], "unavailable");
}

#[tokio::test]
async fn without_the_index_nodes_and_explorers_answer_and_the_sum_is_partial() {
    let shop = without_nodes(&[], &["okx"]).await;
    let body = shop
        .buy(&format!("/portfolio?address={ACCOUNT}&chains=196,8453"))
        .await;
    let data = &body["data"];
    assert_eq!(data["total_usd_complete"], false);
    let (home, base) = (&data["chains"][0], &data["chains"][1]);
    assert_eq!(
        (&home["status"], &home["coverage"]),
        (&json!("partial"), &json!("listed_tokens"))
    );
    assert_eq!(
        home["reasons"],
        json!(["only_listed_tokens", "balance_unavailable", "price_unknown"])
    );
    let tokens = home["tokens"].as_array().unwrap();
    let of = |symbol: &str| {
        tokens
            .iter()
            .find(|token| token["symbol"] == symbol)
            .unwrap()
    };
    assert_eq!(of("OKB")["amount"], "1.25");
    // Its price comes from a source that needs no key.
    assert_eq!(of("OKB")["price_usd"], "118.41");
    assert_eq!(source(&body, "defillama.coins").unwrap()["status"], "ok");
    assert_eq!(of("USD₮0")["amount"], "42.5");
    // The call for this token failed, so its balance is unknown and not zero.
    assert_eq!(
        (&of("xETH")["raw"], &of("xETH")["amount"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        why_missing(&body, "data.chains[].tokens[].raw"),
        Some("balance_unavailable")
    );
    assert_eq!(base["coverage"], "indexed");
    assert_eq!(
        (&base["usd"], &base["tokens"][0]["price_usd"]),
        (&json!("41.844"), &json!("3184.5"))
    );
    assert_eq!(
        source(&body, "okx.balances").unwrap()["status"],
        "unavailable"
    );
}

#[tokio::test]
async fn an_explorer_does_not_bring_back_a_spent_balance() {
    let recordings = Recordings::embedded()
        .unwrap()
        .with_scenario("evm_rpc_spent");
    let world = World::replaying(recordings, |config, _replay| {
        let okx = config.upstreams.0.get_mut("okx").expect("an upstream");
        assert!(okx.set_url("base_url", "http://127.0.0.1:9".to_owned()));
    })
    .await;
    let body = Shop { world }
        .buy(&format!("/portfolio?address={ACCOUNT}&chains=8453"))
        .await;
    let base = &body["data"]["chains"][0];
    // The explorer still lists 10 USDC.
    assert_eq!(base["coverage"], "indexed");
    // The chain's coin remains. Its price comes from a source that needs no key.
    assert_eq!(base["usd"], "31.845");
    let tokens = base["tokens"].as_array().unwrap();
    assert!(tokens.iter().all(|token| token["address"] == ""), "{base}");
}

#[tokio::test]
async fn a_chain_that_fails_is_labelled_and_the_rest_is_sold() {
    let shop = without_nodes(&["196"], &["okx"]).await;
    let body = shop
        .buy(&format!("/portfolio?address={ACCOUNT}&chains=196,8453"))
        .await;
    let home = &body["data"]["chains"][0];
    assert_eq!(
        (&home["status"], &home["usd"], &home["tokens"]),
        (&json!("unavailable"), &Value::Null, &Value::Null)
    );
    assert_eq!(body["data"]["total_usd_complete"], false);
    assert_eq!(
        why_missing(&body, "data.chains[].tokens"),
        Some("upstream_unreachable")
    );
}

#[tokio::test]
async fn nothing_is_sold_when_every_chain_fails() {
    let shop = without_nodes(&["196", "8453"], &["okx", "blockscout"]).await;
    let error = shop
        .refused(
            &format!("/portfolio?address={ACCOUNT}&chains=196,8453"),
            503,
            "core_data_missing",
        )
        .await;
    assert_eq!(error["missing"], json!(["balances"]));
}

#[tokio::test]
async fn the_default_account_is_the_payers_own_wallet() {
    let error = Shop::open()
        .await
        .refused("/portfolio", 404, "no_sub_wallet")
        .await;
    assert_eq!(error["made_by"], "GET /sub-wallet");
}
