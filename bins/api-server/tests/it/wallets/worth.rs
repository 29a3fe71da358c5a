//! Tests of what exchanges are worth. The aggregator is honest about a ruinous quote, calls a token
//! a trap, or says nothing, and the sources of prices lie or are silent: nothing is signed, and
//! nothing is charged.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use api_server::Config;
use dev_chain::{base, xlayer};
use serde_json::{Map, Value, json};

use crate::wallets::between::Liar;
use crate::wallets::stage::Stage;

const TARGETS: &str = include_str!("../../../../../docs/wallet-targets.example.toml");

/// Changes an answer. The first argument is the path with its query.
type Turn = Box<dyn Fn(&str, &mut Value) + Send>;

/// An upstream between the server and the recordings whose answers a test changes.
#[derive(Clone, Default)]
struct Turned(Arc<Mutex<Option<Turn>>>);

impl Turned {
    async fn telling(&self) -> (Arc<Liar>, String) {
        let turn = Arc::clone(&self.0);
        Liar::telling(move |path, answer| {
            if let Some(turn) = turn.lock().unwrap().as_ref() {
                turn(path, answer);
            }
        })
        .await
    }

    /// Tells prices of the present with a further change. The recorded ones have their own time.
    fn prices(&self, change: impl Fn(&mut Map<String, Value>) + Send + 'static) {
        self.tells(move |_, answer| {
            let Some(coins) = answer["coins"].as_object_mut() else {
                return;
            };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            for row in coins.values_mut() {
                row["timestamp"] = now.as_secs().saturating_sub(45).into();
            }
            change(coins);
        });
    }

    fn tells(&self, turn: impl Fn(&str, &mut Value) + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(turn));
    }
}

/// A stage whose aggregator of the home chain and whose DefiLlama say what a test wants.
struct Market {
    stage: Stage,
    aggregator: Turned,
    prices: Turned,
    _folder: tempfile::TempDir,
}

impl Market {
    async fn open() -> Self {
        let (aggregator, prices) = (Turned::default(), Turned::default());
        prices.prices(|_| {});
        // WOKB can be bought only when it can be withdrawn.
        let folder = tempfile::tempdir().unwrap();
        let targets = folder.path().join("targets.toml");
        let wokb = format!(
            "\n[[targets]]\nchain_id = 196\ncontract = \"{}\"\nselectors = [\"0xa9059cbb\"]\nwhat = \"WOKB: transfer\"\n",
            xlayer::WOKB
        );
        std::fs::write(&targets, format!("{TARGETS}{wokb}")).unwrap();
        let (okx, okx_url) = aggregator.telling().await;
        let (llama, llama_url) = prices.telling().await;
        let change = move |config: &mut Config| {
            let table = config.upstreams.0.get_mut("okx").unwrap();
            okx.hears(table.base_url.replace(okx_url).unwrap());
            let table = config.upstreams.0.get_mut("defillama").unwrap();
            llama.hears(table.coins_url.replace(llama_url).unwrap());
            config.wallets.reviewed = Some(targets);
        };
        let stage = Box::pin(Stage::over("", |config, _| change(config))).await;
        stage.give_usdg(1_000_000_000);
        stage.give_usdc(1_000_000_000);
        Self {
            stage,
            aggregator,
            prices,
            _folder: folder,
        }
    }

    /// The number of judgements with this result, in the metrics.
    async fn judged(&self, result: &str) -> u64 {
        let series = format!("svc_worth_judgements_total{{result=\"{result}\"}} ");
        let metrics = self.stage.world.buyer.get("/metrics").await.text;
        let count = metrics.lines().find_map(|line| line.strip_prefix(&series));
        count.unwrap().parse().unwrap()
    }

    /// Asserts that the action is refused with this code, which the metrics count, and is neither
    /// charged nor signed.
    async fn refuses(&self, route: &str, body: &Value, code: &str) -> Value {
        let before = (self.stage.world.paid(), self.stage.sent().len());
        let judged = self.judged(code).await;
        let answer = self.stage.post(route, body).await;
        answer.is_refused(422, code);
        let error = answer.body()["error"].clone();
        assert_eq!(error["charged"], false, "{error}");
        let after = (self.stage.world.paid(), self.stage.sent().len());
        assert_eq!(before, after, "{error}");
        assert!(self.judged(code).await > judged, "{error}");
        error
    }
}

