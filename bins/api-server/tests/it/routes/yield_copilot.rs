//! Tests of `POST /yield-copilot` without custody, over an embedded chain with a lending pool and a
//! vault.

use std::path::Path;

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolCall, sol};
use dev_chain::{BUYER, DevChain, USDG, USDT0};
use route_catalog::Operation;
use serde_json::{Value, json};

use crate::routes::shop::{Shop, unavailable, well_formed};
use crate::support::World;
use crate::support::buyer::Answer;

const POOL: Address = address!("E3F3Caefdd7180F884c01E57f65Df979Af84f116");
const SHARES: Address = address!("1111111111111111111111111111111111111111");
const VAULT: Address = address!("2222222222222222222222222222222222222222");
/// DefiLlama's pool of USDG on chain 196, which is used for the vault.
const USDG_POOL: &str = "0a1f6a52-2b1f-4c0e-9d2e-1c1e1f0b0196";
const USDT0_POOL: &str = "aa70268e-4b52-42bf-a116-608b370f9501";

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
}

/// The code of a contract that gives one answer to each of its functions, and reverts for all
/// others.
fn answering(answers: &[(&str, Vec<U256>)]) -> Bytes {
    // The selector: PUSH0 CALLDATALOAD, PUSH1 224, SHR.
    let mut code = vec![0x60, 0x00, 0x35, 0x60, 0xe0, 0x1c];
    // DUP1, PUSH4, EQ, PUSH2 place, JUMPI for each; then a revert.
    let mut place = code.len() + answers.len() * 11 + 5;
    let mut bodies = Vec::new();
    for (signature, words) in answers {
        code.extend([0x80, 0x63]);
        code.extend(&keccak256(signature.as_bytes())[..4]);
        code.extend([0x14, 0x61]);
        code.extend(u16::try_from(place).unwrap().to_be_bytes());
        code.push(0x57);
        // JUMPDEST; each word PUSH32, PUSH2, MSTORE; then RETURN.
        let mut body = vec![0x5b];
        for (index, word) in words.iter().enumerate() {
            body.push(0x7f);
            body.extend(word.to_be_bytes::<32>());
            body.push(0x61);
            body.extend(u16::try_from(index * 32).unwrap().to_be_bytes());
            body.push(0x52);
        }
        body.push(0x61);
        body.extend(u16::try_from(words.len() * 32).unwrap().to_be_bytes());
        body.extend([0x60, 0x00, 0xf3]);
        place += body.len();
        bodies.extend(body);
    }
    code.extend([0x60, 0x00, 0x60, 0x00, 0xfd]);
    code.extend(bodies);
    code.into()
}

fn word(address: Address) -> U256 {
    U256::from_be_bytes(B256::left_padding_from(address.as_slice()).0)
}

/// The code of an Aave v3 pool with one reserve, which has no cap. `paused` sets the bit of that
/// name.
fn pool(paused: bool) -> Bytes {
    let mut reserve = vec![U256::ZERO; 15];
    reserve[0] = (U256::from(1) << 56) | (U256::from(u8::from(paused)) << 60);
    reserve[8] = word(SHARES);
    answering(&[("getReserveData(address)", reserve)])
}

/// The code of a vault of USDG in which 1000 buy shares that are worth 999.5.
fn vault() -> Bytes {
    let of = |amount: u64| vec![U256::from(amount)];
    answering(&[
        ("asset()", vec![word(USDG)]),
        ("maxDeposit(address)", vec![U256::MAX]),
        ("previewDeposit(uint256)", of(990_000_000)),
        ("convertToAssets(uint256)", of(999_500_000)),
        ("decimals()", of(6)),
    ])
}

