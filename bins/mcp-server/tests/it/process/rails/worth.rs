//! Tests of what a swap is worth, through the real binary: the plan states the judgement, or there
//! is no plan. The sources of prices say what a test wants; the aggregator's quote is always the
//! recorded one, which says that it is fair.

use calldata_checks::Rail;
use serde_json::{Value, json};
use test_support::wait;

use super::REQUESTS;
use super::stage::{Stage, Venues};
use crate::process::node::Node;

const TOOL: &str = "svc_prepare_swap";

/// The recorded request for 1,000 USDC into WETH, with a limit of the caller.
fn arguments(max_price_impact_bps: Option<u64>) -> String {
    let (_, text) = REQUESTS
        .iter()
        .find(|(rail, _)| *rail == Rail::Swap)
        .unwrap();
    let mut arguments: Value = serde_json::from_str(text).unwrap();
    if let Some(bps) = max_price_impact_bps {
        arguments["maxPriceImpactBps"] = json!(bps);
    }
    arguments.to_string()
}

/// A server whose DefiLlama states this row for WETH, beside its present price and time.
fn stage(edit: impl Fn(&mut Value)) -> Stage {
    Stage::over("", priced_by("price_base_weth.json", edit))
}

/// Venues in whose recording of a price a test changes the row.
fn priced_by(recording: &str, edit: impl Fn(&mut Value)) -> Venues {
    Venues::changed(|file, text| {
        if file != recording {
            return text;
        }
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        let row = answer["coins"].as_object_mut().unwrap();
        row.values_mut().for_each(&edit);
        answer.to_string()
    })
}

fn priced(weth: u32) -> Stage {
    stage(move |row| row["price"] = json!(weth))
}

#[test]
fn a_plan_states_what_the_swap_is_worth() {
    let stage = priced(2_500);
    let plan = stage.call(TOOL, &arguments(None))["structuredContent"].clone();
    assert_eq!(plan["schema_version"], "1.3");
    assert_eq!(plan["assertions"].as_array().unwrap().len(), 12);
    let [judged] = plan["judgements"].as_array().unwrap().as_slice() else {
        panic!("{plan}");
    };
    assert_eq!(judged["name"], "agg_output_price_bound");
    assert_eq!(judged["result"], "holds");
    let observed = judged["observed"].as_str().unwrap();
    for part in [
        "1000 USD in, 994.5 USD out: 55 basis points less, at most 300",
        "the minimum is worth 989.5275 USD",
        "input at 1 USD (defillama.coins of ",
        "output at 2500 USD (defillama.coins of ",
        ", confidence 0.99)",
    ] {
        assert!(observed.contains(part), "{part}: {observed}");
    }
    assert!(!plan["disclosure"].to_string().contains("worth_unknown"));
    wait(stage.server.stop());
}

#[test]
fn a_quote_that_is_not_worth_its_input_gives_no_plan() {
    // At this price the output is worth 954.72 dollars.
    let stage = priced(2_400);
    let refused = stage.refusal(TOOL, &arguments(None));
    assert_eq!(refused["check"], "price_impact_too_high");
    assert_eq!(refused["expected"], "at most 300 basis points");
    assert_eq!(refused["observed"], "453");
    // A caller may lose more than that on purpose, or less than the operator allows.
    let plan = stage.call(TOOL, &arguments(Some(453)))["structuredContent"].clone();
    assert_eq!(plan["judgements"][0]["result"], "holds", "{plan}");
    for bps in [0, 54, 452] {
        let refused = stage.refusal(TOOL, &arguments(Some(bps)));
        assert_eq!(refused["check"], "price_impact_too_high", "{bps}");
    }
    wait(stage.server.stop());

    // The operator's ceiling is ten percent, whatever a caller asks for.
    let stage = priced(2_000);
    let refused = stage.refusal(TOOL, &arguments(Some(10_000)));
    assert_eq!(refused["check"], "price_impact_too_high");
    assert_eq!(refused["expected"], "at most 1000 basis points");
    wait(stage.server.stop());
}

