//! Attacks on the integrator and on the fee.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{BasisPoints, fees::Rounding};

use crate::swap::sample::{
    AGGREGATOR, FEE_COLLECTOR, FORWARDER, FORWARDER_V1, GROSS, OWN, STRANGER, Sample, USDC, WETH,
    attacks, leg, part,
};

sol! {
    function collectTokenFees(address token, uint256 integratorFee, uint256 lifiFee, address integrator) external;
    function forwardNativeFees((address, uint256)[] distributions) external payable;
}

const OTHER_INTEGRATOR: &str = "the calldata carries another integrator";

attacks! {
    integrator_of_somebody_else: "agg_integrator_exact", "the calldata carries another integrator"
        => |s| s.call._integrator = "lifi-api".to_owned();
    integrator_in_the_quote: "agg_integrator_exact", "the quote is for another integrator"
        => |s| s.quoted.integrator = "lifi-api".to_owned();
    integrator_in_the_referrer: "agg_integrator_exact", "the calldata carries a referrer"
        => |s| s.call._referrer = "jumper.exchange".to_owned();
    referrer_that_is_an_address: "agg_integrator_exact", "the calldata carries a referrer"
        => |s| s.call._referrer = STRANGER.to_string();
    referrer_with_a_shorter_zero: "agg_integrator_exact", "the calldata carries a referrer"
        => |s| s.call._referrer = "0x0".to_owned();

    forwarder_v1: "agg_fee_recipient_exact", "the first leg does not call the reviewed fee forwarder"
        => |s| { s.call._swapData[0].callTo = FORWARDER_V1; s.call._swapData[0].approveTo = FORWARDER_V1; };
    fee_collector: "agg_fee_recipient_exact", "the first leg does not call the reviewed fee forwarder"
        => |s| {
            let leg = &mut s.call._swapData[0];
            (leg.callTo, leg.approveTo) = (FEE_COLLECTOR, FEE_COLLECTOR);
            leg.callData = collectTokenFeesCall {
                token: USDC, integratorFee: U256::from(3_000_000), lifiFee: U256::from(2_500_000), integrator: OWN,
            }.abi_encode().into();
        };
    fee_collector_call_at_the_forwarder: "agg_fee_recipient_exact", "the first leg calls another function of the fee forwarder"
        => |s| s.call._swapData[0].callData = Bytes::from_static(&[0xee, 0xdd, 0x56, 0xe1, 0]);
    native_fees: "agg_fee_recipient_exact", "the first leg calls another function of the fee forwarder"
        => |s| s.call._swapData[0].callData = forwardNativeFeesCall { distributions: vec![(OWN, U256::from(3_000_000))] }.abi_encode().into();
    fee_calldata_shorter_than_a_selector: "agg_fee_recipient_exact", "the first leg calls another function of the fee forwarder"
        => |s| s.call._swapData[0].callData = Bytes::from_static(&[0x33, 0x2d, 0x74]);
    legs_reordered: "agg_fee_recipient_exact", "the first leg does not call the reviewed fee forwarder"
        => |s| { let bytes = s.fees.abi_encode(); s.call._swapData[0].callData = bytes.into(); s.call._swapData.reverse(); };
    no_fee_leg: "agg_fee_recipient_exact", "the first leg does not call the reviewed fee forwarder"
        => |s| { s.call._swapData.remove(0); s.call._swapData[0].requiresDeposit = true; };
    unrecognised_recipient: "agg_fee_recipient_exact", "a fee goes to an unrecognised recipient"
        => |s| s.fees._distributions[0].recipient = STRANGER;
    an_unrecognised_recipient_more: "agg_fee_recipient_exact", "a fee goes to an unrecognised recipient"
        => |s| s.fees._distributions.push(part(STRANGER, 1));
    owner_of_the_forwarder_as_recipient: "agg_fee_recipient_exact", "a fee goes to an unrecognised recipient"
        => |s| s.fees._distributions[0].recipient = alloy_primitives::address!("08647cc950813966142A416D40C382e2c5DB73bB");
    recipient_zero: "agg_fee_recipient_exact", "a fee goes to an unrecognised recipient"
        => |s| s.fees._distributions[1].recipient = Address::ZERO;

    own_fee_one_too_many: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| s.fees._distributions[1].amount = U256::from(3_000_001);
    own_fee_one_too_few: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| s.fees._distributions[1].amount = U256::from(2_999_999);
    own_fee_zero: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| s.fees._distributions[1].amount = U256::ZERO;
    own_fee_of_the_net_input: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| s.fees._distributions[1].amount = U256::from((GROSS - 2_500_000) * 30 / 10_000);
    own_fee_rounded_up: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| { s.scale(U256::from(999)); s.fees._distributions[1].amount = U256::from(3); };
    own_fee_in_two_halves: "agg_fee_amount_exact", "the service's own fee is not the configured one"
        => |s| { s.fees._distributions[1].amount = U256::from(1_500_000); s.fees._distributions.push(part(OWN, 1_500_000)); };
    own_share_past_256_bits: "agg_fee_amount_exact", "the service's share of the input"
        => |s| { s.asked.from_amount = U256::MAX; s.quoted.from_amount = U256::MAX; };

    own_recipient_missing: "agg_fee_recipient_set_versioned", "a recipient of the reviewed set is missing or named twice"
        => |s| { s.fees._distributions.pop(); };
    aggregator_missing: "agg_fee_recipient_set_versioned", "a recipient of the reviewed set is missing or named twice"
        => |s| { s.fees._distributions.remove(0); };
    nobody: "agg_fee_recipient_set_versioned", "a recipient of the reviewed set is missing or named twice"
        => |s| s.fees._distributions.clear();
    own_recipient_twice: "agg_fee_recipient_set_versioned", "a recipient of the reviewed set is missing or named twice"
        => |s| s.fees._distributions.push(part(OWN, 3_000_000));
    aggregator_twice: "agg_fee_recipient_set_versioned", "a recipient of the reviewed set is missing or named twice"
        => |s| s.fees._distributions.push(part(AGGREGATOR, 1));
    aggregator_for_nothing: "agg_fee_recipient_set_versioned", "a recipient receives nothing"
        => |s| s.fees._distributions[0].amount = U256::ZERO;
    more_than_nothing_where_nothing_is_due: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| { s.scale(U256::from(333)); s.fees._distributions[0].amount = U256::ONE; };
    aggregator_takes_more_than_its_share: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| { s.fees._distributions[0].amount = U256::from(2_500_001); s.call._swapData[1].fromAmount -= U256::ONE; };
    aggregator_takes_the_rest_of_the_cap: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| { s.fees._distributions[0].amount = U256::from(3_000_000); s.call._swapData[1].fromAmount -= U256::from(500_000); };
    configured_set_that_is_none: "agg_fee_recipient_set_versioned", "the fee body names another number of recipients than the reviewed set"
        => |s| { let twice = s.policy.recipients[0].clone(); s.policy.recipients.push(twice); };
    fee_leg_duplicated: "agg_fee_recipient_set_versioned", "a second leg calls the fee forwarder"
        => |s| { let bytes = s.fees.abi_encode(); s.call._swapData[0].callData = bytes.into();
                 let again = s.call._swapData[0].clone(); s.call._swapData.insert(1, again); };
    fee_leg_on_the_output: "agg_fee_recipient_set_versioned", "a second leg calls the fee forwarder"
        => |s| { let mut last = leg(WETH, WETH, 1); last.callTo = FORWARDER; last.approveTo = FORWARDER; s.call._swapData.push(last); };

    fees_above_the_cap: "agg_fee_aggregate_cap", "the fees exceed the configured cap"
        => |s| s.policy.aggregate_cap = BasisPoints::new(54).unwrap();
    fees_that_overflow: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| s.fees._distributions[0].amount = U256::MAX;
    fees_that_overflow_to_a_small_sum: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| s.fees._distributions[0].amount = U256::MAX - U256::from(2_999_999);
    cap_past_256_bits: "agg_fee_aggregate_cap", "the cap of the fees"
        => |s| s.scale(U256::MAX / U256::from(60) + U256::ONE);
    fees_above_the_input: "agg_fee_amount_exact", "a recipient's fee is not within its configured share"
        => |s| s.fees._distributions[0].amount = U256::from(GROSS);
}

