//! The rules of the fence alone. The verifier judges much of this before them, by the fee
//! configuration. Here it is left out, so that each rule is seen to refuse by itself.

use alloy_primitives::{Address, Selector, U256};
use calldata_checks::Rail;
use delegation_fence::{PlanFacts, Policy, Rule, judge_plan};
use plan_builder::{AccountKind, Request, verify};

use crate::attacks::{
    sample::{ACCOUNT, STRANGER, USDC, WETH, now, policy},
    stage::{CAP, Stage, edited_policy, fence_policy},
};

fn facts() -> PlanFacts {
    let stage = Stage::new();
    let request = Request::parse(Rail::Swap, &stage.request).unwrap();
    let verified = verify(&request, &stage.envelope, now(), &policy()).unwrap();
    PlanFacts::read(&request, &verified, &policy().fees.version).unwrap()
}

fn refused_by(policy: &Policy, edit: impl FnOnce(&mut PlanFacts)) -> Option<Rule> {
    let mut facts = facts();
    edit(&mut facts);
    let judged = judge_plan(policy, ACCOUNT, U256::from(CAP), &facts);
    judged.err().map(|refusal| refusal.rule)
}

#[test]
fn every_rule_refuses_by_its_own_name() {
    let policy = fence_policy();
    assert_eq!(refused_by(&policy, |_| {}), None);
    type Edit = fn(&mut PlanFacts);
    let most = U256::from(CAP);
    assert!(facts().approve.amount < most);
    let edits: [(Rule, Edit); 23] = [
        (Rule::FenceChain, |facts| facts.chain_id = 1),
        (Rule::FenceAccount, |facts| facts.account = STRANGER),
        (Rule::FenceAccount, |facts| {
            facts.account_kind = AccountKind::Safe
        }),
        (Rule::FenceFeeVersion, |facts| facts.fee_version.push('1')),
        (Rule::FenceIntegrator, |facts| facts.integrator.push('1')),
        (Rule::FenceInputToken, |facts| facts.input_token = STRANGER),
        (Rule::FenceInputToken, |facts| facts.reset.token = STRANGER),
        (Rule::FenceInputToken, |facts| {
            facts.approve.token = STRANGER
        }),
        (Rule::FenceInputToken, |facts| {
            facts.deposits.push((WETH, U256::ONE))
        }),
        (Rule::FenceSpender, |facts| facts.reset.spender = STRANGER),
        (Rule::FenceSpender, |facts| facts.approve.spender = STRANGER),
        (Rule::FenceRouter, |facts| facts.call_to = STRANGER),
        (Rule::FenceNativeValue, |facts| facts.call_value = U256::ONE),
        (Rule::FenceNativeValue, |facts| {
            facts.approve.value = U256::ONE
        }),
        // A call with one leg: a function of the router that this policy does not list.
        (Rule::FenceShape, |facts| {
            facts.selector = Some(Selector::new([0x46, 0x66, 0xfc, 0x80]))
        }),
        (Rule::FenceShape, |facts| facts.selector = None),
        (Rule::FenceReceiver, |facts| facts.receiver = STRANGER),
        (Rule::FenceOutputToken, |facts| facts.output_token = USDC),
        (Rule::FenceOutputToken, |facts| {
            facts.output_token = STRANGER
        }),
        (Rule::FenceMinOut, |facts| facts.min_amount_out = U256::ZERO),
        (Rule::FenceApproveCap, |facts| {
            facts.approve.amount = U256::from(CAP + 1)
        }),
        (Rule::FenceQuoteCap, |facts| {
            facts.quoted = U256::from(CAP + 1)
        }),
        (Rule::FenceAmountsDiffer, |facts| facts.quoted = U256::ONE),
    ];
    for (rule, edit) in edits {
        assert_eq!(refused_by(&policy, edit), Some(rule));
    }
}

/// Attack 18: each deposit below the cap, and their sum above it.
#[test]
fn deposits_are_capped_together() {
    let policy = fence_policy();
    let split = |parts: &'static [u64]| {
        refused_by(&policy, |facts| {
            facts.deposits = parts.iter().map(|part| (USDC, U256::from(*part))).collect();
        })
    };
    assert_eq!(split(&[CAP, 1]), Some(Rule::FenceDepositCap));
    assert_eq!(split(&[CAP / 2, CAP / 2]), Some(Rule::FenceAmountsDiffer));
    assert_eq!(split(&[1_000_000_000, 7]), None);
    assert_eq!(split(&[]), Some(Rule::FenceAmountsDiffer));
    let wrapping = refused_by(&policy, |facts| {
        facts.deposits = vec![(USDC, U256::MAX), (USDC, U256::from(1_000_000_008))];
    });
    assert_eq!(wrapping, Some(Rule::FenceDepositCap));
}

#[test]
fn a_plan_that_moves_nothing_or_does_not_clear_is_refused() {
    let policy = fence_policy();
    let nothing = |facts: &mut PlanFacts| {
        facts.approve.amount = U256::ZERO;
        facts.quoted = U256::ZERO;
        facts.deposits = vec![(USDC, U256::ZERO)];
    };
    assert_eq!(refused_by(&policy, nothing), Some(Rule::FenceAmountsDiffer));
    let uncleared = |facts: &mut PlanFacts| facts.reset.amount = U256::ONE;
    assert_eq!(
        refused_by(&policy, uncleared),
        Some(Rule::FenceAmountsDiffer)
    );
}

/// The shapes are data of the policy, not code.
#[test]
fn a_shape_that_the_policy_lists_is_accepted() {
    let single = "swapTokensSingleV3ERC20ToERC20(bytes32,string,string,address,uint256,\
                  (address,address,address,address,uint256,bytes,bool))";
    let policy = edited_policy(|document| {
        document["shapes"] =
            serde_json::json!([{"model": "B", "selector": "0x4666fc80", "signature": single}]);
    })
    .unwrap();
    assert_eq!(refused_by(&policy, |_| {}), Some(Rule::FenceShape));
    let listed =
        |facts: &mut PlanFacts| facts.selector = Some(Selector::new([0x46, 0x66, 0xfc, 0x80]));
    assert_eq!(refused_by(&policy, listed), None);
}

/// A policy that does not name the integrator leaves it to the verifier.
#[test]
fn an_integrator_that_no_policy_names_is_not_judged() {
    let open =
        edited_policy(|document| drop(document.as_object_mut().unwrap().remove("integrator")));
    assert_eq!(
        refused_by(&open.unwrap(), |facts| facts.integrator.push('1')),
        None
    );
    let named =
        edited_policy(|document| document["router"] = serde_json::json!(Address::repeat_byte(1)));
    assert_eq!(
        refused_by(&named.unwrap(), |_| {}),
        Some(Rule::FenceSpender)
    );
}

/// A policy that lists no tokens permits none: otherwise any token would do.
#[test]
fn a_swap_ends_in_a_listed_token() {
    let named = |document: &mut serde_json::Value| {
        let tokens = document["output_tokens"].as_array_mut().unwrap();
        tokens.retain(|token| token["symbol"] != "WETH");
    };
    let without = edited_policy(named).unwrap();
    assert_eq!(refused_by(&without, |_| {}), Some(Rule::FenceOutputToken));
    let none = edited_policy(|document| {
        drop(document.as_object_mut().unwrap().remove("output_tokens"));
    });
    assert_eq!(
        refused_by(&none.unwrap(), |_| {}),
        Some(Rule::FenceOutputToken)
    );
}
