//! Attacks 20, 22, 45 and 46, as far as the order decides them: one plan, one order, once.

use alloy_primitives::{Address, B256, U256, address};
use calldata_checks::{BasisPoints, StepKind};
use delegation_fence::{
    Budget, Domain, Foresight, Novelty, Order, Phase, PlanWorth, Rates, Rule, Spent, WorthTooLow,
};

use crate::attacks::{
    sample::{NOW, STRANGER, USDC, arguments},
    stage::{Stage, at, delegate, grant, owner, sign, sign_in, stranger},
};

/// A token that the shipped policy lists, and that no sample pays or wants.
const DAI: Address = address!("0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb");

#[test]
fn an_order_by_another_key_is_refused() {
    for key in [stranger(), owner()] {
        let mut stage = Stage::new();
        stage.order = sign(stage.order.message().clone(), &key);
        assert_eq!(stage.refused_by(), Rule::OrderNotByDelegate);
    }
}

/// Somebody has the delegate's key and signs true orders: for a plan that passes every check and
/// ends in a token of the thief's own. The policy lists where a swap may end.
#[test]
fn a_stolen_delegates_key_ends_in_no_token_of_the_thiefs() {
    let mut wanted = arguments();
    wanted["toToken"] = STRANGER.to_string().into();
    let mut stage = Stage::with(grant(), &wanted);
    stage.reorder(|order| order.output_token = STRANGER);
    for phase in [Phase::Begin, Phase::GoOn] {
        let refusal = stage.admit_in(phase).unwrap_err();
        assert_eq!(refusal.rule, Rule::FenceOutputToken);
        assert_eq!(refusal.observed, STRANGER.to_string());
        assert!(refusal.expected.contains("WETH, cbBTC"), "{refusal}");
    }
    // The same plan into a listed token is admitted.
    wanted["toToken"] = DAI.to_string().into();
    let mut stage = Stage::with(grant(), &wanted);
    stage.reorder(|order| order.output_token = DAI);
    stage.admit().unwrap();
}

#[test]
fn an_order_for_another_instance_is_refused() {
    let mut stage = Stage::new();
    let message = stage.order.message().clone();
    stage.order = sign_in(Domain::new(8453, B256::ZERO), message.clone(), &delegate());
    assert_eq!(stage.refused_by(), Rule::DomainSaltMismatch);
    stage.order = sign_in(
        Domain::new(1, B256::repeat_byte(0x11)),
        message,
        &delegate(),
    );
    assert_eq!(stage.refused_by(), Rule::DomainChainMismatch);
}

#[test]
fn a_deadline_bounds_the_start_of_the_first_step_only() {
    let mut stage = Stage::new();
    stage.reorder(|order| order.deadline = NOW);
    stage.admit().unwrap();
    stage.now = delegation_fence::Now {
        wall: at(NOW),
        chain: at(NOW + 1),
    };
    assert_eq!(stage.refused_by(), Rule::OrderDeadlinePassed);
    stage.admit_in(Phase::GoOn).unwrap();
}

/// The order, the body and the plan name the same values, or nothing is sent.
#[test]
fn an_order_over_other_things_is_refused() {
    let edits: [fn(&mut Order); 5] = [
        |order| order.account = STRANGER,
        |order| order.grant_id = B256::repeat_byte(3),
        |order| order.payload_digest = B256::repeat_byte(3),
        |order| order.call_hash = B256::repeat_byte(3),
        // Attack 46: an invented token.
        |order| order.output_token = Address::repeat_byte(3),
    ];
    for edit in edits {
        let mut stage = Stage::new();
        stage.reorder(edit);
        assert_eq!(stage.refused_by(), Rule::OrderMismatch);
    }
}

/// Attack 28.
#[test]
fn the_minimum_of_an_order_is_one_that_the_calldata_guarantees() {
    let least = Stage::new().order.message().min_amount_out;
    for (minimum, refused) in [
        (U256::ZERO, true),
        (U256::ONE, false),
        (least, false),
        (least + U256::ONE, true),
        (U256::MAX, true),
    ] {
        let mut stage = Stage::new();
        stage.reorder(|order| order.min_amount_out = minimum);
        let rule = stage.admit().err().map(|refusal| refusal.rule);
        assert_eq!(
            rule,
            refused.then_some(Rule::OrderMinOutInvalid),
            "{minimum}"
        );
    }
}