fn reviewed(folder: &Path, products: &[(Address, Address, &str, &str)]) -> std::path::PathBuf {
    let mut text = "version = \"test\"\n".to_owned();
    for (contract, asset, protocol, id) in products {
        let selector = match *protocol {
            "aave-v3" => "0x617ba037",
            _ => "0x6e553f65",
        };
        text.push_str(&format!(
            "[[targets]]\nchain_id = 196\ncontract = \"{contract}\"\nselectors = [\"{selector}\"]\nwhat = \"a product\"\n\
             product_id = \"{id}\"\nprotocol = \"{protocol}\"\nasset = \"{asset}\"\n"
        ));
    }
    let path = folder.join("targets.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// A server without custody that reviews these products.
async fn shop(folder: &Path, paused: bool, products: &[(Address, Address, &str, &str)]) -> Shop {
    let chain = DevChain::builder()
        .chain_196_assets()
        .code(POOL, pool(paused))
        .code(VAULT, vault())
        .build()
        .unwrap();
    chain.mine();
    chain.mine();
    let reviewed = reviewed(folder, products);
    let world = Box::pin(World::on(chain, move |config, rpc| {
        config.wallets.reviewed = Some(reviewed);
        let table = config.chains.0.entry("196".to_owned()).or_default();
        table.rpc_urls = vec![rpc.to_owned()];
        table.mode = None;
    }))
    .await;
    Shop { world }
}

const BOTH: [(Address, Address, &str, &str); 2] = [
    (POOL, USDT0, "aave-v3", "aave-v3-xlayer-usdt0"),
    (VAULT, USDG, "erc4626", USDG_POOL),
];

async fn ask(shop: &Shop, body: &Value) -> Answer {
    crate::routes::published::pay(shop, "POST", "/yield-copilot", &body.to_string()).await
}

async fn bought(shop: &Shop, body: &Value) -> Value {
    let before = shop.world.paid();
    let answer = ask(shop, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(shop.world.paid(), before + 50_000);
    assert_eq!(
        answer.headers["cache-control"],
        "private, no-store, no-transform"
    );
    well_formed("/yield-copilot", &answer.body());
    answer.body()
}

async fn refused(shop: &Shop, body: &Value, status: u16, code: &str) -> Value {
    let before = shop.world.paid();
    let answer = ask(shop, body).await;
    answer.is_refused(status, code);
    assert_eq!(shop.world.paid(), before, "{body} was charged");
    answer.body()["error"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_has_the_payers_own_transactions_and_figures_after_costs() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), false, &BOTH).await;
    let example = Operation::YieldCopilot.route().example_call().body;
    let body = bought(&shop, &example).await;
    let data = &body["data"];
    assert_eq!(data["account"], BUYER.address.to_string());
    assert_eq!(data["executed"], false);
    assert_eq!(data["left_out"], json!([]));
    let plan = &data["plans"][0];
    assert_eq!(
        (&plan["rank"], &plan["product_id"], &plan["pool"]),
        (
            &json!(1),
            &json!("aave-v3-xlayer-usdt0"),
            &json!(USDT0_POOL)
        )
    );
    assert_eq!(
        (&plan["apy_pct"], &plan["slippage_bps"]),
        (&json!("4.12"), &json!("0"))
    );
    for figure in ["net_apy_pct", "est_gas_usd", "breakeven_days"] {
        assert!(plan[figure].is_string(), "{figure}: {plan}");
    }
    let net: f64 = plan["net_apy_pct"].as_str().unwrap().parse().unwrap();
    assert!(net > 0.0 && net < 4.12, "{net}");

    // The same code plans the deposits of sub-wallets: an exact approval, and a deposit for the
    // signer.
    let amount = U256::from(1_000_000_000_u64);
    let approval = approveCall {
        spender: POOL,
        amount,
    };
    let supply = supplyCall {
        asset: USDT0,
        amount,
        onBehalfOf: BUYER.address,
        referralCode: 0,
    };
    let step = |kind: &str, to: Address, data: Vec<u8>| json!({"kind": kind, "chain_id": 196, "to": to.to_string(), "value": "0", "data": Bytes::from(data).to_string()});
    assert_eq!(
        plan["steps"],
        json!([
            step("approve", USDT0, approval.abi_encode()),
            step("call", POOL, supply.abi_encode()),
        ])
    );
    // The catalog shows the same plan.
    let shown: Value = serde_json::from_str(Operation::YieldCopilot.route().example).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../crates/route-catalog/src/examples/yield_copilot.json"
        );
        let mut text = serde_json::to_string(data).unwrap();
        text.push('\n');
        std::fs::write(path, text).unwrap();
    }
    assert_eq!(members(&shown), members(data));
    assert_eq!(members(&shown["plans"][0]), members(plan));
    assert_eq!(shown["plans"][0]["steps"], plan["steps"]);
}

