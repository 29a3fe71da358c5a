//! Mistakes of a careless constructor, each refused by its own name.

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use calldata_checks::{
    DigestStanding, StepKind, UtcSeconds,
    bridge::{
        Asked, TransferSpeed,
        calldata::{Burn, FORWARD_HOOK},
        chains::{BURN_LIMIT, CHAINS, MESSAGE_TRANSMITTER, TOKEN_MESSENGER},
    },
    step::approval,
};

use crate::bridge::plan::{FOREIGN, Plan, refused};

const TOKEN_MINTER: Address = address!("fd78EE919681417d192449715b2594ab58f5D002");
const MESSENGER_V1: Address = address!("1682Ae6375C4E4A97e4B583BC394c861A46D8962");
const MESSENGER_WITH_FEES: Address = address!("71f54F818671cD0D7ea140Da213e5C8b5C92a408");
const MESSENGER_OF_TEST_NETWORKS: Address = address!("8FE6B999Dc680CcFDD5Bf7EB0974218be2542DAA");

#[test]
fn the_first_version_of_the_protocol() {
    // depositForBurn(uint256,uint32,bytes32,address), with four arguments.
    let v1 = Plan::standard().stepping(|steps| {
        let mut data = hex!("6fd3504e").to_vec();
        data.extend_from_slice(&steps[2].data[4..4 + 4 * 32]);
        steps[2].data = data.into();
    });
    refused(&v1, "bridge_targets_value_bound", "not a burn of CCTP V2");
    let messenger = Plan::standard().stepping(|s| s[2].to = MESSENGER_V1);
    refused(&messenger, "bridge_targets_value_bound", "the call target");
}

#[test]
fn a_chain_id_used_as_a_domain() {
    for domain in [42161, 8453, 6, 0, 37, u32::MAX] {
        let plan = Plan::fast().with_burn(|b| b.destination_domain = domain);
        refused(&plan, "bridge_domain_bound", "protocol domain of Arbitrum");
    }
}

#[test]
fn domain_zero_is_a_domain() {
    let to_ethereum = Plan::fast().asking(|a| a.destination_chain_id = 1);
    assert!(to_ethereum.judge().is_ok());
    let shifted = to_ethereum.with_burn(|b| b.destination_domain += 1);
    refused(&shifted, "bridge_domain_bound", "Ethereum");
}

#[test]
fn a_valid_threshold_that_was_not_requested() {
    for threshold in [0, 1, 500, 999, 1001, 1500, 1999, 2000, 2001, u32::MAX] {
        let plan = Plan::fast().with_burn(|b| b.min_finality_threshold = threshold);
        refused(
            &plan,
            "bridge_finality_exact",
            "not that of the requested speed",
        );
    }
    let fast = Plan::standard().with_burn(|b| b.min_finality_threshold = 1000);
    refused(
        &fast,
        "bridge_finality_exact",
        "not that of the requested speed",
    );
}

#[test]
fn a_fast_allowance_that_does_not_cover_the_amount() {
    for allowance in [None, Some(0), Some(1_234_567_889)] {
        let allowance = allowance.map(U256::from);
        let plan = Plan::fast().reading(|c| c.fast_allowance = allowance);
        refused(&plan, "bridge_finality_exact", "does not cover the amount");
        let standard = Plan::standard().reading(|c| c.fast_allowance = allowance);
        assert!(standard.judge().is_ok());
    }
    let exact = Plan::fast().reading(|c| c.fast_allowance = Some(c.asked.amount));
    assert!(exact.judge().is_ok());
}

#[test]
fn a_recipient_that_is_not_the_bound_account() {
    let mut right_padded = B256::ZERO;
    right_padded[..20].copy_from_slice(Plan::fast().context.asked.account.as_slice());
    let mut dirty = Plan::fast().context.asked.account.into_word();
    dirty[0] = 1;
    let mut dirty_near = Plan::fast().context.asked.account.into_word();
    dirty_near[11] = 1;
    for recipient in [
        FOREIGN.into_word(),
        right_padded,
        dirty,
        dirty_near,
        B256::ZERO,
    ] {
        let plan = Plan::fast().with_burn(|b| b.mint_recipient = recipient);
        refused(&plan, "bridge_recipient_account_bound", "another recipient");
    }
    let nobody = Plan::fast().asking(|a| a.account = Address::ZERO);
    refused(&nobody, "bridge_recipient_account_bound", "zero address");
}