/// The aggregator is asked to keep to the limit itself: here it quotes for no other limit.
#[test]
fn the_aggregator_gets_the_limit_of_the_caller() {
    for (asked, sent, check) in [
        (None, "0.03", Value::Null),
        (Some(50), "0.005", "price_impact_too_high".into()),
        // The operator's ceiling.
        (Some(10_000), "0.1", Value::Null),
    ] {
        let only = format!(r#""integrator": "*", "maxPriceImpact": "{sent}""#);
        let venues = Venues::changed(|_, text| text.replace(r#""integrator": "*""#, &only));
        let stage = Stage::over("", venues);
        let told = stage.call(TOOL, &arguments(asked))["structuredContent"].clone();
        assert_eq!(told["refused"]["check"], check, "{sent}: {told}");
        wait(stage.server.stop());
    }
}

/// What a quote admits of itself needs no price.
#[test]
fn a_quote_that_states_its_own_loss_gives_no_plan() {
    let stage = Stage::over(
        "",
        Venues::changed(|file, text| {
            if file != "quote_usdc_weth.json" {
                return text;
            }
            let mut quote: Value = serde_json::from_str(&text).unwrap();
            quote["estimate"]["fromAmountUSD"] = json!("1000");
            quote["estimate"]["toAmountUSD"] = json!("960");
            quote.to_string()
        }),
    );
    let refused = stage.refusal(TOOL, &arguments(None));
    assert_eq!(refused["check"], "price_impact_too_high");
    assert_eq!(refused["observed"], "400");
    let plan = stage.call(TOOL, &arguments(Some(400)))["structuredContent"].clone();
    assert_eq!(plan["judgements"][0]["result"], "holds", "{plan}");
    let minimum = &plan["disclosure"]["minimum_output"];
    assert_eq!(minimum["quote_price_impact_bps"], 400);
    wait(stage.server.stop());
}

#[test]
fn a_plan_whose_worth_nobody_knows_says_so() {
    let silent: [fn(&mut Value); 3] = [
        // A missing confidence is no confidence.
        |row| drop(row.as_object_mut().unwrap().remove("confidence")),
        |row| row["confidence"] = json!(0.5),
        |row| row["price"] = Value::Null,
    ];
    for edit in silent {
        let stage = stage(edit);
        let plan = stage.call(TOOL, &arguments(None))["structuredContent"].clone();
        let judged = &plan["judgements"][0];
        assert_eq!(judged["result"], "unknown", "{plan}");
        assert!(judged["observed"].as_str().unwrap().len() > 20, "{judged}");
        let notes = plan["disclosure"]["notes"].to_string();
        assert!(notes.contains("worth_unknown"), "{notes}");
        wait(stage.server.stop());
    }
}

/// A source that lies about the decimals of a token would choose the worth of a swap.
#[test]
fn a_token_states_its_own_decimals_where_there_is_a_node() {
    // By this source a million times as much goes in.
    let lie = || priced_by("price_base_usdc.json", |row| row["decimals"] = json!(0));
    let stage = Stage::over("", lie());
    let refused = stage.refusal(TOOL, &arguments(None));
    assert_eq!(refused["check"], "price_impact_too_high");
    wait(stage.server.stop());
    for (is_stated, result) in [(true, "holds"), (false, "unknown")] {
        let node = Node::open(8453, move |request| {
            let call = &request["params"][0];
            let of_weth = call["to"] == "0x4200000000000000000000000000000000000006";
            let decimals = if of_weth { 18 } else { 6 };
            let is_asked = call["data"] == "0x313ce567";
            (is_stated && is_asked).then(|| json!(format!("0x{decimals:064x}")))
        });
        let lines = format!("chains.8453.rpc_urls = ['{}']\n", node.url);
        let stage = Stage::over(&lines, lie());
        let plan = stage.call(TOOL, &arguments(None))["structuredContent"].clone();
        assert_eq!(plan["judgements"][0]["result"], result, "{plan}");
        wait(stage.server.stop());
    }
}