/// The required output is the minimum in the calldata, also where the order asks for less.
#[test]
fn the_required_landing_is_data_for_the_sender() {
    let mut stage = Stage::new();
    let least = stage.order.message().min_amount_out;
    stage.reorder(|order| order.min_amount_out = U256::ONE);
    let admitted = stage.admit().unwrap();
    assert_eq!(admitted.landing.at_least, least);
    assert_eq!(admitted.landing.account, admitted.account);
    assert_ne!(admitted.landing.token, USDC);
}

/// An admitted plan is stored whole and read back unchanged: a restart derives nothing of it again.
#[test]
fn an_admitted_plan_is_stored_and_read_again() {
    let admitted = Stage::new().admit().unwrap();
    let text = admitted.to_json();
    assert_eq!(delegation_fence::Admitted::restore(&text), Ok(admitted));
    for broken in [
        "",
        "{}",
        &text.replace("approve_reset", "approve_twice"),
        &text.replace("\"steps\":[", "\"steps\":[{},"),
    ] {
        let refusal = delegation_fence::Admitted::restore(broken).unwrap_err();
        assert_eq!(refusal.rule, Rule::LogMalformed);
    }
}

/// A stored order counts as used.
#[test]
fn a_restored_order_is_used() {
    let mut stage = Stage::new();
    let plan = stage.order.message().payload_digest;
    stage
        .account
        .restore_order(plan, stage.order.digest(), false);
    assert_eq!(stage.account.in_flight(), None);
    stage.reorder(|order| order.deadline -= 1);
    assert_eq!(stage.refused_by(), Rule::OrderAlreadyUsed);
    stage
        .account
        .restore_order(B256::repeat_byte(9), B256::ZERO, true);
    assert_eq!(stage.account.in_flight(), Some(B256::repeat_byte(9)));
}

/// Attacks 20 and 45: a repeated identical order is the same one; another order of the same plan is
/// refused for ever.
#[test]
fn a_plan_is_ordered_once() {
    let mut stage = Stage::new();
    assert_eq!(stage.account.accept(&stage.order), Ok(Novelty::New));
    assert_eq!(stage.account.accept(&stage.order), Ok(Novelty::Again));
    let first = stage.order.clone();
    stage.reorder(|order| order.deadline -= 1);
    // This rule comes before `plan_in_flight`.
    assert_eq!(stage.refused_by(), Rule::OrderAlreadyUsed);
    stage.account.release(first.message().payload_digest);
    assert_eq!(stage.refused_by(), Rule::OrderAlreadyUsed);
    assert_eq!(
        stage.account.accept(&stage.order).unwrap_err().rule,
        Rule::OrderAlreadyUsed
    );
    assert_eq!(stage.account.accept(&first), Ok(Novelty::Again));
}

/// Attack 20: an account has one plan in flight, and a second one is refused.
#[test]
fn a_second_plan_is_refused_while_one_is_in_flight() {
    let mut stage = Stage::new();
    let mut other = arguments();
    other["fromAmount"] = "2000000000".into();
    let second = Stage::with(crate::attacks::stage::grant(), &other);
    stage.account.accept(&stage.order).unwrap();
    let refusal = stage.account.accept(&second.order).unwrap_err();
    assert_eq!(refusal.rule, Rule::PlanInFlight);
    stage.account.release(second.order.message().payload_digest);
    assert_eq!(
        stage.account.accept(&second.order).unwrap_err().rule,
        Rule::PlanInFlight
    );
    stage.account.release(stage.order.message().payload_digest);
    assert_eq!(stage.account.accept(&second.order), Ok(Novelty::New));
}