#[test]
fn integrators_that_are_nearly_the_same() {
    for other in [
        "SVC", "Svc", "svc ", " svc", "sv", "svc2", "svc\0", "ѕvc", "",
    ] {
        let mut sample = Sample::new();
        sample.call._integrator = other.to_owned();
        let failure = sample.judge().unwrap_err();
        assert_eq!(
            (failure.check, failure.violation.message.as_ref()),
            ("agg_integrator_exact", OTHER_INTEGRATOR),
            "{other:?}"
        );
    }
}

#[test]
fn foreign_text_in_a_refusal_is_escaped_and_short() {
    let mut sample = Sample::new();
    sample.quoted.integrator = "\u{1b}[2J\n".repeat(1000);
    let observed = sample.judge().unwrap_err().violation.observed;
    assert!(
        observed.len() < 400 && observed.is_char_boundary(0),
        "{observed}"
    );
    assert!(!observed.chars().any(char::is_control), "{observed}");
}

/// A share of a total is rounded differently than a share by itself: the recorded SHARED split
/// gives the integrator one unit more than `floor(gross * bps / 10000)`. Each rule accepts its own
/// amounts only; none rounds in between.
#[test]
fn each_rule_takes_its_own_amounts_only() {
    for (rounding, own, aggregator, exchanged) in [
        (Rounding::Floor, 17_009_950, 3_001_755, 1_981_158_979u64),
        (Rounding::Floor, 17_009_950, 3_001_756, 1_981_158_978),
        (
            Rounding::SharedRemainder,
            17_009_951,
            3_001_755,
            1_981_158_978,
        ),
        (Rounding::SharedFloor, 17_009_950, 3_001_755, 1_981_158_978),
    ] {
        let mut sample = shared_split();
        sample.fees._distributions = vec![part(AGGREGATOR, aggregator), part(OWN, own)];
        sample.call._swapData[1].fromAmount = U256::from(exchanged);
        for judged_by in Rounding::ALL {
            sample.policy.rounding = judged_by;
            let judged = sample.judge().map_err(|failure| failure.check);
            match judged {
                Ok(_) => assert_eq!(judged_by, rounding),
                Err(check) => {
                    assert_ne!(judged_by, rounding, "{check}");
                    // The parts of two rules agree; the amounts that leave the input do not.
                    let expected = ["agg_fee_amount_exact", "agg_token_amount_bound"];
                    assert!(expected.contains(&check), "{check}");
                }
            }
        }
    }
}

