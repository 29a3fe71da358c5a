//! What passes: the twelve assertions in their order, and the forms that real quotes have.

use alloy_primitives::U256;
use plan_checks::{BasisPoints, Facts as _, Rail, swap::SwapFacts};

use crate::sample::{GROSS, STRANGER, Sample, USDC, WETH, leg, part};

#[test]
fn the_twelve_assertions_in_their_order() {
    let report = Sample::new().judge().unwrap();
    assert_eq!(report.rail(), Rail::Swap);
    let names: Vec<&str> = report.assertions().iter().map(|a| a.name).collect();
    assert_eq!(
        names,
        [
            "agg_integrator_exact",
            "agg_fee_recipient_exact",
            "agg_fee_amount_exact",
            "agg_fee_recipient_set_versioned",
            "agg_fee_aggregate_cap",
            "agg_receiver_account_bound",
            "agg_min_out_slippage_bound",
            "agg_token_amount_bound",
            "agg_targets_value_bound",
            "payload_digest_committed",
            "erc20_allowance_reset_ordered",
            "artifact_expiry_committed",
        ]
    );
    assert_eq!(SwapFacts::CHECKS.len(), 12);
}

#[test]
fn what_each_assertion_saw() {
    let report = Sample::new().judge().unwrap();
    let observed: Vec<&str> = report
        .assertions()
        .iter()
        .map(|a| a.observed.as_str())
        .collect();
    assert_eq!(
        observed,
        [
            "\"svc\"",
            "2 reviewed recipients",
            "3000000 = floor(1000000007 * 30 / 10000)",
            "2 recipients, each once",
            "5500000 <= 6000000",
            "receiver = quoted sender = quoted receiver = account",
            "298500000000000000 >= 298500000000000000",
            "one deposit of 1000000007; exchange legs: 1",
            "spender = target = router; value 0; reviewed legs: 1",
            "keccak256 over RFC 8785 without this digest",
            "approve 0, approve amount, call",
            "2026-11-18T11:11:40Z",
        ]
    );
}

#[test]
fn what_the_bytes_say() {
    let sample = Sample::two_exchanges();
    let facts = sample.decode(&sample.steps()).unwrap();
    assert_eq!(facts.integrator, "svc");
    assert_eq!(facts.receiver, sample.asked.account);
    assert_eq!(facts.total_fees(), Some(U256::from(5_500_000)));
    assert_eq!(facts.exchanged, Some(U256::from(GROSS - 5_500_000)));
    assert_eq!(facts.fee_leg.distributions.len(), 2);
    assert_eq!(facts.legs.len(), 2);
    assert!(facts.steps.call.data.is_empty());
}

#[test]
fn a_route_over_another_token() {
    Sample::two_exchanges().judge().unwrap();
}

#[test]
fn a_route_over_two_exchanges_at_once() {
    let mut sample = Sample::new();
    sample.call._swapData[1].fromAmount = U256::from(400_000_000);
    let rest = GROSS - 5_500_000 - 400_000_000;
    sample.call._swapData.push(leg(USDC, WETH, rest));
    sample.judge().unwrap();
}

#[test]
fn no_referrer_at_all_and_no_sender_in_the_transaction() {
    let mut sample = Sample::new();
    sample.call._referrer = String::new();
    sample.quoted.call_from = None;
    sample.judge().unwrap();
}

#[test]
fn a_spender_that_is_another_reviewed_contract() {
    let mut sample = Sample::new();
    sample.call._swapData[1].approveTo = crate::sample::KYBER;
    sample.judge().unwrap();
}

#[test]
fn the_order_of_the_recipients_is_free() {
    let mut sample = Sample::new();
    sample.fees._distributions.reverse();
    sample.judge().unwrap();
}

/// Two recipients cannot tell "each once" from "all others once".
#[test]
fn a_reviewed_set_of_one_recipient_and_one_of_three() {
    let mut one = Sample::new();
    one.policy.recipients.truncate(1);
    one.fees._distributions.remove(0);
    one.call._swapData[1].fromAmount = U256::from(GROSS - 3_000_000);
    one.judge().unwrap();

    let mut three = Sample::new();
    let mut partner = three.policy.recipients[1].clone();
    partner.address = STRANGER;
    three.policy.recipients.push(partner);
    three.fees._distributions.push(part(STRANGER, 500_000));
    three.call._swapData[1].fromAmount = U256::from(GROSS - 6_000_000);
    three.judge().unwrap();
}

#[test]
fn fees_exactly_at_the_cap() {
    let mut sample = Sample::new();
    sample.fees._distributions[0].amount = U256::from(3_000_000);
    sample.call._swapData[1].fromAmount = U256::from(GROSS - 6_000_000);
    sample.judge().unwrap();
}

#[test]
fn the_least_output_exactly_at_its_bounds() {
    let mut sample = Sample::new();
    sample.asked.min_amount_out = Some(sample.call._minAmountOut);
    sample.judge().unwrap();
    sample.asked.max_slippage = BasisPoints::new(51).unwrap();
    sample.judge().unwrap();
}

#[test]
fn the_largest_input_whose_shares_can_be_computed() {
    let mut sample = Sample::new();
    sample.scale(U256::MAX / U256::from(60));
    sample.judge().unwrap();
}