/// The service pays the gas of every plan, so it requires a minimum and keeps a budget.
#[test]
fn a_plan_is_worth_its_gas_and_within_the_budgets_of_the_day() {
    let admitted = Stage::new().admit().unwrap();
    let budget = |least_amount| Budget {
        least_amount,
        of_plan: 10,
        of_account: 30,
        of_all: 100,
    };
    budget(admitted.amount).require_size(&admitted).unwrap();
    let refusal = budget(admitted.amount + U256::ONE)
        .require_size(&admitted)
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::OrderTooSmall);
    for (of_account, of_all, refused) in [
        (20, 90, false),
        (21, 90, true),
        (20, 91, true),
        (u64::MAX, u64::MAX, true),
    ] {
        let spent = Spent { of_account, of_all };
        let rule = budget(U256::ZERO).require_gas(spent).err();
        let rule = rule.map(|refusal| refusal.rule);
        assert_eq!(rule, refused.then_some(Rule::GasBudgetExhausted));
    }
}

/// A delegate's key alone must not be enough to sell far below the market.
#[test]
fn a_plan_that_promises_less_than_its_input_is_worth_is_refused() {
    let mut admitted = Stage::new().admit().unwrap();
    admitted.amount = U256::from(1_000_000_000);
    let rates = |input: &str, output: &str| Rates {
        input_usd: input.parse().unwrap(),
        input_decimals: 6,
        output_usd: output.parse().unwrap(),
        output_decimals: 18,
    };
    let two_percent = BasisPoints::new(200).unwrap();
    let fair = U256::from(392_000_000_000_000_000_u64);
    for (at_least, rates, worth) in [
        (fair, rates("1", "2500"), true),
        (fair - U256::ONE, rates("1", "2500"), false),
        // The input is below its peg: less is expected for it.
        (fair - U256::ONE, rates("0.99", "2500"), true),
        // Prices without a usable figure confirm nothing.
        (fair, rates("0", "2500"), false),
        (fair, rates("1", "0"), false),
    ] {
        admitted.landing.at_least = at_least;
        let judged = PlanWorth::Judged {
            rates,
            holds: Ok(()),
        };
        let rule = admitted.require_worth(&judged, two_percent).err();
        let rule = rule.map(|refusal| refusal.rule);
        assert_eq!(rule, (!worth).then_some(Rule::FencePrice), "{rates:?}");
        // A deviation of everything limits nothing.
        let unlimited = admitted.require_worth(&judged, BasisPoints::MAX);
        assert_eq!(unlimited, Ok(()));
    }
    let judged = |holds| PlanWorth::Judged {
        rates: rates("1", "2500"),
        holds,
    };
    // The operator's limit for any swap holds as well.
    admitted.landing.at_least = fair;
    let too_low = judged(Err(WorthTooLow {
        expected: "at most 100 basis points".to_owned(),
        observed: "200".to_owned(),
    }));
    let refused = admitted.require_worth(&too_low, two_percent).unwrap_err();
    assert_eq!(refused.rule, Rule::PriceImpactTooHigh);
    // Without prices there is no judgement, whatever the limits are.
    let unknown = PlanWorth::Unknown {
        reason: "no source has a price".to_owned(),
    };
    for limit in [two_percent, BasisPoints::MAX] {
        let refused = admitted.require_worth(&unknown, limit).unwrap_err();
        assert_eq!(refused.rule, Rule::WorthUnknown);
    }
    admitted.amount = U256::MAX;
    let beyond = admitted.require_worth(&judged(Ok(())), two_percent);
    assert_eq!(beyond.unwrap_err().rule, Rule::FencePrice);
}

/// A plan that cannot succeed is refused before it costs gas: too few tokens, or a step that
/// reverts.
#[test]
fn a_plan_that_the_chain_would_not_execute_is_refused() {
    let admitted = Stage::new().admit().unwrap();
    for (balance, reverts, refused_by) in [
        (admitted.amount, None, None),
        (
            admitted.amount - U256::ONE,
            Some(StepKind::Call),
            Some(Rule::BalanceTooLow),
        ),
        (
            admitted.amount,
            Some(StepKind::Call),
            Some(Rule::PlanWouldRevert),
        ),
    ] {
        let judged = admitted.require_feasible(Foresight { balance, reverts });
        assert_eq!(judged.err().map(|refusal| refusal.rule), refused_by);
    }
}
