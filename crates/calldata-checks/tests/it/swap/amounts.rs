//! Attacks on the account, the amounts, the tokens and the chain; stale plans.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::SolCall as _;
use calldata_checks::{BasisPoints, DigestStanding, UtcSeconds, step::approveCall};

use crate::swap::sample::{
    DAI, FORWARDER, GROSS, NOW, ROUTER, STRANGER, Sample, USDC, WETH, attacks, leg,
};

attacks! {
    receiver_is_somebody_else: "agg_receiver_account_bound", "the calldata names another receiver"
        => |s| s.call._receiver = STRANGER;
    receiver_is_the_router: "agg_receiver_account_bound", "the calldata names another receiver"
        => |s| s.call._receiver = ROUTER;
    receiver_is_nobody: "agg_receiver_account_bound", "the calldata names another receiver"
        => |s| s.call._receiver = Address::ZERO;
    account_is_the_router: "agg_receiver_account_bound", "the account is a contract of the swap itself"
        => |s| { s.asked.account = ROUTER; s.call._receiver = ROUTER; s.quoted.sender = ROUTER; s.quoted.receiver = ROUTER; s.quoted.call_from = None; };
    account_is_the_forwarder: "agg_receiver_account_bound", "the account is a contract of the swap itself"
        => |s| s.asked.account = FORWARDER;
    account_is_a_token: "agg_receiver_account_bound", "the account is a contract of the swap itself"
        => |s| s.asked.account = WETH;
    account_is_nobody: "agg_receiver_account_bound", "the account is a contract of the swap itself"
        => |s| { s.asked.account = Address::ZERO; s.call._receiver = Address::ZERO; s.quoted.sender = Address::ZERO; s.quoted.receiver = Address::ZERO; s.quoted.call_from = None; };
    quote_for_another_sender: "agg_receiver_account_bound", "the quote names another sender"
        => |s| s.quoted.sender = STRANGER;
    quote_for_another_receiver: "agg_receiver_account_bound", "the quote names another receiver"
        => |s| s.quoted.receiver = STRANGER;
    transaction_from_another_sender: "agg_receiver_account_bound", "the quote's transaction has another sender"
        => |s| s.quoted.call_from = Some(STRANGER);
    account_on_another_chain: "agg_receiver_account_bound", "the account is on another chain than the swap"
        => |s| s.asked.account_chain_id = 1;

    minimum_above_the_quoted_one: "agg_min_out_slippage_bound", "the minimum output in the calldata is not the quoted one"
        => |s| s.call._minAmountOut += U256::ONE;
    minimum_below_the_quoted_one: "agg_min_out_slippage_bound", "the minimum output in the calldata is not the quoted one"
        => |s| s.call._minAmountOut -= U256::ONE;
    minimum_one_below_the_floor: "agg_min_out_slippage_bound", "the minimum output is below the slippage floor"
        => |s| { s.call._minAmountOut -= U256::ONE; s.quoted.to_amount_min -= U256::ONE; };
    quote_at_another_slippage_than_asked: "agg_min_out_slippage_bound", "the minimum output is below the slippage floor"
        => |s| s.asked.max_slippage = BasisPoints::new(49).unwrap();
    minimum_below_min_amount_out: "agg_min_out_slippage_bound", "the minimum output is below minAmountOut"
        => |s| s.asked.min_amount_out = Some(s.call._minAmountOut + U256::ONE);
    minimum_above_the_expected_output: "agg_min_out_slippage_bound", "the minimum output is above the expected one: the swap would revert"
        => |s| s.quoted.to_amount = s.call._minAmountOut - U256::ONE;
    minimum_zero: "agg_min_out_slippage_bound", "the minimum output is zero"
        => |s| { s.call._minAmountOut = U256::ZERO; s.quoted.to_amount_min = U256::ZERO; s.quoted.to_amount = U256::ONE;
                 s.asked.max_slippage = BasisPoints::new(5000).unwrap(); };
    expected_output_past_256_bits: "agg_min_out_slippage_bound", "the slippage floor"
        => |s| s.quoted.to_amount = U256::MAX;

    deposit_of_another_token: "agg_token_amount_bound", "a leg deposits another token"
        => |s| { let mut extra = leg(DAI, WETH, 1); extra.requiresDeposit = true; s.call._swapData.insert(1, extra); };
    deposit_of_another_token_of_nothing: "agg_token_amount_bound", "a leg deposits another token"
        => |s| { let mut extra = leg(DAI, WETH, 0); extra.requiresDeposit = true; s.call._swapData.insert(1, extra); };
    deposit_of_the_output_token: "agg_token_amount_bound", "a leg deposits another token"
        => |s| { let mut extra = leg(WETH, DAI, 5); extra.requiresDeposit = true; s.call._swapData.insert(2, extra); };
    second_deposit: "agg_token_amount_bound", "the deposits do not total the input amount"
        => |s| s.call._swapData[1].requiresDeposit = true;
    deposits_that_overflow_to_the_input: "agg_token_amount_bound", "the sum of the deposits"
        => |s| { for _ in 0..2 { let mut extra = leg(USDC, WETH, 0); extra.fromAmount = U256::ONE << 255; extra.requiresDeposit = true; s.call._swapData.insert(1, extra); } };
    fee_leg_without_deposit: "agg_token_amount_bound", "the fee leg does not deposit the input amount"
        => |s| s.call._swapData[0].requiresDeposit = false;
    fee_leg_deposits_more: "agg_token_amount_bound", "the fee leg does not deposit the input amount"
        => |s| s.call._swapData[0].fromAmount += U256::ONE;
    fee_leg_deposits_the_net_input: "agg_token_amount_bound", "the fee leg does not deposit the input amount"
        => |s| { s.call._swapData[0].fromAmount = U256::from(5_500_000); s.call._swapData[1].requiresDeposit = true; };
    fee_leg_of_another_token: "agg_token_amount_bound", "the fee leg starts from another token"
        => |s| s.call._swapData[0].sendingAssetId = DAI;
    fee_leg_that_ends_in_another_token: "agg_token_amount_bound", "the fee leg ends in another token"
        => |s| s.call._swapData[0].receivingAssetId = WETH;
    fee_paid_in_another_token: "agg_token_amount_bound", "the fee is distributed in another token"
        => |s| s.fees._token = WETH;
    exchange_of_the_gross_input: "agg_token_amount_bound", "the exchange legs do not start from the input less the fees"
        => |s| s.call._swapData[1].fromAmount = U256::from(GROSS);
    exchange_of_less: "agg_token_amount_bound", "the exchange legs do not start from the input less the fees"
        => |s| s.call._swapData[1].fromAmount -= U256::ONE;
    exchange_of_all_that_there_is: "agg_token_amount_bound", "the exchange legs do not start from the input less the fees"
        => |s| s.call._swapData[1].fromAmount = U256::MAX;
    a_second_leg_from_the_input: "agg_token_amount_bound", "a second leg spends the input token"
        => |s| { s.call._swapData[1].receivingAssetId = DAI; s.call._swapData.push(leg(USDC, WETH, 1)); };
    two_exchanges_at_once: "agg_token_amount_bound", "the exchange legs do not start from the input less the fees"
        => |s| { let half = s.call._swapData[1].fromAmount / U256::from(2); s.call._swapData[1].fromAmount -= half;
                 let mut other = leg(USDC, WETH, 0); other.fromAmount = half; s.call._swapData.push(other); };
    output_as_an_intermediate_token: "agg_token_amount_bound", "a leg before the last one ends in the output token"
        => |s| { s.call._swapData.push(leg(WETH, DAI, 1)); s.call._swapData.push(leg(DAI, WETH, 1)); };
    input_as_an_intermediate_token: "agg_token_amount_bound", "a leg ends in the input token"
        => |s| { s.call._swapData[1].receivingAssetId = DAI; s.call._swapData.push(leg(DAI, USDC, 1)); s.call._swapData.push(leg(USDC, WETH, 1)); };
    last_leg_ends_in_another_token: "agg_token_amount_bound", "the last leg ends in another token"
        => |s| s.call._swapData[1].receivingAssetId = DAI;
    a_leg_after_the_output: "agg_token_amount_bound", "a leg before the last one ends in the output token"
        => |s| s.call._swapData.push(leg(WETH, DAI, 1));
    leg_of_a_token_that_nobody_has: "agg_token_amount_bound", "a leg starts from another token than the leg before it ended in"
        => |s| { s.call._swapData[1].receivingAssetId = STRANGER; s.call._swapData.push(leg(DAI, WETH, 1)); };
    leg_that_exchanges_nothing: "agg_token_amount_bound", "an exchange leg ends in the token that it starts from"
        => |s| s.call._swapData[1].receivingAssetId = USDC;
    quote_for_another_amount: "agg_token_amount_bound", "the quote is for another amount"
        => |s| s.quoted.from_amount += U256::ONE;
    quote_for_another_input_token: "agg_token_amount_bound", "the quote is for another input token"
        => |s| s.quoted.from_token = DAI;
    quote_for_another_output_token: "agg_token_amount_bound", "the quote is for another output token"
        => |s| s.quoted.to_token = DAI;
    quote_from_another_chain: "agg_token_amount_bound", "the quote starts on another chain"
        => |s| s.quoted.from_chain_id = 1;
    quote_to_another_chain: "agg_token_amount_bound", "the quote ends on another chain"
        => |s| s.quoted.to_chain_id = 1;
    transaction_for_another_chain: "agg_token_amount_bound", "the quote's transaction is for another chain"
        => |s| s.quoted.call_chain_id = 1;
    plan_for_another_chain: "agg_token_amount_bound", "the plan is for another chain"
        => |s| s.plan_chain_id = 1;
    the_same_token_twice: "agg_token_amount_bound", "the two tokens are the same"
        => |s| { s.asked.to_token = USDC; s.quoted.to_token = USDC; s.call._swapData[1].receivingAssetId = USDC; };
    unlimited_approval: "agg_token_amount_bound", "the approved amount is not the input amount"
        => |s| s.edit_steps = |steps| steps[1].data = approveCall { spender: ROUTER, amount: U256::MAX }.abi_encode().into();
    approval_of_less: "agg_token_amount_bound", "the approved amount is not the input amount"
        => |s| s.edit_steps = |steps| steps[1].data = approveCall { spender: ROUTER, amount: U256::from(GROSS - 1) }.abi_encode().into();
    approval_of_another_token: "agg_token_amount_bound", "the approved token is not the input token"
        => |s| s.edit_steps = |steps| { steps[0].to = DAI; steps[1].to = DAI; };

    a_plan_that_outlives_a_market_makers_quote: "artifact_expiry_committed", "the plan outlives the quote of one of its exchanges"
        => |s| s.policy.chains[0].legs[0].max_life_seconds = Some(299);

    stale: "artifact_expiry_committed", "the plan is no longer valid"
        => |s| s.commitment.now = UtcSeconds::from_unix(NOW + 300);
    too_long_a_life: "artifact_expiry_committed", "the plan claims a longer life than a plan may have"
        => |s| s.commitment.valid_until = UtcSeconds::from_unix(NOW + 661);
    another_digest: "payload_digest_committed", "the plan is not the one that was sealed"
        => |s| s.commitment.digest = DigestStanding::Recomputed { claimed: B256::ZERO, computed: B256::repeat_byte(1) };
}

#[test]
fn a_plan_that_ends_with_a_market_makers_quote() {
    let mut sample = Sample::new();
    sample.policy.chains[0].legs[0].max_life_seconds = Some(300);
    sample.judge().unwrap();
}
