//! Tests of a policy's choice: it chooses one offer of a challenge, and gives a reason for each
//! other one.

use alloy_primitives::{Address, U256};
use serde_json::{Value, json};
use x402_wire::{
    Asset, Network, PaymentRequired, Resource, ascii_json,
    buyer::{Allowance, Budget, Refusal, SpendPolicy},
};

use super::{PAYEE, XLAYER, budget, challenge, policy, read, refusals, usdc, usdt0};

#[test]
fn the_policys_offer_is_chosen_and_every_other_one_is_refused_with_its_reason() {
    let choice = policy().choose(&read(&challenge()), &budget()).unwrap();
    assert_eq!(choice.index(), 3);
    assert_eq!(choice.offer().asset, usdt0().address);
    assert_eq!(
        refusals(&policy(), &challenge(), &budget()),
        [
            (0, "unknown_network"),
            (1, "unknown_scheme"),
            (2, "unknown_transfer_method"),
            (4, "asset_not_allowed"),
            (5, "session_key_needed"),
            (6, "unknown_network"),
        ]
    );
}

#[test]
fn the_policys_order_decides_and_then_the_lower_amount() {
    let allow = |asset: Asset| Allowance::of(&asset, XLAYER, U256::from(20_000));
    let dollars_first = SpendPolicy::new([allow(usdc()), allow(usdt0())]);
    let choice = dollars_first
        .choose(&read(&challenge()), &budget())
        .unwrap();
    assert_eq!(choice.index(), 4);
    let refused = refusals(&dollars_first, &challenge(), &budget());
    assert!(refused.contains(&(3, "not_preferred")), "{refused:?}");

    let mut cheaper = challenge();
    let mut offer = cheaper["accepts"][3].clone();
    offer["amount"] = json!("1999");
    cheaper["accepts"].as_array_mut().unwrap().push(offer);
    let choice = policy().choose(&read(&cheaper), &budget()).unwrap();
    assert_eq!(
        (choice.index(), choice.offer().amount),
        (7, U256::from(1_999))
    );
}

/// Each case breaks one rule of the policy. The refusal names that rule.
#[test]
fn each_rule_of_a_policy_has_its_own_refusal() {
    let other = Address::repeat_byte(9);
    let cap = U256::from(20_000);
    let usdt0 = usdt0();
    let plain = Allowance::new(XLAYER, usdt0.address, cap);
    let code = |allowance: Allowance, challenge: &Value, budget: &Budget| {
        let refused = refusals(&SpendPolicy::new([allowance]), challenge, budget);
        let judged = refused.iter().find(|(index, _)| *index == 3);
        judged.map(|(_, code)| *code)
    };
    let with = |member: &str, value: Value| {
        let mut challenge = challenge();
        challenge["accepts"][3][member] = value;
        challenge
    };
    let (good, enough) = (challenge(), budget());
    assert_eq!(code(plain.clone(), &good, &enough), None);
    assert_eq!(
        code(plain.clone().only_to([other, PAYEE]), &good, &enough),
        None
    );

    let elsewhere = Allowance::new(Network::evm(1), usdt0.address, cap);
    assert_eq!(code(elsewhere, &good, &enough), Some("network_not_allowed"));
    let another = Allowance::new(XLAYER, other, cap);
    assert_eq!(code(another, &good, &enough), Some("asset_not_allowed"));
    let closed = plain.clone().only_to([other]);
    assert_eq!(code(closed, &good, &enough), Some("payee_not_allowed"));
    let nobody = plain.clone().only_to([]);
    assert_eq!(code(nobody, &good, &enough), Some("payee_not_allowed"));
    let tight = Allowance::new(XLAYER, usdt0.address, U256::from(1_999));
    assert_eq!(code(tight, &good, &enough), Some("above_cap"));
    let exact = Allowance::new(XLAYER, usdt0.address, U256::from(2_000));
    assert_eq!(code(exact, &good, &enough), None);
    assert_eq!(
        code(plain.clone(), &good, &Budget::new()),
        Some("above_budget")
    );
    let short = Budget::new().with(XLAYER, usdt0.address, U256::from(1_999));
    assert_eq!(code(plain.clone(), &good, &short), Some("above_budget"));

    let named = Allowance::of(&usdt0, XLAYER, cap);
    let mojibake = with(
        "extra",
        json!({"name": "USD\u{e2}\u{82}\u{ae}0", "version": "1"}),
    );
    assert_eq!(code(named, &mojibake, &enough), Some("domain_mismatch"));
    assert_eq!(code(plain.clone(), &mojibake, &enough), None);
    let hasty = with("maxTimeoutSeconds", json!(5));
    assert_eq!(code(plain, &hasty, &enough), Some("window_too_short"));
    assert_eq!(
        code(
            Allowance::new(XLAYER, usdt0.address, cap),
            &with("extra", json!({})),
            &enough
        ),
        Some("no_domain")
    );
    assert_eq!(
        code(
            Allowance::new(XLAYER, usdt0.address, cap),
            &with("extra", json!({"paymentFlow": "escrow"})),
            &enough
        ),
        Some("unknown_payment_flow")
    );
}

