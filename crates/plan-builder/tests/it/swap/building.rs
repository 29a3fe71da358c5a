//! Tests of what a plan contains, and of the refusals after a failure of a port.

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, UtcSeconds, swap::calldata::FeeDistribution};
use plan_builder::{
    Request,
    ports::{NoSimulator, PortError, PortErrorReason, SwapAsk},
    swap, verify,
};
use serde_json::{Value, json};

use crate::swap::sample::{
    ACCOUNT, Aggregator, BASE, Failing, NOW, OWN, QUOTED, ROUTER, USDC, WETH, arguments, build,
    moment, now, parse, policy, policy_with, ready, sealed, verified,
};

fn plan(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_question_to_the_aggregator() {
    let quotes = Aggregator::new(|_| {});
    ready(swap::build(
        &parse(&arguments()).unwrap(),
        &quotes,
        &NoSimulator,
        &policy(),
        &moment(),
    ))
    .unwrap();
    assert_eq!(
        *quotes.asked.lock().unwrap(),
        [SwapAsk {
            chain_id: BASE,
            from_token: USDC,
            to_token: WETH,
            from_amount: U256::from(1_000_000_007),
            account: ACCOUNT,
            max_slippage: BasisPoints::new(50).unwrap(),
            integrator: "svc".to_owned(),
            fee: BasisPoints::new(30).unwrap(),
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            max_price_impact: None,
        }]
    );
}

#[test]
fn the_envelope() {
    let sealed = sealed();
    let plan = plan(sealed.json());
    assert_eq!(plan["rail"], "swap");
    assert_eq!(
        plan["account_binding"],
        json!({"address": ACCOUNT.to_string(), "chain_id": BASE, "kind": "eoa", "roles": ["sender", "receiver"]})
    );
    assert_eq!(
        plan["submission"]["adapter_owned_fields"],
        json!(["nonce", "gas", "serialization"])
    );
    assert_eq!(
        plan["required_capabilities"],
        json!(["send_evm_transaction"])
    );
    assert_eq!(
        plan["replay_disclosure"],
        json!({
            "artifact_role": "construction_aid",
            "freshness_boundary": "valid_until",
            "after_a_reverted_call": "A reverted call undoes itself only: the allowance that the step approve has set stays. Send payload.steps[0] (approve_reset) again to clear it, before anything else is signed for this token.",
            "onchain_replay_boundary": "signer_account_nonce",
            "tool_guarantees_single_execution": false,
        })
    );
    assert_eq!(
        plan["valid_until"],
        UtcSeconds::from_unix(NOW + 60).to_string()
    );
    assert_eq!(plan["assertions"].as_array().unwrap().len(), 12);
    assert!(plan.get("exports").is_none() && plan.get("simulation").is_none());
    assert!(
        sealed.json().len() < 11_000,
        "{} bytes",
        sealed.json().len()
    );
}

#[test]
fn the_steps() {
    let plan = plan(sealed().json());
    let steps = plan["payload"]["steps"].as_array().unwrap();
    let outline: Vec<_> = steps
        .iter()
        .map(|s| (&s["kind"], &s["to"], &s["value"]))
        .collect();
    let (token, router) = (USDC.to_string(), ROUTER.to_string());
    assert_eq!(
        outline,
        [
            (&json!("approve_reset"), &json!(token), &json!("0")),
            (&json!("approve"), &json!(token), &json!("0")),
            (&json!("call"), &json!(router), &json!("0")),
        ]
    );
    let spender = format!("{:0>64}", hex::encode(ROUTER));
    assert_eq!(steps[0]["data"], format!("0x095ea7b3{spender}{:064x}", 0));
    assert_eq!(
        steps[1]["data"],
        format!("0x095ea7b3{spender}{:064x}", 1_000_000_007)
    );
    assert!(steps[2]["data"].as_str().unwrap().starts_with("0x5fd9ae2e"));
    assert_eq!(plan["payload"]["chain_id"], BASE);
}

#[test]
fn the_fees_are_read_from_the_calldata() {
    let sealed = build(&arguments(), |draft| {
        draft.fees._distributions[0].amount = U256::from(2_000_000);
        draft.call._swapData[1].fromAmount += U256::from(500_000);
    });
    let plan = plan(sealed.unwrap().json());
    assert_eq!(
        plan["fee_attribution"],
        json!({
            "aggregate_cap_bps": 60,
            "fee_model": "B/forwarder-v2",
            "integrator": "svc",
            "left_in_router": "0",
            "mechanism": "aggregator_fee_forwarder",
            "recipients": [
                {"address": OWN.to_string(), "amount": "3000000", "bps": 30, "configured_bps": 30, "role": "own"},
                {"address": "0xC06ebbefD94032B85424D51906e2A335EFAe264B", "amount": "2000000", "bps": 20, "configured_bps": 25, "role": "aggregator"},
            ],
            "rounding": "floor",
            "total_amount": "5000000",
            "version": "2026-11-01",
        })
    );
}

#[test]
fn a_safe_account_with_both_exports() {
    let mut arguments = arguments();
    arguments["accountProfile"]["kind"] = json!("safe");
    arguments["exports"] = json!(["eip5792", "safe_tx_builder"]);
    let sealed = build(&arguments, |_| {}).unwrap();
    let plan = plan(sealed.json());
    assert_eq!(plan["account_binding"]["kind"], "safe");
    assert_eq!(
        plan["required_capabilities"],
        json!(["execute_safe_transaction"])
    );
    let steps = plan["payload"]["steps"].as_array().unwrap();
    let batch = plan["exports"]["safe_tx_builder"]["transactions"]
        .as_array()
        .unwrap();
    let send_calls = &plan["exports"]["eip5792"];
    let digits = plan["artifact_id"].as_str().unwrap().strip_prefix("swap-");
    assert_eq!(send_calls["id"], format!("0x{}", digits.unwrap()));
    let calls = send_calls["calls"].as_array().unwrap();
    for ((step, transaction), call) in steps.iter().zip(batch).zip(calls) {
        for member in ["to", "data"] {
            assert_eq!(
                (&transaction[member], &call[member]),
                (&step[member], &step[member])
            );
        }
    }
    let request = Request::Swap(parse(&arguments).unwrap());
    verify(&request, sealed.json(), now(), &policy()).unwrap();
}

#[test]
fn a_plan_verifies_until_it_is_over() {
    let sealed = sealed();
    let verified = verified(sealed.json()).unwrap();
    assert_eq!(verified.payload_digest(), sealed.payload_digest());
    assert_eq!(verified.plan_report().assertions().len(), 12);
    // The request has no `minAmountOut`, and only the plan states the quoted output.
    assert_eq!(verified.report().assertions().len(), 11);
    let open = verified.report().not_established();
    assert_eq!(open[0].name, "agg_min_out_slippage_bound");
    let request = Request::Swap(parse(&arguments()).unwrap());
    let at = |seconds| {
        verify(
            &request,
            sealed.json(),
            UtcSeconds::from_unix(seconds),
            &policy(),
        )
    };
    at(NOW + 59).unwrap();
    assert_eq!(at(NOW + 60).unwrap_err().check, "artifact_expiry_committed");
    assert_eq!(
        at(NOW - 601).unwrap_err().check,
        "artifact_expiry_committed"
    );
}

#[test]
fn a_minimum_that_the_quote_guarantees() {
    let mut arguments = arguments();
    let guaranteed = QUOTED / 10_000 * 9950;
    arguments["minAmountOut"] = json!(guaranteed.to_string());
    build(&arguments, |_| {}).unwrap();
    arguments["minAmountOut"] = json!(guaranteed + 1);
    assert_eq!(
        build(&arguments, |_| {}).unwrap_err().check,
        "agg_min_out_slippage_bound"
    );
}

#[test]
fn foreign_names_become_one_short_line() {
    let sealed = build(&arguments(), |draft| {
        draft.quote.tool = "a\u{1b}[2J\n\u{85}".repeat(100)
    })
    .unwrap();
    let tool = plan(sealed.json())["payload"]["quote"]["tool"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        tool.chars().count() == 64 && !tool.chars().any(char::is_control),
        "{tool}"
    );
    verified(sealed.json()).unwrap();
}

#[test]
fn failures_of_the_aggregator_by_name() {
    let text = || "x".to_owned();
    for (reason, check) in [
        (
            PortErrorReason::Unavailable { detail: text() },
            "quote_unavailable",
        ),
        (
            PortErrorReason::NotConfigured { detail: text() },
            "quote_unavailable",
        ),
        (PortErrorReason::Refused { detail: text() }, "quote_refused"),
        (
            PortErrorReason::RateLimited { retry_after: None },
            "rate_limited",
        ),
        (
            PortErrorReason::Malformed {
                path: text(),
                detail: text(),
            },
            "quote_malformed",
        ),
        (
            PortErrorReason::NoRoute { detail: text() },
            "route_unsupported",
        ),
        (
            PortErrorReason::Unknown { subject: text() },
            "token_unsupported",
        ),
    ] {
        let quotes = Failing(PortError {
            source_name: "lifi".into(),
            reason,
        });
        let request = parse(&arguments()).unwrap();
        let refusal = ready(swap::build(
            &request,
            &quotes,
            &NoSimulator,
            &policy(),
            &moment(),
        ));
        assert_eq!(refusal.unwrap_err().check, check);
    }
}

#[test]
fn a_stale_quote_is_refused() {
    let read = |read_at: u64| {
        build(&arguments(), |draft| {
            draft.quote.read_at = UtcSeconds::from_unix(read_at);
        })
    };
    read(NOW - 60).unwrap();
    for other in [NOW - 61, NOW - 3600, NOW + 61, 0] {
        assert_eq!(read(other).unwrap_err().check, "quote_stale", "{other}");
    }
}

#[test]
fn a_recipient_that_is_paid_nothing_is_named() {
    let notes = |bps| -> Vec<String> {
        let policy = policy_with(|fees| fees["recipients"][0]["bps"] = json!(bps));
        let quotes = Aggregator::new(|draft| {
            let paid = |part: &FeeDistribution| !part.amount.is_zero();
            draft.fees._distributions.retain(paid);
        });
        let request = parse(&arguments()).unwrap();
        let at = moment();
        let built = swap::build(&request, &quotes, &NoSimulator, &policy, &at);
        let plan = plan(ready(built).unwrap().json());
        let notes = plan["disclosure"]["notes"].as_array().unwrap().iter();
        notes
            .map(|note| note.as_str().unwrap().to_owned())
            .collect()
    };
    let unpaid = "The recipient \"own\" is paid nothing of this input: its configured share is 0 basis points.";
    assert!(notes(0).iter().any(|note| note == unpaid), "{:?}", notes(0));
    assert!(!notes(30).iter().any(|note| note.contains("paid nothing")));
}
