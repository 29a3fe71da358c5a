//! The calls that every client makes: each tool once with a plan as the result, and once with a
//! refusal.

use std::time::{SystemTime, UNIX_EPOCH};

use calldata_checks::{Rail, UtcSeconds};
use dev_chain::base::{USDC, WETH};
use plan_builder::{Request, verify};
use serde::Serialize;
use serde_json::{Value, json};

use crate::base_chain::TRADER;
use crate::rails::policy;

/// The tools, in the order of the tools list.
pub(crate) const TOOLS: [&str; 5] = [
    "svc_prepare_swap",
    "svc_prepare_bridge",
    "svc_prepare_pm_order",
    "svc_prepare_perp_order",
    "svc_delegation_fence_status",
];

/// One call and its expected result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    #[serde(skip)]
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// A plan of this rail.
    Plan(Rail),
    /// The public record of the fence.
    Fence,
    /// A refusal by this name.
    Refusal(&'static str),
}

pub(crate) fn calls() -> Vec<Call> {
    let with = |arguments: &Value, name: &str, value: Value| {
        let mut arguments = arguments.clone();
        arguments[name] = value;
        arguments
    };
    let account =
        |chain_id: u64| json!({"kind": "eoa", "address": TRADER.address, "chainId": chain_id});
    let swap = json!({
        "accountProfile": account(8453),
        "chainId": 8453,
        "fromToken": USDC,
        "toToken": WETH,
        "fromAmount": "1000000000",
        "slippage": {"maxBps": 50},
    });
    let bridge = json!({
        "accountProfile": account(8453),
        "fromChainId": 8453,
        "toChainId": 42161,
        "token": "USDC",
        "amount": "25000000",
        "transferSpeed": "fast",
    });
    let pm_order = json!({
        "accountProfile": account(137),
        "tokenId": "68037499376105572055155402848342376736342093236553438132563031797889957479533",
        "side": "BUY",
        "price": "0.5",
        "size": "100",
    });
    let perp_order = json!({
        "accountProfile": {"kind": "eoa", "address": TRADER.address},
        "coin": "BTC",
        "side": "buy",
        "price": "97000",
        "size": "0.001",
        "takeProfit": {"triggerPrice": "110000"},
        "stopLoss": {"triggerPrice": "90000", "limitPrice": "89000"},
    });
    let [swaps, bridges, pm_orders, perp_orders, fence] = TOOLS;
    [
        (swaps, Outcome::Plan(Rail::Swap), swap.clone()),
        (
            swaps,
            Outcome::Refusal("route_unsupported"),
            with(
                &swap,
                "toToken",
                json!("0x00000000000000000000000000000000000000aa"),
            ),
        ),
        (bridges, Outcome::Plan(Rail::Bridge), bridge.clone()),
        (
            bridges,
            Outcome::Refusal("chain_unsupported"),
            with(&bridge, "toChainId", json!(196)),
        ),
        (pm_orders, Outcome::Plan(Rail::PmOrder), pm_order.clone()),
        (
            pm_orders,
            Outcome::Refusal("pm_price_tick_aligned"),
            with(&pm_order, "price", json!("0.555")),
        ),
        (
            perp_orders,
            Outcome::Plan(Rail::PerpOrder),
            perp_order.clone(),
        ),
        (
            perp_orders,
            Outcome::Refusal("perp_price_tick_exact"),
            with(&perp_order, "price", json!("97000.5")),
        ),
        (fence, Outcome::Fence, json!({})),
        (
            fence,
            Outcome::Refusal("input_invalid"),
            json!({"unexpected": true}),
        ),
    ]
    .map(|(name, outcome, arguments)| Call {
        name,
        arguments,
        outcome,
    })
    .into()
}

impl Call {
    /// Asserts that the result that a client got is the expected one.
    pub(crate) fn check(&self, result: &Value) {
        assert_eq!(result.get("error"), None, "{self:?}");
        let structured = &result["structuredContent"];
        let blocks = result["content"].as_array().expect("content");
        let [block] = &blocks[..] else {
            panic!("one block of content: {result:#}")
        };
        assert_eq!(block["type"], "text");
        let text = block["text"].as_str().expect("a text");
        let said: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(said, *structured, "{self:?}");
        let is_error = result["isError"].as_bool().unwrap_or(false);
        assert_eq!(
            is_error,
            matches!(self.outcome, Outcome::Refusal(_)),
            "{result:#}"
        );
        match self.outcome {
            Outcome::Refusal(check) => {
                assert_eq!(structured["refused"]["check"], check, "{structured:#}");
            }
            Outcome::Fence => {
                assert_eq!(structured["present"], false);
                let members = structured.as_object().unwrap().keys();
                assert!(
                    members.eq([
                        "per_swap_cap_usd",
                        "policy_name",
                        "present",
                        "project_id",
                        "rules_digest"
                    ]),
                    "{structured:#}"
                );
            }
            Outcome::Plan(rail) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let now = UtcSeconds::from_unix(now.as_secs());
                let request = Request::parse(rail, &self.arguments.to_string()).unwrap();
                verify(&request, text, now, &policy())
                    .unwrap_or_else(|refusal| panic!("{refusal:?}\n{structured:#}"));
                if rail == Rail::Swap {
                    assert_eq!(structured["simulation"]["outcome"], "as_planned");
                }
            }
        }
    }
}