fn swap() -> Value {
    json!({
        "chain_id": "196", "from_token": xlayer::USDG.to_string(), "to_token": xlayer::WOKB.to_string(),
        "amount": "100", "slippage": "1",
    })
}

/// Makes the aggregator's quote this many times worse, in its amounts and in its calldata.
fn divide(answer: &mut Value, by: u128) {
    let row = &mut answer["data"][0];
    let number = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    let out = number(&row["routerResult"]["toTokenAmount"]);
    let least = number(&row["tx"]["minReceiveAmount"]);
    row["routerResult"]["toTokenAmount"] = (out / by).to_string().into();
    row["tx"]["minReceiveAmount"] = (least / by).to_string().into();
    let data = row["tx"]["data"].as_str().unwrap();
    let turned = data
        .replace(&format!("{least:064x}"), &format!("{:064x}", least / by))
        .replace(&format!("{out:040x}"), &format!("{:040x}", out / by));
    assert!(by == 1 || turned != data, "{data}");
    row["tx"]["data"] = turned.into();
}

/// The aggregator is honest about itself: its amounts are a sixth or a thirtieth of the price, and
/// its router pays that.
#[tokio::test(flavor = "multi_thread")]
async fn a_ruinous_quote_is_refused_and_one_at_the_price_is_carried_out() {
    let market = Box::pin(Market::open()).await;
    let router = |impact: Value| json!({ "priceImpactPercent": impact });
    let token = |member: &str, value: Value| json!({ "toToken": { member: value } });
    let of_input = |member: &str, value: Value| json!({ "fromToken": { member: value } });
    let too_high = "price_impact_too_high";
    for (by, said, code) in [
        (6, router("-83.33".into()), too_high),
        (30, router(Value::Null), too_high),
        (30, router("-0.05".into()), too_high),
        (1, router("-3.01".into()), too_high),
        (1, token("isHoneyPot", true.into()), "token_is_honeypot"),
        (1, token("isHoneyPot", "true".into()), "token_is_honeypot"),
        (1, of_input("isHoneyPot", true.into()), "token_is_honeypot"),
        (1, token("taxRate", "0.99".into()), "token_tax_too_high"),
        (1, of_input("taxRate", "0.011".into()), "token_tax_too_high"),
    ] {
        let told = said.clone();
        market.aggregator.tells(move |path, answer| {
            if path.contains("/aggregator/swap") {
                divide(answer, by);
                merge(&mut answer["data"][0]["routerResult"], &told);
            }
        });
        let error = market.refuses("/auto-swap", &swap(), code).await;
        assert_eq!(error["retryable"], false, "{said}: {error}");
    }
    market.aggregator.tells(|path, answer| {
        if path.contains("/aggregator/swap") {
            assert!(path.contains("priceImpactProtectionPercent=3"), "{path}");
            merge(
                &mut answer["data"][0]["routerResult"],
                &json!({ "priceImpactPercent": null }),
            );
        }
    });
    let holds = market.judged("holds").await;
    let done = market.stage.done("/auto-swap", &swap()).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert!(market.judged("holds").await > holds);
    let worth = &done["result"]["judged"]["worth"];
    assert_eq!(worth["limit_bps"], 300, "{done}");
    assert_eq!(
        worth["input_price"]["quotes"][0]["source"],
        "defillama.coins"
    );
}