#[test]
fn a_part_of_a_shared_total_is_never_less() {
    let mut sample = shared_split();
    sample.policy.rounding = Rounding::SharedRemainder;
    sample.fees._distributions = vec![part(AGGREGATOR, 3_001_754), part(OWN, 17_009_951)];
    sample.call._swapData[1].fromAmount = U256::from(1_981_158_979u64);
    assert_eq!(sample.judge().unwrap_err().check, "agg_fee_amount_exact");
}

/// The rest of the floors of a shared total stays in the router, and no other amount does.
#[test]
fn the_rest_in_the_router_is_disclosed() {
    let mut sample = shared_split();
    sample.policy.rounding = Rounding::SharedFloor;
    sample.fees._distributions = vec![part(AGGREGATOR, 3_001_755), part(OWN, 17_009_950)];
    sample.call._swapData[1].fromAmount = U256::from(1_981_158_978u64);
    let facts = sample.decode(&sample.steps()).unwrap();
    assert_eq!(facts.left_in_router(), Some(U256::ONE));
    let sample = Sample::new();
    let facts = sample.decode(&sample.steps()).unwrap();
    assert_eq!(facts.left_in_router(), Some(U256::ZERO));
}

/// The recorded SHARED contract: 1 % of 2,001,170,684, of which the aggregator has 15 %.
fn shared_split() -> Sample {
    let gross = 2_001_170_684u64;
    let mut sample = Sample::new();
    sample.policy.aggregate_cap = calldata_checks::BasisPoints::new(100).unwrap();
    sample.policy.recipients[0].bps = calldata_checks::BasisPoints::new(85).unwrap();
    sample.policy.recipients[1].bps = calldata_checks::BasisPoints::new(15).unwrap();
    sample.scale(U256::from(gross));
    sample
}

#[test]
fn a_configuration_without_an_own_recipient_judges_nothing() {
    let mut sample = Sample::new();
    sample.policy.recipients[0].role = "partner".to_owned();
    assert_eq!(sample.judge().unwrap_err().check, "agg_fee_amount_exact");
}
