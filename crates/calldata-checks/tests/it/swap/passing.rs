//! Passing plans: the assertions in their order, and the forms that real quotes have.

use alloy_primitives::U256;
use alloy_sol_types::SolCall as _;
use calldata_checks::{
    BasisPoints, Facts as _, Rail,
    swap::{
        SwapFacts,
        calldata::{SwapCall, swapTokensSingleV3ERC20ToERC20Call},
    },
};

use crate::swap::sample::{GROSS, STRANGER, Sample, part};

#[test]
fn the_assertions_in_their_order() {
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
    assert!(report.not_established().is_empty());
    assert_eq!(SwapFacts::CHECKS.len(), 12);
}

#[test]
fn the_observation_of_each_assertion() {
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
fn the_facts_of_the_bytes() {
    let sample = Sample::two_exchanges();
    let facts = sample.decode(&sample.steps()).unwrap();
    assert_eq!(facts.integrator(), "svc");
    assert_eq!(facts.receiver(), sample.asked.account);
    assert_eq!(facts.total_fees(), Some(U256::from(5_500_000)));
    assert_eq!(facts.exchanged(), U256::from(GROSS - 5_500_000));
    assert_eq!(facts.distributions().len(), 2);
    assert_eq!(facts.legs().len(), 2);
    assert!(facts.steps().call.data.is_empty());
}

#[test]
fn a_route_over_another_token() {
    Sample::two_exchanges().judge().unwrap();
}

#[test]
fn no_referrer_at_all_and_no_sender_in_the_transaction() {
    let mut sample = Sample::new();
    sample.call._referrer = String::new();
    sample.quoted.call_from = None;
    sample.judge().unwrap();
}

/// An exchange whose tokens are pulled by a proxy of its own.
#[test]
fn a_spender_that_was_reviewed_for_its_leg() {
    let mut sample = Sample::new();
    sample.policy.chains[0].legs[0].spender = STRANGER;
    sample.call._swapData[1].approveTo = STRANGER;
    sample.judge().unwrap();
}

/// When a share rounds to zero, the aggregator writes a zero amount, or leaves the recipient out.
#[test]
fn recipients_who_are_due_nothing() {
    // 25 basis points of 399 round to zero, 30 to one unit; of 333 both round to zero.
    let mut sample = Sample::new();
    sample.scale(U256::from(399));
    let named = sample.judge().unwrap();
    assert_eq!(
        named.assertions()[3].observed.as_str(),
        "2 recipients, each once"
    );
    sample.fees._distributions.remove(0);
    let one = sample.judge().unwrap();
    assert_eq!(
        one.assertions()[3].observed.as_str(),
        "1 recipients, each once; 1 due nothing"
    );
    let mut nobody = Sample::new();
    nobody.scale(U256::from(333));
    nobody.judge().unwrap();
    nobody.fees._distributions.clear();
    nobody.judge().unwrap();
}

/// An operator whose integrator is not registered earns nothing: the fee leg pays the aggregator
/// only.
#[test]
fn an_own_share_of_zero_basis_points() {
    let mut sample = Sample::new();
    sample.policy.recipients[0].bps = BasisPoints::new(0).unwrap();
    sample.fees._distributions.pop();
    sample.call._swapData[1].fromAmount = U256::from(GROSS - 2_500_000);
    sample.judge().unwrap();
}

/// Without any fee there is no fee leg, and the router's function for one leg is enough.
#[test]
fn a_swap_without_a_fee_leg() {
    for single in [false, true] {
        let mut sample = Sample::new();
        for recipient in &mut sample.policy.recipients {
            recipient.bps = BasisPoints::new(0).unwrap();
        }
        sample.call._swapData.remove(0);
        sample.call._swapData[0].fromAmount = U256::from(GROSS);
        sample.call._swapData[0].requiresDeposit = true;
        sample.policy.chains[0]
            .selectors
            .push([0x46, 0x66, 0xfc, 0x80].into());
        if single {
            sample.edit_call = |data| {
                let call = SwapCall::decode(data).unwrap();
                *data = swapTokensSingleV3ERC20ToERC20Call {
                    _transactionId: alloy_primitives::B256::ZERO,
                    _integrator: call.integrator,
                    _referrer: call.referrer,
                    _receiver: call.receiver,
                    _minAmountOut: call.min_amount_out,
                    _swapData: call.legs[0].clone(),
                }
                .abi_encode();
            };
        }
        let facts = sample.decode(&sample.steps()).unwrap();
        assert_eq!((facts.fee_leg(), facts.legs().len()), (None, 1));
        sample.judge().unwrap();
        // A fee leg pays each recipient with a share.
        sample.policy.recipients[1].bps = BasisPoints::new(25).unwrap();
        assert_eq!(sample.judge().unwrap_err().check, "agg_fee_recipient_exact");
    }
}

#[test]
fn the_order_of_the_recipients_is_free() {
    let mut sample = Sample::new();
    sample.fees._distributions.reverse();
    sample.judge().unwrap();
}

/// With two recipients, "each once" and "all others once" are the same.
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
    sample.policy.aggregate_cap = BasisPoints::new(55).unwrap();
    sample.judge().unwrap();
}

/// An aggregator that takes less than its configured share gives the rest to the account.
#[test]
fn an_aggregator_that_takes_less() {
    let mut sample = Sample::new();
    sample.fees._distributions[0].amount = U256::from(2_000_000);
    sample.call._swapData[1].fromAmount = U256::from(GROSS - 5_000_000);
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
