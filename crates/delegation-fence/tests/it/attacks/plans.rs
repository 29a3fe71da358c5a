//! Attacks 12 to 23, 27 to 29: plans that differ from the request, judged by all confirmations
//! together.

use alloy_primitives::{U256, hex, keccak256};
use calldata_checks::{BasisPoints, Rail};
use delegation_fence::{Peg, Phase, Rule};
use plan_builder::{Request, verify};
use serde_json::{Value, json};

use crate::attacks::{
    sample::{ACCOUNT, STRANGER, WETH, arguments, now, policy, policy_with},
    stage::{CAP, Stage, grant},
};

/// Seals `edit`'s plan as an attacker would: with the digest of its content, ordered by the
/// delegate.
fn resealed(edit: impl FnOnce(&mut Value)) -> Stage {
    let mut stage = Stage::new();
    let mut plan: Value = serde_json::from_str(&stage.envelope).unwrap();
    edit(&mut plan);
    plan["submission"]
        .as_object_mut()
        .unwrap()
        .remove("payload_digest");
    let digest = keccak256(serde_json_canonicalizer::to_vec(&plan).unwrap());
    plan["submission"]["payload_digest"] = json!(digest);
    let call = plan["payload"]["steps"][2]["data"]
        .as_str()
        .map(|data| hex::decode(data).unwrap());
    stage.envelope = plan.to_string();
    stage.reorder(|order| {
        order.payload_digest = digest;
        order.call_hash = keccak256(call.unwrap_or_default());
    });
    stage
}

fn refused_check(stage: &Stage) -> String {
    let refusal = stage.admit().unwrap_err();
    assert_eq!(refusal.rule, Rule::EnvelopeUnverified, "{refusal}");
    refusal.check.unwrap().into_owned()
}

fn edit_data(plan: &mut Value, step: usize, edit: impl FnOnce(&mut Vec<u8>)) {
    let data = &mut plan["payload"]["steps"][step]["data"];
    let mut bytes = hex::decode(data.as_str().unwrap()).unwrap();
    edit(&mut bytes);
    *data = hex::encode_prefixed(bytes).into();
}

/// The offset of the receiver in the call: after the selector and three words.
const RECEIVER: usize = 4 + 3 * 32;

/// Attack 12.
#[test]
fn another_receiver_is_refused() {
    let stranger = resealed(|plan| {
        edit_data(plan, 2, |data| {
            data[RECEIVER + 12..RECEIVER + 32].copy_from_slice(STRANGER.as_slice())
        });
    });
    assert_eq!(refused_check(&stranger), "agg_receiver_account_bound");
    let dirty = resealed(|plan| edit_data(plan, 2, |data| data[RECEIVER + 11] = 1));
    assert_eq!(refused_check(&dirty), "agg_targets_value_bound");
}

/// Attack 14.
#[test]
fn calldata_that_is_not_canonical_is_refused() {
    let trailing = resealed(|plan| edit_data(plan, 2, |data| data.push(0)));
    assert_eq!(refused_check(&trailing), "agg_targets_value_bound");
    let many_legs = resealed(|plan| {
        edit_data(plan, 2, |data| {
            let at = U256::from_be_slice(&data[4 + 5 * 32..4 + 6 * 32]).to::<usize>();
            data[4 + at..4 + at + 32].fill(0xff);
        });
    });
    assert_eq!(refused_check(&many_legs), "agg_targets_value_bound");
    let aliased = resealed(|plan| {
        edit_data(plan, 2, |data| {
            let integrator = data[4 + 32..4 + 64].to_vec();
            data[4 + 64..4 + 96].copy_from_slice(&integrator);
        });
    });
    assert_eq!(refused_check(&aliased), "agg_targets_value_bound");
}

/// Attack 15.
#[test]
fn an_approval_of_somebody_else_or_of_more_is_refused() {
    let spender = resealed(|plan| {
        edit_data(plan, 1, |data| {
            data[16..36].copy_from_slice(STRANGER.as_slice())
        })
    });
    assert_eq!(refused_check(&spender), "agg_targets_value_bound");
    let unlimited = resealed(|plan| edit_data(plan, 1, |data| data[36..68].fill(0xff)));
    assert_eq!(refused_check(&unlimited), "agg_token_amount_bound");
    let increase = resealed(|plan| {
        edit_data(plan, 1, |data| {
            data[..4].copy_from_slice(&[0x39, 0x50, 0x93, 0x51])
        });
    });
    assert_eq!(refused_check(&increase), "erc20_allowance_reset_ordered");
}