#[test]
fn a_token_that_is_only_called_usdc() {
    for chain in &CHAINS {
        let Some(bridged) = &chain.bridged_usdc else {
            continue;
        };
        let native = Plan::standard().asking(|a| {
            a.account_chain_id = chain.chain_id;
            a.source_chain_id = chain.chain_id;
            a.destination_chain_id = 1;
            a.token = chain.usdc;
        });
        let native = native.reading(|c| c.chain_id = c.asked.source_chain_id);
        assert!(native.judge().is_ok());
        let asked = native.clone().asking(|a| a.token = bridged.address);
        refused(&asked, "bridge_route_enumerated", bridged.symbol);
        let burned = native.clone().with_burn(|b| b.burn_token = bridged.address);
        refused(&burned, "bridge_token_native_usdc", bridged.symbol);
        for step in [0, 1] {
            let approved = native.clone().stepping(|s| s[step].to = bridged.address);
            refused(
                &approved,
                "bridge_token_native_usdc",
                "another token than the burn",
            );
        }
    }
    let foreign = Plan::fast().with_burn(|b| b.burn_token = FOREIGN);
    refused(
        &foreign,
        "bridge_token_native_usdc",
        "not the native USDC of Base",
    );
}

#[test]
fn another_spender_or_target() {
    for spender in [
        MESSAGE_TRANSMITTER,
        TOKEN_MINTER,
        MESSENGER_WITH_FEES,
        MESSENGER_OF_TEST_NETWORKS,
        FOREIGN,
    ] {
        for (step, kind) in [(0, StepKind::ApproveReset), (1, StepKind::Approve)] {
            let plan = Plan::fast().stepping(|steps| {
                let amount = if step == 0 {
                    U256::ZERO
                } else {
                    U256::from(1_234_567_890u64)
                };
                steps[step] = approval(kind, steps[step].to, spender, amount);
            });
            refused(
                &plan,
                "bridge_targets_value_bound",
                "spender is not TokenMessengerV2",
            );
        }
        let target = Plan::fast().stepping(|s| s[2].to = spender);
        refused(
            &target,
            "bridge_targets_value_bound",
            "call target is not TokenMessengerV2",
        );
    }
}

#[test]
fn a_step_that_carries_native_coin() {
    for step in 0..3 {
        let plan = Plan::fast().stepping(|s| s[step].value = U256::from(1));
        refused(&plan, "bridge_targets_value_bound", "native coin");
    }
}

#[test]
fn an_approval_of_another_amount() {
    for amount in [
        U256::MAX,
        U256::ZERO,
        U256::from(1_234_567_891u64),
        U256::from(1),
    ] {
        let plan = Plan::fast().stepping(|steps| {
            steps[1] = approval(StepKind::Approve, steps[1].to, TOKEN_MESSENGER, amount);
        });
        refused(&plan, "bridge_amount_bound", "another amount is approved");
    }
}

#[test]
fn a_burn_of_another_amount() {
    for amount in [0, 1_234_567_889, 1_234_567_891] {
        let plan = Plan::fast().with_burn(|b| b.amount = U256::from(amount));
        refused(&plan, "bridge_amount_bound", "another amount is burned");
    }
}

#[test]
fn an_amount_outside_of_the_burn_limits() {
    let at = |amount: U256| Plan::standard().asking(|a| a.amount = amount);
    assert!(at(BURN_LIMIT).judge().is_ok());
    assert!(at(U256::from(1)).judge().is_ok());
    for amount in [U256::ZERO, BURN_LIMIT + U256::from(1), U256::MAX] {
        refused(&at(amount), "bridge_amount_bound", "single burn");
        let fast = Plan::fast().asking(|a| a.amount = amount);
        refused(&fast, "bridge_amount_bound", "single burn");
    }
}

#[test]
fn the_allowance_is_not_cleared_first() {
    let plan = Plan::fast();
    let swapped = plan.clone().stepping(|s| s.swap(0, 1));
    refused(&swapped, "erc20_allowance_reset_ordered", "order");
    let relabelled = plan.clone().stepping(|s| {
        s.swap(0, 1);
        s[0].kind = StepKind::ApproveReset;
        s[1].kind = StepKind::Approve;
    });
    refused(&relabelled, "bridge_amount_bound", "approved");
    let kept = plan.clone().stepping(|s| {
        s[0] = approval(
            StepKind::ApproveReset,
            s[0].to,
            TOKEN_MESSENGER,
            U256::from(1),
        );
    });
    refused(&kept, "erc20_allowance_reset_ordered", "does not clear");
    for missing in 0..3 {
        let plan = plan.clone().stepping(|s| drop(s.remove(missing)));
        refused(&plan, "erc20_allowance_reset_ordered", "exactly three");
    }
    let fourth = plan.stepping(|s| s.push(s[2].clone()));
    refused(&fourth, "erc20_allowance_reset_ordered", "exactly three");
}