fn members(value: &Value) -> Vec<&String> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loss_of_a_vault_is_a_cost() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), false, &BOTH).await;
    let ask = json!({"asset": "USDG", "amount": "1000", "risk": "high"});
    let body = bought(&shop, &ask).await;
    let plan = &body["data"]["plans"][0];
    assert_eq!(plan["protocol"], "erc4626");
    // 0.5 of 1000 is 0.05 %.
    assert_eq!(
        (&plan["apy_pct"], &plan["slippage_bps"]),
        (&json!("5.2"), &json!("5"))
    );
    let net: f64 = plan["net_apy_pct"].as_str().unwrap().parse().unwrap();
    assert!(net > 0.0 && net < 5.15, "{net}");
    // The least number of shares is a thousandth below the preview.
    assert_eq!(plan["min_shares_atoms"], "989010000");
    let deposit = depositCall {
        assets: U256::from(1_000_000_000_u64),
        receiver: BUYER.address,
    };
    assert_eq!(
        plan["steps"][1]["data"],
        Bytes::from(deposit.abi_encode()).to_string()
    );
}

/// With `execute`, the first plan becomes an action of the sub-wallet. The wallet has no funds
/// here, so the answer is 409, as from `/auto-defi-invest`.
#[tokio::test(flavor = "multi_thread")]
async fn with_execute_it_answers_like_an_action() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = shop(folder.path(), false, &BOTH).await;
    let path = folder.path().to_owned();
    let with_custody = move |config: &mut api_server::Config| {
        crate::routes::sub_wallet::custody(config, &path, "the operator's secret");
        config.wallets.chains = vec![196];
    };
    shop.world.restart_with(with_custody).await;
    let ask = json!({"asset": "USDT0", "amount": "1000", "execute": true});
    refused(&shop, &ask, 404, "no_sub_wallet").await;
    shop.buy("/sub-wallet").await;
    let planned = refused(&shop, &ask, 409, "funds_required").await;
    let invest = json!({
        "chain_id": 196, "protocol": "aave-v3", "asset": "USDT0", "amount": "1000",
        "product_id": "aave-v3-xlayer-usdt0",
    });
    let answer =
        crate::routes::published::pay(&shop, "POST", "/auto-defi-invest", &invest.to_string())
            .await;
    answer.is_refused(409, "funds_required");
    let acted = answer.body()["error"].clone();
    for member in [
        "reason",
        "sub_wallet",
        "chain_id",
        "token",
        "amount",
        "amount_atoms",
    ] {
        assert_eq!(planned[member], acted[member], "{member}");
    }
    assert_eq!(planned["amount"], "1000");
    let asked = &planned["principal_auth"]["message"];
    assert_eq!(
        (&asked["from"], &asked["to"], &asked["value"]),
        (
            &json!(BUYER.address.to_string()),
            &planned["sub_wallet"],
            &json!("1000000000")
        )
    );
    // Wallets do not act on this chain, so nothing is executed there.
    shop.world
        .restart_with(|config| config.wallets.chains = vec![8453])
        .await;
    let error = refused(&shop, &ask, 503, "upstream_unavailable").await;
    assert_eq!(error["reason"], "no_chain_connected");
    // A plan alone needs neither funds nor wallets.
    let ask = json!({"asset": "USDT0", "amount": "1000"});
    assert_eq!(bought(&shop, &ask).await["data"]["executed"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_plan_is_refused_uncharged() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), false, &BOTH).await;
    let asked = |asset: &str, amount: &str, more: Value| {
        let mut body = json!({"asset": asset, "amount": amount});
        let members = body.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        body
    };
    let error = refused(&shop, &asked("WBTC", "1", json!({})), 404, "not_found").await;
    assert_eq!(error["reason"], "no_such_product");
    let elsewhere = json!({"chains": [8453]});
    let error = refused(&shop, &asked("USDT0", "1", elsewhere), 404, "not_found").await;
    assert_eq!(error["reason"], "no_such_product");
    let execute = json!({"execute": true});
    let error = refused(
        &shop,
        &asked("USDT0", "1", execute),
        503,
        "upstream_unavailable",
    )
    .await;
    assert_eq!(error["reason"], "no_custody_connected");
    // The amount has seven decimals, and the token has six.
    refused(
        &shop,
        &asked("USDT0", "1.0000001", json!({})),
        400,
        "invalid_params",
    )
    .await;
    // The amount is more than a tenth of the market.
    let large = asked("USDT0", "30000000", json!({}));
    let error = refused(&shop, &large, 404, "not_found").await;
    assert_eq!(
        (&error["reason"], &error["left_out"][0]["reason"]),
        (&json!("no_plan"), &json!("no_room"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_takes_no_deposit_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let products = [BOTH[0], (VAULT, USDG, "erc4626", "a-vault-without-a-yield")];
    let shop = shop(folder.path(), true, &products).await;
    let ask = json!({"asset": "USDT0", "amount": "1000"});
    let error = refused(&shop, &ask, 404, "not_found").await;
    assert_eq!(error["left_out"][0]["reason"], "product_paused");
    // No source states the yield, so it is unavailable.
    let ask = json!({"asset": "USDG", "amount": "1000"});
    let error = refused(&shop, &ask, 503, "core_data_missing").await;
    assert_eq!(error["left_out"][0]["reason"], "yield_not_known");
    assert_eq!(error["missing"], json!(["plans"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_fact_beside_a_plan_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let products = [
        BOTH[1],
        (POOL, USDT0, "erc4626", "no-yield-1"),
        (SHARES, USDG, "erc4626", "no-contract"),
    ];
    let shop = shop(folder.path(), false, &products).await;
    let ask = json!({"asset": "USDG", "amount": "1000", "risk": "high"});
    let body = bought(&shop, &ask).await;
    assert_eq!(body["data"]["plans"].as_array().unwrap().len(), 1);
    let left_out = &body["data"]["left_out"][0];
    assert_eq!(left_out["product_id"], "no-contract");
    assert_eq!(left_out["reason"], "product_unreadable", "{left_out}");
    assert_eq!(
        unavailable(&body, "data.plans"),
        &Value::Null,
        "it does not fit; nothing is missing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_yields_nothing_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = shop(folder.path(), false, &BOTH).await;
    let offered =
        |document: &Value| document["paths"]["/yield-copilot"]["post"]["x-availability"].clone();
    let document = shop.world.buyer.get("/openapi.json").await.body();
    assert_eq!(offered(&document)["servable"], true);
    let gone = |config: &mut api_server::Config| config.datasets.yields = false;
    shop.world.restart_with(gone).await;
    let ask = json!({"asset": "USDT0", "amount": "1000"});
    let error = refused(&shop, &ask, 503, "core_data_missing").await;
    assert_eq!(error["missing"], json!(["yield_snapshot"]));
    let document = shop.world.buyer.get("/openapi.json").await.body();
    assert_eq!(offered(&document)["reason"], "dataset_not_gathered");

    let without = |config: &mut api_server::Config| {
        config.datasets.yields = true;
        config.wallets.reviewed = None;
    };
    shop.world.restart_with(without).await;
    let error = refused(&shop, &ask, 503, "upstream_unavailable").await;
    assert_eq!(error["reason"], "no_reviewed_products");
    let document = shop.world.buyer.get("/openapi.json").await.body();
    assert_eq!(offered(&document)["reason"], "no_reviewed_products");
}