/// Attack 16.
#[test]
fn other_steps_are_refused() {
    let edits: [fn(&mut Vec<Value>); 5] = [
        |steps| steps.swap(0, 1),
        |steps| drop(steps.remove(0)),
        |steps| steps.push(steps[2].clone()),
        |steps| steps[0] = steps[1].clone(),
        |steps| steps[2]["kind"] = "approve".into(),
    ];
    for edit in edits {
        let mut stage = Stage::new();
        let mut plan: Value = serde_json::from_str(&stage.envelope).unwrap();
        edit(plan["payload"]["steps"].as_array_mut().unwrap());
        stage = resealed(|whole| {
            whole["payload"]["steps"] = plan["payload"]["steps"].clone();
        });
        // The order's hash of the call does not help: the steps are judged first.
        assert_eq!(refused_check(&stage), "erc20_allowance_reset_ordered");
    }
}

/// Attack 17.
#[test]
fn native_coin_on_any_step_is_refused() {
    for step in 0..3 {
        let stage = resealed(|plan| plan["payload"]["steps"][step]["value"] = "1".into());
        assert_eq!(refused_check(&stage), "agg_targets_value_bound", "{step}");
    }
}

/// Attack 18: the cap, gross of fees and inclusive.
#[test]
fn the_cap_is_inclusive() {
    for (amount, refused) in [(CAP, None), (CAP + 1, Some(Rule::FenceApproveCap))] {
        let mut wanted = arguments();
        wanted["fromAmount"] = amount.to_string().into();
        let stage = Stage::with(grant(), &wanted);
        assert_eq!(stage.admit().err().map(|refusal| refusal.rule), refused);
    }
}

/// Attack 18: texts that are not amounts.
#[test]
fn an_amount_in_another_form_is_refused() {
    let above = format!("{}0", U256::MAX);
    for amount in ["0x12a05f200", "-5", "005000000000", "5e9", "5000.0", &above] {
        let mut stage = Stage::new();
        let mut wanted = arguments();
        wanted["fromAmount"] = (*amount).into();
        stage.request = wanted.to_string();
        assert_eq!(refused_check(&stage), "input_invalid", "{amount}");
    }
}

/// Attack 18: another dollar, and the other direction.
#[test]
fn another_input_token_is_refused() {
    for token in [
        "0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca",
        &WETH.to_string(),
    ] {
        let mut wanted = arguments();
        wanted["fromToken"] = token.into();
        wanted["toToken"] = "0x50c5725949a6f0c72e6c4a641f24049a917db0cb".into();
        let mut stage = Stage::with(grant(), &wanted);
        let output = wanted["toToken"].as_str().unwrap().parse().unwrap();
        stage.reorder(|order| order.output_token = output);
        assert_eq!(stage.refused_by(), Rule::FenceInputToken, "{token}");
    }
}

/// Attack 19: a second leg that takes another token from the account.
#[test]
fn a_second_deposit_of_another_token_is_refused() {
    use alloy_sol_types::SolCall as _;
    use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call as Swap;
    let stage = resealed(|plan| {
        edit_data(plan, 2, |data| {
            let mut call = Swap::abi_decode(data).unwrap();
            call._swapData[1].sendingAssetId = WETH;
            call._swapData[1].requiresDeposit = true;
            *data = call.abi_encode();
        });
    });
    assert_eq!(refused_check(&stage), "agg_token_amount_bound");
}

/// Attack 21: the verified bytes are the sent bytes, and nothing reads them a second time.
#[test]
fn the_steps_that_are_sent_are_those_that_were_judged() {
    let stage = Stage::new();
    let request = Request::parse(Rail::Swap, &stage.request).unwrap();
    let verified = verify(&request, &stage.envelope, now(), &policy()).unwrap();
    let admitted = stage.admit().unwrap();
    assert_eq!(admitted.steps.to_vec(), verified.steps());
    assert_eq!(
        keccak256(&admitted.steps[2].data),
        stage.order.message().call_hash
    );
    // A duplicate member, of which another reader would take the other one.
    let mut twice = Stage::new();
    twice.envelope = twice
        .envelope
        .replacen("\"steps\":", "\"steps\":[],\"steps\":", 1);
    assert_eq!(refused_check(&twice), "plan_malformed");
}

