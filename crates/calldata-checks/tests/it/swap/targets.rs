//! Attacks on the targets and values of the plan's calls, and on the order of its steps.

use alloy_primitives::{Bytes, U256, address};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{StepKind, step::approveCall};

use crate::swap::sample::{
    ACCOUNT, DAI, FEE_COLLECTOR, FORWARDER, KYBER, ROUTER, STRANGER, SUSHI, USDC, WETH, attacks,
    leg,
};

sol! {
    function increaseAllowance(address spender, uint256 amount) external returns (bool);
}

attacks! {
    approvals_for_another_spender: "agg_targets_value_bound", "the first approval is for another spender"
        => |s| s.edit_steps = |steps| {
            steps[0].data = approveCall { spender: STRANGER, amount: U256::ZERO }.abi_encode().into();
            steps[1].data = approveCall { spender: STRANGER, amount: U256::from(crate::swap::sample::GROSS) }.abi_encode().into();
        };
    second_approval_for_another_spender: "agg_targets_value_bound", "the second approval is for another spender"
        => |s| s.edit_steps = |steps| steps[1].data = approveCall { spender: STRANGER, amount: U256::from(crate::swap::sample::GROSS) }.abi_encode().into();
    quoted_spender_is_another: "agg_targets_value_bound", "the quote names another spender"
        => |s| s.quoted.approval_address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");
    call_to_another_contract: "agg_targets_value_bound", "the call goes to another contract"
        => |s| s.edit_steps = |steps| steps[2].to = STRANGER;
    call_to_the_facet: "agg_targets_value_bound", "the call goes to another contract"
        => |s| s.edit_steps = |steps| steps[2].to = address!("31a9b1835864706Af10103b31Ea2b79bdb995F5F");
    quoted_target_is_another: "agg_targets_value_bound", "the quote names another contract"
        => |s| s.quoted.call_to = STRANGER;
    native_value_in_the_call: "agg_targets_value_bound", "the call carries native coin"
        => |s| s.edit_steps = |steps| steps[2].value = U256::ONE;
    native_value_in_the_reset: "agg_targets_value_bound", "the first approval carries native coin"
        => |s| s.edit_steps = |steps| steps[0].value = U256::ONE;
    native_value_in_the_approval: "agg_targets_value_bound", "the second approval carries native coin"
        => |s| s.edit_steps = |steps| steps[1].value = U256::ONE;
    native_value_in_the_quote: "agg_targets_value_bound", "the quote's transaction carries native coin"
        => |s| s.quoted.call_value = U256::ONE;
    fee_leg_approves_another_contract: "agg_targets_value_bound", "the fee leg lets another contract spend"
        => |s| s.call._swapData[0].approveTo = SUSHI;
    leg_calls_an_unknown_contract: "agg_targets_value_bound", "a leg calls a contract or function that is not reviewed"
        => |s| { s.call._swapData[1].callTo = STRANGER; s.call._swapData[1].approveTo = STRANGER; };
    leg_calls_another_function: "agg_targets_value_bound", "a leg calls a contract or function that is not reviewed"
        => |s| s.call._swapData[1].callData = Bytes::from_static(&[0x09, 0x5e, 0xa7, 0xb3, 0]);
    leg_calls_the_function_of_another_contract: "agg_targets_value_bound", "a leg calls a contract or function that is not reviewed"
        => |s| { s.call._swapData[1].callTo = KYBER; s.call._swapData[1].approveTo = KYBER; };
    leg_calls_no_function: "agg_targets_value_bound", "a leg calls a contract or function that is not reviewed"
        => |s| s.call._swapData[1].callData = Bytes::from_static(&[0x5f, 0x3b, 0xd1]);
    second_of_two_legs_is_unknown: "agg_targets_value_bound", "a leg calls a contract or function that is not reviewed"
        => |s| { s.call._swapData[1].receivingAssetId = DAI; let mut extra = leg(DAI, WETH, 1); extra.callTo = FEE_COLLECTOR; s.call._swapData.push(extra); };
    leg_approves_an_unknown_contract: "agg_targets_value_bound", "a leg lets a contract spend that is not its reviewed spender"
        => |s| s.call._swapData[1].approveTo = STRANGER;
    leg_approves_the_account: "agg_targets_value_bound", "a leg lets a contract spend that is not its reviewed spender"
        => |s| s.call._swapData[1].approveTo = ACCOUNT;
    leg_approves_another_reviewed_exchange: "agg_targets_value_bound", "a leg lets a contract spend that is not its reviewed spender"
        => |s| s.call._swapData[1].approveTo = KYBER;
    leg_approves_itself_instead_of_its_proxy: "agg_targets_value_bound", "a leg lets a contract spend that is not its reviewed spender"
        => |s| s.policy.chains[0].legs[0].spender = KYBER;
    leg_of_four_bytes: "agg_targets_value_bound", "a leg's call has no arguments: the router refuses it"
        => |s| s.call._swapData[1].callData = Bytes::from_static(&[0x5f, 0x3b, 0xd1, 0xc8]);
    leg_calls_the_router: "agg_targets_value_bound", "a leg calls the router, a token or the account"
        => |s| { s.policy.chains[0].legs[0].contract = ROUTER; s.call._swapData[1].callTo = ROUTER; };
    leg_calls_the_input_token: "agg_targets_value_bound", "a leg calls the router, a token or the account"
        => |s| { s.policy.chains[0].legs[0].contract = USDC; s.call._swapData[1].callTo = USDC; };
    leg_calls_the_output_token: "agg_targets_value_bound", "a leg calls the router, a token or the account"
        => |s| { s.policy.chains[0].legs[0].contract = WETH; s.call._swapData[1].callTo = WETH; };
    leg_calls_a_token_of_its_own: "agg_targets_value_bound", "a leg calls the router, a token or the account"
        => |s| { s.policy.chains[0].legs[0].contract = DAI; let mut over = leg(USDC, DAI, 0); over.callTo = DAI; over.fromAmount = s.call._swapData[1].fromAmount;
                 s.call._swapData[1] = over; s.call._swapData.push(leg(DAI, WETH, 1)); };
    leg_calls_the_account: "agg_targets_value_bound", "a leg calls the router, a token or the account"
        => |s| { s.policy.chains[0].legs[0].contract = ACCOUNT; s.call._swapData[1].callTo = ACCOUNT; };
    chain_without_a_review: "agg_targets_value_bound", "the chain is not reviewed"
        => |s| s.policy.chains[0].chain_id = 1;
    function_without_a_review: "agg_targets_value_bound", "the router's function is not reviewed on this chain"
        => |s| s.policy.chains[0].selectors.clear();

    no_reset: "erc20_allowance_reset_ordered", "a plan has exactly three steps"
        => |s| s.edit_steps = |steps| { steps.remove(0); };
    a_fourth_step: "erc20_allowance_reset_ordered", "a plan has exactly three steps"
        => |s| s.edit_steps = |steps| { let again = steps[2].clone(); steps.push(again); };
    steps_swapped: "erc20_allowance_reset_ordered", "the steps are not in their order"
        => |s| s.edit_steps = |steps| steps.swap(0, 1);
    kind_that_lies: "erc20_allowance_reset_ordered", "an approval step is not a canonical approve(address,uint256)"
        => |s| s.edit_steps = |steps| { steps.swap(1, 2); steps[1].kind = StepKind::Approve; steps[2].kind = StepKind::Call; };
    reset_to_something: "erc20_allowance_reset_ordered", "the first approval does not clear the allowance"
        => |s| s.edit_steps = |steps| steps[0].data = approveCall { spender: ROUTER, amount: U256::ONE }.abi_encode().into();
    reset_of_another_token: "erc20_allowance_reset_ordered", "the two approvals are for different tokens"
        => |s| s.edit_steps = |steps| steps[0].to = DAI;
    increase_instead_of_approve: "erc20_allowance_reset_ordered", "an approval step is not a canonical approve(address,uint256)"
        => |s| s.edit_steps = |steps| steps[1].data = increaseAllowanceCall { spender: ROUTER, amount: U256::ONE }.abi_encode().into();
    trailing_byte_in_an_approval: "erc20_allowance_reset_ordered", "an approval step is not a canonical approve(address,uint256)"
        => |s| s.edit_steps = |steps| steps[1].data = [&steps[1].data[..], &[0]].concat().into();
}

#[test]
fn every_step_goes_to_a_reviewed_contract() {
    let steps = crate::swap::sample::Sample::new().steps();
    assert_eq!(
        [steps[0].to, steps[1].to, steps[2].to],
        [USDC, USDC, ROUTER]
    );
    assert_ne!(FORWARDER, ROUTER);
}
