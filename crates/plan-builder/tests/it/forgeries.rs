//! Tests of plans whose forger edits every member together: invents a quote, a market or a reading,
//! and changes all that follows from it.
//!
//! Each plan answers the request and verifies. The report says what it does not establish. The
//! forged plans of bridges are tested inside the crate, beside the tests of its Safes.

use alloy_primitives::U256;
use plan_builder::{
    Judgement, JudgementResult, Policy, Refusal, Request, Verified, VerifiedPlan,
    ports::{NoSimulator, PortError, SwapAsk, SwapQuote, SwapQuotes},
    swap, verify,
};
use serde_json::json;

use crate::{
    perp_order::venue::{self, Venue},
    pm_order::stage,
    swap::sample::{self, Draft},
};

fn open(verified: &Verified) -> Vec<&'static str> {
    let open = verified.report().not_established().iter();
    open.map(|check| check.name).collect()
}

/// A source that quotes one unit for the whole input, and a judge who calls that fair.
struct Robber;

impl SwapQuotes for Robber {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        let mut draft = Draft::of(ask);
        draft.quote.to_amount = U256::ONE;
        draft.quote.to_amount_min = U256::ONE;
        draft.quote.from_usd = Some("1000".parse().unwrap());
        draft.quote.to_usd = Some("1000".parse().unwrap());
        draft.call._minAmountOut = U256::ONE;
        Ok(draft.finish())
    }

    async fn judge_worth(&self, ask: &SwapAsk, _: &SwapQuote) -> Result<Judgement, Refusal> {
        assert_eq!(ask.from_amount, U256::from(1_000_000_007));
        let fair = "1000 USD in, 1000 USD out";
        Ok(Judgement::output_price(true, fair))
    }
}

#[test]
fn a_swap_for_nothing_verifies_and_its_price_is_not_established() {
    let (request, policy) = (
        sample::parse(&sample::arguments()).unwrap(),
        sample::policy(),
    );
    let at = sample::moment();
    let plan = sample::ready(swap::build(&request, &Robber, &NoSimulator, &policy, &at)).unwrap();
    let verified = verify(&Request::Swap(request), plan.json(), sample::now(), &policy).unwrap();
    let VerifiedPlan::Swap(swap) = verified.plan() else {
        panic!("{verified:?}");
    };
    assert_eq!(swap.min_amount_out, U256::ONE);
    assert_eq!(open(&verified), ["agg_min_out_slippage_bound"]);
    // The judgement is the plan's own statement, and no assertion.
    let [judged] = verified.judgements() else {
        panic!("{verified:?}");
    };
    assert_eq!(judged.result(), JudgementResult::Holds);
    assert_eq!(verified.plan_report().assertions().len(), 12);
    // By the plan's own report, everything holds.
    assert!(verified.plan_report().not_established().is_empty());
    let why = verified.report().not_established()[0].observed.as_str();
    assert_eq!(why, "only by the quoted output, as the plan states: 1 >= 0");
}

#[test]
fn a_least_output_of_the_request_is_established() {
    let mut arguments = sample::arguments();
    arguments["minAmountOut"] = json!("298500000000000000");
    let request = Request::Swap(sample::parse(&arguments).unwrap());
    let honest = sample::build(&arguments, |_| {}).unwrap();
    let policy = sample::policy();
    let verified = verify(&request, honest.json(), sample::now(), &policy).unwrap();
    assert_eq!(open(&verified), [""; 0]);
    let cheaper = sample::build(&arguments, |draft| {
        draft.quote.to_amount_min -= U256::ONE;
        draft.call._minAmountOut -= U256::ONE;
    });
    assert_eq!(cheaper.unwrap_err().check, "agg_min_out_slippage_bound");
}

/// The market is one of another exchange, the token stands for the other outcome, and the venue
/// takes nothing for the builder code.
#[test]
fn an_order_at_an_invented_market_verifies_and_its_market_is_not_established() {
    let mut stage = stage::stages().swap_remove(2);
    stage.market().neg_risk = !stage.market().neg_risk;
    stage.market().tokens[0].outcome = "No".to_owned();
    stage.market().tokens[1].outcome = "Yes".to_owned();
    let verified = stage.verify(stage.build().unwrap().json()).unwrap();
    assert_eq!(
        open(&verified),
        [
            "pm_neg_risk_exchange_matched",
            "pm_token_bound",
            "pm_price_tick_aligned",
            "pm_size_lot_bound",
            "pm_builder_exact",
            "pm_version_pinned",
        ]
    );
    assert!(verified.plan_report().not_established().is_empty());
}

/// The order is for another coin than the requested one.
#[test]
fn an_order_of_an_invented_asset_verifies_only_without_a_review() {
    let mut venue = Venue::bitcoin();
    (venue.asset.universe_index, venue.asset.asset_id) = (7, 7);
    let arguments = venue::arguments(json!({}));
    let verified = |built_by: &Policy, policy: &Policy| -> Result<Verified, Refusal> {
        let plan = venue::build(&arguments, &venue, built_by)?;
        let request = venue::parse(&arguments)?;
        verify(&request, plan.json(), venue::now(), policy)
    };
    assert_eq!(
        open(&verified(&venue::policy(), &venue::policy()).unwrap()),
        [
            "perp_asset_bound",
            "perp_price_tick_exact",
            "perp_size_lot_exact",
            "perp_price_band",
        ]
    );
    let reviewing = venue::reviewing(&[("BTC", 0, 5)]);
    let refusal = verified(&venue::policy(), &reviewing).unwrap_err();
    assert_eq!(refusal.check, "perp_asset_bound");
    // For a reviewed coin, only the mark price is the plan's reading.
    let reviewing = venue::reviewing(&[("BTC", 7, 5)]);
    assert_eq!(
        open(&verified(&reviewing, &reviewing).unwrap()),
        ["perp_price_band"]
    );
}