#[test]
fn a_second_allowance_of_the_same_asset_may_allow_more_to_one_payee() {
    let asset = usdt0().address;
    let stranger = Allowance::new(XLAYER, asset, U256::from(100));
    let friend = Allowance::new(XLAYER, asset, U256::from(5_000)).only_to([PAYEE]);
    let policy = SpendPolicy::new([stranger, friend]);
    assert!(policy.choose(&read(&challenge()), &budget()).is_ok());
    let mut other = challenge();
    other["accepts"][3]["payTo"] = json!(Address::repeat_byte(9));
    let refused = refusals(&policy, &other, &budget());
    assert!(refused.contains(&(3, "payee_not_allowed")), "{refused:?}");
}

#[test]
fn the_error_gives_the_reason_for_each_offer_and_stays_short() {
    let nothing = policy().choose(&PaymentRequired::new(Resource::new("x"), []), &budget());
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "the challenge has no offers"
    );
    let mut many = challenge();
    let offer = many["accepts"][0].clone();
    many["accepts"] = json!(vec![offer; 500]);
    let refused = policy().choose(&read(&many), &budget()).unwrap_err();
    assert_eq!(refused.refusals.len(), 500);
    let message = refused.to_string();
    assert!(
        message.ends_with("492 more") && message.len() < 1_500,
        "{message}"
    );
}

#[test]
fn codes_of_refusals_are_stable() {
    let offer = read(&challenge());
    let unknown = |index: usize| Refusal::from(offer.accepts[index].unknown().unwrap().clone());
    let name = offer.options().next().unwrap().extra.clone();
    let (amount, address) = (U256::ZERO, Address::ZERO);
    let all = [
        unknown(0),
        unknown(1),
        unknown(2),
        Refusal::from(x402_wire::UnknownOffer::PaymentFlow {
            observed: "escrow".into(),
        }),
        Refusal::from(x402_wire::UnknownOffer::Domain { member: "name" }),
        Refusal::Session,
        Refusal::Network { observed: XLAYER },
        Refusal::Asset { observed: address },
        Refusal::Payee { observed: address },
        Refusal::Domain {
            expected: name.clone(),
            observed: name,
        },
        Refusal::Window { observed: 1 },
        Refusal::AboveCap {
            cap: amount,
            observed: amount,
        },
        Refusal::AboveBudget {
            left: amount,
            observed: amount,
        },
        Refusal::NotPreferred { chosen: 1 },
    ];
    let lines = all.map(|refusal| format!("{}: {refusal}", refusal.code()));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn entries_are_compared_by_value_and_not_by_text() {
    // `ascii_json` and the seller's own spelling make the same entry.
    let challenge = read(&challenge());
    let again = PaymentRequired::from_json(ascii_json(&challenge).unwrap().as_bytes()).unwrap();
    let choice = policy().choose(&again, &budget()).unwrap();
    assert_eq!(choice.still_offered(&challenge), Ok(()));
}