/// Lays `over` over `value`, member by member.
fn merge(value: &mut Value, over: &Value) {
    match over {
        Value::Object(members) => {
            for (name, member) in members {
                merge(&mut value[name], member);
            }
        }
        over => *value = over.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_tightens_the_limit_and_does_not_pass_the_ceiling() {
    let market = Box::pin(Market::open()).await;
    let with = |limit: u32| {
        let mut body = swap();
        body["max_price_impact_bps"] = limit.into();
        body
    };
    // The recorded quote is twelve basis points below the prices.
    let error = market
        .refuses("/auto-swap", &with(5), "price_impact_too_high")
        .await;
    assert!(
        error["message"].as_str().unwrap().contains("limit is 5"),
        "{error}"
    );
    market.aggregator.tells(|path, answer| {
        if path.contains("/aggregator/swap") {
            // The loss is five percent.
            let row = &answer["data"][0]["routerResult"]["toTokenAmount"];
            let out: u128 = row.as_str().unwrap().parse().unwrap();
            assert!(path.contains("priceImpactProtectionPercent="), "{path}");
            divide_by_parts(answer, out);
        }
    });
    market
        .refuses("/auto-swap", &swap(), "price_impact_too_high")
        .await;
    // The operator's ceiling is ten percent, whatever a caller asks for.
    let answer = market.stage.post("/auto-swap", &with(600)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    market.aggregator.tells(|path, answer| {
        if path.contains("/aggregator/swap") {
            divide(answer, 2);
        }
    });
    market
        .refuses("/auto-swap", &with(9_999), "price_impact_too_high")
        .await;
}

/// Makes the quote five percent worse.
fn divide_by_parts(answer: &mut Value, out: u128) {
    let row = &mut answer["data"][0];
    let least: u128 = row["tx"]["minReceiveAmount"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let worse = |amount: u128| amount / 100 * 95;
    // The least output follows from the quoted one.
    let (new_out, new_least) = (worse(out), worse(out) * 99 / 100);
    row["routerResult"]["toTokenAmount"] = new_out.to_string().into();
    row["tx"]["minReceiveAmount"] = new_least.to_string().into();
    let data = row["tx"]["data"].as_str().unwrap();
    let turned = data
        .replace(&format!("{least:064x}"), &format!("{new_least:064x}"))
        .replace(&format!("{out:040x}"), &format!("{new_out:040x}"));
    row["tx"]["data"] = turned.into();
}

/// Swaps on other chains go through another aggregator, and deposits through none.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_price_that_counts_nothing_is_signed() {
    let mut market = Box::pin(Market::open()).await;
    let on_base = json!({
        "chain_id": "8453", "from_token": base::USDC.to_string(), "to_token": base::WETH.to_string(),
        "amount": "100", "slippage": "0.5",
    });
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "5" });
    let lies: [fn(&mut Value); 3] = [
        // A missing confidence is no confidence.
        |row| drop(row.as_object_mut().unwrap().remove("confidence")),
        |row| row["confidence"] = json!(0.5),
        |row| row["timestamp"] = json!(row["timestamp"].as_i64().unwrap() - 400),
    ];
    for lie in lies {
        market
            .prices
            .prices(move |coins| coins.values_mut().for_each(lie));
        // A new process knows no earlier price.
        Box::pin(market.stage.world.restart()).await;
        for (route, body) in [
            ("/auto-swap", &swap()),
            ("/auto-swap", &on_base),
            ("/auto-defi-invest", &invest),
        ] {
            let error = market.refuses(route, body, "worth_unknown").await;
            assert_eq!(error["retryable"], true, "{error}");
            assert_eq!(error["next"]["action"], "send_same_again", "{error}");
        }
    }
}

/// The price of one source says that the swap is ruinous; the quote says that it is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_through_the_router_of_another_chain_is_judged_as_well() {
    let market = Box::pin(Market::open()).await;
    let on_base = json!({
        "chain_id": "8453", "from_token": base::USDC.to_string(), "to_token": base::WETH.to_string(),
        "amount": "100", "slippage": "0.5",
    });
    let weth = format!("base:{:#x}", base::WETH);
    market.prices.prices(move |coins| {
        if let Some(row) = coins.get_mut(&weth) {
            row["price"] = json!(250);
        }
    });
    market
        .refuses("/auto-swap", &on_base, "price_impact_too_high")
        .await;
}

/// On chain 196 one source suffices alone, but not against another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_lies_alone_is_contradicted() {
    let market = Box::pin(Market::open()).await;
    let wokb = format!("xlayer:{:#x}", xlayer::WOKB);
    market.prices.prices(move |coins| {
        if let Some(row) = coins.get_mut(&wokb) {
            // At this price a thirtieth of the output would be enough.
            row["price"] = json!(118.41 * 30.0);
        }
    });
    market.aggregator.tells(|path, answer| {
        if path.contains("/aggregator/swap") {
            divide(answer, 30);
        }
    });
    let error = market.refuses("/auto-swap", &swap(), "worth_unknown").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("contradict each other"), "{error}");
}