/// Attack 22: everything is covered by the signed digest.
#[test]
fn a_change_anywhere_changes_the_digest() {
    let edits: [fn(&mut Value); 5] = [
        |plan| plan["valid_until"] = "2026-11-18T11:07:39Z".into(),
        |plan| plan["account_binding"]["address"] = STRANGER.to_string().into(),
        |plan| plan["account_binding"]["chain_id"] = 1.into(),
        |plan| plan["payload"]["chain_id"] = 1.into(),
        |plan| plan["assertions"][0]["observed"] = "x".into(),
    ];
    for edit in edits {
        let mut stage = Stage::new();
        let mut plan: Value = serde_json::from_str(&stage.envelope).unwrap();
        edit(&mut plan);
        stage.envelope = plan.to_string();
        let refusal = stage.admit_in(Phase::GoOn).unwrap_err();
        assert_eq!(
            refusal.check.as_deref(),
            Some("payload_digest_committed"),
            "{refusal}"
        );
    }
}

/// Attack 23: an attacker's request is not the one that the plan is bound to.
#[test]
fn another_request_is_refused() {
    let mut stage = Stage::new();
    let mut other = arguments();
    other["slippage"]["maxBps"] = 49.into();
    stage.request = other.to_string();
    assert_eq!(refused_check(&stage), "agg_min_out_slippage_bound");
    other["slippage"]["maxBps"] = 51.into();
    stage.request = other.to_string();
    assert_eq!(refused_check(&stage), "intent_digest_bound");
    let mut wider = arguments();
    wider["minAmountOut"] = "1".into();
    stage.request = wider.to_string();
    assert_eq!(refused_check(&stage), "intent_digest_bound");
    stage.request = "{}".to_owned();
    assert_eq!(refused_check(&stage), "input_invalid");
}

/// Attack 24: the plan of another account, and of an account of another kind.
#[test]
fn a_plan_for_another_account_is_refused() {
    let mut wanted = arguments();
    wanted["accountProfile"]["address"] = json!(STRANGER);
    assert_eq!(
        Stage::with(grant(), &wanted).refused_by(),
        Rule::FenceAccount
    );
    let mut wanted = arguments();
    wanted["accountProfile"]["kind"] = "safe".into();
    assert_eq!(
        Stage::with(grant(), &wanted).refused_by(),
        Rule::FenceAccount
    );
    let mut wanted = arguments();
    wanted["accountProfile"]["address"] = ACCOUNT.to_string().to_lowercase().into();
    Stage::with(grant(), &wanted).admit().unwrap();
}

/// Attack 44: a plan with other fees.
#[test]
fn a_plan_by_other_fees_than_the_policys_is_refused() {
    let mut stage = Stage::new();
    stage.plans = policy_with(|fees| fees["version"] = "2026-11-02".into());
    // The plan names its fees. With other fees it does not verify, and a plan that is built with
    // those is outside the policy.
    assert_eq!(refused_check(&stage), "plan_rebuilt_exact");
}

/// Attack 29: a price can only refuse.
#[test]
fn a_price_off_its_peg_refuses_and_a_good_one_loosens_nothing() {
    let mut stage = Stage::new();
    for (usd, refused) in [
        ("1", false),
        ("1.01", false),
        ("0.99", false),
        ("1.0101", true),
        ("0.9899", true),
        ("1.05", true),
        ("0", true),
    ] {
        stage.peg = Some(Peg {
            usd: usd.parse().unwrap(),
            max_deviation: BasisPoints::new(100).unwrap(),
        });
        let rule = stage.admit().err().map(|refusal| refusal.rule);
        assert_eq!(rule, refused.then_some(Rule::FencePeg), "{usd}");
    }
    let mut wanted = arguments();
    wanted["fromAmount"] = (CAP + 1).to_string().into();
    let mut stage = Stage::with(grant(), &wanted);
    stage.peg = Some(Peg {
        usd: "0.99".parse().unwrap(),
        max_deviation: BasisPoints::new(100).unwrap(),
    });
    assert_eq!(stage.refused_by(), Rule::FenceApproveCap);
}
