//! Tests of hostile and mistaken quotes. The builder gives no plan, and the refusal names the
//! check.

use alloy_primitives::{Bytes, U256, address};
use calldata_checks::swap::calldata::FeeDistribution;

use crate::swap::sample::{
    AGGREGATOR, Draft, FORWARDER, OWN, ROUTER, STRANGER, USDC, WETH, arguments, build,
};

macro_rules! refused {
    ($($name:ident: $check:literal => |$draft:ident| $change:expr;)+) => {$(
        #[test]
        fn $name() {
            let refusal = build(&arguments(), |$draft: &mut Draft| { $change; }).expect_err("a plan comes out");
            assert_eq!(refusal.check, $check, "{refusal}");
            assert!(!refusal.to_json().contains("0x5fd9ae2e00"), "no calldata in a refusal");
        }
    )+};
}

refused! {
    integrator_in_another_case: "agg_integrator_exact" => |d| d.call._integrator = "SVC".to_owned();
    integrator_of_the_quote: "agg_integrator_exact" => |d| d.quote.integrator = "svc ".to_owned();
    integrator_as_referrer: "agg_integrator_exact" => |d| d.call._referrer = "svc2".to_owned();
    forwarder_v1: "agg_fee_recipient_exact" => |d| d.call._swapData[0].callTo = address!("685527c551Cc40ce1f1C9818cD8683307076E4eD");
    unrecognised_recipient: "agg_fee_recipient_exact" => |d| d.fees._distributions[0].recipient = STRANGER;
    own_fee_of_the_net: "agg_fee_amount_exact" => |d| d.fees._distributions[1].amount = U256::from(2_992_500);
    missing_recipient: "agg_fee_recipient_set_versioned" => |d| d.fees._distributions.pop();
    recipient_twice: "agg_fee_recipient_set_versioned" => |d| d.fees._distributions.push(FeeDistribution { recipient: AGGREGATOR, amount: U256::ONE });
    recipient_for_nothing: "agg_fee_recipient_set_versioned" => |d| d.fees._distributions[0].amount = U256::ZERO;
    second_fee_leg: "agg_fee_recipient_set_versioned" => |d| { let leg = d.call._swapData[0].clone(); d.call._swapData.insert(1, leg); };
    trailing_word_in_the_fee_leg: "agg_fee_recipient_set_versioned" => |d| d.fee_suffix = vec![0; 32];
    aggregator_above_its_share: "agg_fee_amount_exact" => |d| { d.fees._distributions[0].amount = U256::from(2_500_001); d.call._swapData[1].fromAmount -= U256::ONE; };
    fees_that_overflow: "agg_fee_amount_exact" => |d| d.fees._distributions[0].amount = U256::MAX;
    receiver_is_the_router: "agg_receiver_account_bound" => |d| d.call._receiver = ROUTER;
    quoted_for_another_account: "agg_receiver_account_bound" => |d| { d.quote.sender = STRANGER; d.quote.receiver = STRANGER; };
    transaction_of_another_account: "agg_receiver_account_bound" => |d| d.quote.call_from = Some(STRANGER);
    wider_slippage_than_asked: "agg_min_out_slippage_bound" => |d| { d.quote.to_amount_min -= U256::ONE; d.call._minAmountOut -= U256::ONE; };
    minimum_that_is_not_the_quoted_one: "agg_min_out_slippage_bound" => |d| d.call._minAmountOut = U256::ONE;
    deposit_of_another_token: "agg_token_amount_bound" => |d| { let mut leg = d.call._swapData[1].clone(); leg.sendingAssetId = WETH; leg.requiresDeposit = true; d.call._swapData.insert(1, leg); };
    quoted_for_another_chain: "agg_token_amount_bound" => |d| d.quote.call_chain_id = 1;
    quoted_for_another_token: "agg_token_amount_bound" => |d| d.quote.to_token = USDC;
    quoted_for_another_amount: "agg_token_amount_bound" => |d| d.quote.from_amount += U256::ONE;
    output_in_another_token: "agg_token_amount_bound" => |d| d.call._swapData[1].receivingAssetId = OWN;
    another_spender: "agg_targets_value_bound" => |d| d.quote.approval_address = STRANGER;
    another_target: "agg_targets_value_bound" => |d| d.quote.call_to = STRANGER;
    native_value: "agg_targets_value_bound" => |d| d.quote.call_value = U256::ONE;
    exchange_without_a_review: "agg_targets_value_bound" => |d| d.call._swapData[1].callTo = STRANGER;
    exchange_function_without_a_review: "agg_targets_value_bound" => |d| d.call._swapData[1].callData = Bytes::from_static(&[0xde, 0xad, 0xbe, 0xef]);
    trailing_byte: "agg_targets_value_bound" => |d| d.suffix = vec![0];
    no_exchange: "agg_targets_value_bound" => |d| d.call._swapData.pop();
    forwarder_as_spender_of_an_exchange: "agg_targets_value_bound" => |d| d.call._swapData[1].approveTo = FORWARDER;
}