/// Nothing is signed for `/swap`, so the answer has the calldata, and says in words what speaks
/// against signing it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_swap_warns_under_the_code_of_the_refusal() {
    let mut market = Box::pin(Market::open()).await;
    // Another amount is another purchase.
    let body = |amount: usize| {
        json!({
            "fromToken": xlayer::USDG.to_string(), "toToken": xlayer::WOKB.to_string(),
            "amount": amount.to_string(),
            "userWalletAddress": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        })
    };
    let router = |impact: Value| json!({ "priceImpactPercent": impact });
    let token = |member: &str, value: Value| json!({ "toToken": { member: value } });
    let cases = [
        (1, json!({}), None),
        (1, router(Value::Null), None),
        (1, router("-97.5".into()), Some("price_impact_too_high")),
        (30, router(Value::Null), Some("price_impact_too_high")),
        (30, router("-0.05".into()), Some("price_impact_too_high")),
        (
            1,
            token("isHoneyPot", true.into()),
            Some("token_is_honeypot"),
        ),
        (
            1,
            token("isHoneyPot", "true".into()),
            Some("token_is_honeypot"),
        ),
        (
            1,
            token("taxRate", "0.99".into()),
            Some("token_tax_too_high"),
        ),
    ];
    for (at, (by, said, code)) in cases.into_iter().enumerate() {
        let told = said.clone();
        market.aggregator.tells(move |path, answer| {
            if path.contains("/aggregator/swap") {
                divide(answer, by);
                merge(&mut answer["data"][0]["routerResult"], &told);
            }
        });
        let answer = market.stage.post("/swap", &body(100 + at)).await.body();
        assert_eq!(warned(&answer).as_deref(), code, "{by} {said}: {answer}");
    }
    market.aggregator.tells(|_, _| {});
    market.prices.prices(|coins| {
        for row in coins.values_mut() {
            drop(row.as_object_mut().unwrap().remove("confidence"));
        }
    });
    // A new process knows no earlier price.
    Box::pin(market.stage.world.restart()).await;
    let answer = market.stage.post("/swap", &body(200)).await.body();
    assert_eq!(
        warned(&answer).as_deref(),
        Some("worth_unknown"),
        "{answer}"
    );
}

/// A source of prices that never answers does not hold the calldata up.
#[tokio::test]
async fn an_unsigned_swap_does_not_wait_for_prices() {
    let hung = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", hung.local_addr().unwrap());
    let change = move |config: &mut Config| {
        let table = config.upstreams.0.get_mut("dexscreener").unwrap();
        table.base_url = Some(url);
        table.timeout_ms = Some(600_000);
    };
    let stage = Box::pin(Stage::over("", |config, _| change(config))).await;
    let body = json!({
        "fromToken": xlayer::USDG.to_string(), "toToken": xlayer::WOKB.to_string(),
        "amount": "100", "userWalletAddress": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    });
    let (answer, _connection) = tokio::join!(stage.post("/swap", &body), async {
        let (connection, _) = hung.accept().await.unwrap();
        test_support::skip(Duration::from_secs(5)).await;
        connection
    });
    let answer = answer.body();
    assert_eq!(warned(&answer).as_deref(), Some("worth_unknown"));
    let message = answer["meta"]["warnings"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("did not answer in time"), "{answer}");
}

/// The code of an answer's only warning, which has a text, too. The plan is there either way.
fn warned(answer: &Value) -> Option<String> {
    assert!(answer["data"]["tx"]["data"].is_string(), "{answer}");
    let warnings = answer["meta"]["warnings"].as_array();
    let warnings = warnings.map(Vec::as_slice).unwrap_or_default();
    assert!(warnings.len() < 2, "{answer}");
    let warning = warnings.first()?;
    assert!(warning["message"].as_str().unwrap().len() > 20, "{answer}");
    Some(warning["code"].as_str().unwrap().to_owned())
}