#[test]
fn a_caller_who_alone_could_mint() {
    for caller in [
        FOREIGN.into_word(),
        B256::with_last_byte(1),
        B256::repeat_byte(0xff),
    ] {
        let plan = Plan::fast().with_burn(|b| b.destination_caller = caller);
        refused(&plan, "bridge_destination_caller_open", "only one caller");
    }
}

#[test]
fn a_hook_that_is_not_the_forwarding_frame() {
    let frame = FORWARD_HOOK.as_slice();
    let unasked = Plan::standard().with_burn(|b| b.hook = Some(FORWARD_HOOK.into()));
    refused(&unasked, "bridge_hook_exact", "not asked for");
    let forwarded = Plan::standard().asking(|a| a.forward = true);
    assert!(forwarded.judge().is_ok());
    let missing = forwarded.clone().with_burn(|b| b.hook = None);
    refused(&missing, "bridge_hook_exact", "forwarding frame");
    let version = [&frame[..27], &[1], &frame[28..]].concat();
    let left_padded = [&[0; 20][..], &frame[..12]].concat();
    let longer = [frame, &[0; 32]].concat();
    for hook in [
        &[][..],
        &frame[..31],
        &frame[..12],
        &version,
        &left_padded,
        &longer,
    ] {
        let hook = Bytes::copy_from_slice(hook);
        let plan = forwarded.clone().with_burn(|b| b.hook = Some(hook.clone()));
        refused(&plan, "bridge_hook_exact", "forwarding frame");
        let unasked = Plan::standard().with_burn(|b| b.hook = Some(hook));
        refused(&unasked, "bridge_hook_exact", "not asked for");
    }
}

#[test]
fn an_account_that_is_not_on_the_source_chain() {
    let destination = Plan::fast().asking(|a| a.account_chain_id = a.destination_chain_id);
    refused(
        &destination,
        "bridge_route_enumerated",
        "not named on the source chain",
    );
    let payload = Plan::fast().reading(|c| c.chain_id = 42161);
    refused(
        &payload,
        "bridge_route_enumerated",
        "not for the source chain",
    );
}

#[test]
fn a_plan_that_is_over_or_not_itself() {
    let expired = Plan::fast().reading(|c| c.commitment.now = c.commitment.valid_until);
    refused(&expired, "artifact_expiry_committed", "no longer valid");
    let eternal =
        Plan::fast().reading(|c| c.commitment.valid_until = UtcSeconds::from_unix(u64::MAX));
    refused(&eternal, "artifact_expiry_committed", "longer life");
    let altered = Plan::fast().reading(|c| {
        c.commitment.digest = DigestStanding::Recomputed {
            claimed: B256::ZERO,
            computed: B256::repeat_byte(1),
        };
    });
    refused(&altered, "payload_digest_committed", "sealed");
}

#[test]
fn the_bytes_are_compared_with_the_request() {
    // The bytes are the same, and the request is another one.
    let plan = Plan::fast();
    let for_request = |change: &dyn Fn(&mut Asked)| {
        let mut other = plan.clone();
        change(&mut other.context.asked);
        other.refusal().0
    };
    assert_eq!(
        for_request(&|a| a.account = FOREIGN),
        "bridge_recipient_account_bound"
    );
    assert_eq!(
        for_request(&|a| a.amount += U256::from(1)),
        "bridge_amount_bound"
    );
    assert_eq!(
        for_request(&|a| a.destination_chain_id = 1),
        "bridge_domain_bound"
    );
    assert_eq!(for_request(&|a| a.forward = true), "bridge_fee_cap");
    assert_eq!(
        for_request(&|a| a.max_fee = Some(U256::from(200_000))),
        "bridge_fee_cap"
    );
    let standard = |a: &mut Asked| {
        a.speed = TransferSpeed::Standard;
        a.max_fee = Some(U256::from(176_543));
    };
    assert_eq!(for_request(&standard), "bridge_finality_exact");
    let burn = Burn::decode(&plan.steps[2].data).unwrap();
    assert_eq!(plan.context.asked.burn(burn.max_fee), Ok(burn));
}
