//! A buyer signs what its policy allows, once, and reads what became of it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use x402_wire::buyer::{
    Allowance, AuthorizeError, Budget, NoOffer, Outcome, OutcomeError, Purchase, Refusal,
    SignedPayment, SpendPolicy, TermsChanged, UnsignedPayment,
};
use x402_wire::{
    Asset, Invalid, MicroUsd, Network, Payment, PaymentId, PaymentPayload, PaymentRequired, Reason,
    Resource, SettlementResponse, Terms, ascii_json, encode_header,
};

const NOW: u64 = 1_795_219_200;
const XLAYER: Network = Network::evm(196);
const PAYEE: Address = address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906");
const PAYER: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const KEY: [u8; 32] = hex!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");

fn challenge() -> Value {
    serde_json::from_str(include_str!("data/challenge.json")).unwrap()
}

fn read(challenge: &Value) -> PaymentRequired {
    PaymentRequired::from_json(challenge.to_string().as_bytes()).unwrap()
}

fn usdt0() -> Asset {
    Asset::chain_196()[0].clone()
}

fn usdc() -> Asset {
    Asset::chain_196()[1].clone()
}

/// Up to 20,000 units of USD₮0 for a payment, and a million in all.
fn policy() -> SpendPolicy {
    SpendPolicy::new([Allowance::of(&usdt0(), XLAYER, U256::from(20_000))])
}

fn budget() -> Budget {
    [usdt0(), usdc()]
        .iter()
        .fold(Budget::new(), |budget, asset| {
            budget.with(XLAYER, asset.address, U256::from(1_000_000))
        })
}

fn purchase() -> Purchase {
    Purchase::new(PAYER, NOW, B256::repeat_byte(7))
}

fn unsigned(challenge: &Value) -> UnsignedPayment {
    let choice = policy().choose(&read(challenge), &budget()).unwrap();
    choice.authorize(purchase(), &mut budget()).unwrap()
}

fn sign(digest: B256) -> [u8; 65] {
    let key = SigningKey::from_slice(&KEY).unwrap();
    let (signature, parity) = key.sign_prehash_recoverable(digest.as_slice()).unwrap();
    let mut bytes = [0; 65];
    bytes[..64].copy_from_slice(&signature.to_bytes());
    bytes[64] = parity.to_byte();
    bytes
}

fn signed() -> SignedPayment {
    let unsigned = unsigned(&challenge());
    unsigned.sign(sign(unsigned.digest())).unwrap()
}

fn refusals(
    policy: &SpendPolicy,
    challenge: &Value,
    budget: &Budget,
) -> Vec<(usize, &'static str)> {
    let refused: Vec<_> = match policy.choose(&read(challenge), budget) {
        Ok(choice) => choice.not_chosen().to_vec(),
        Err(NoOffer { refusals, .. }) => refusals,
    };
    refused
        .iter()
        .map(|other| (other.index, other.refusal.code()))
        .collect()
}

#[test]
fn the_offer_of_the_policy_is_chosen_and_every_other_one_is_refused_by_name() {
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

/// One rule of the policy at a time is broken, and the refusal is of that rule.
#[test]
fn each_rule_of_a_policy_refuses_by_its_own_name() {
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
fn no_offer_says_why_of_each_and_stays_short() {
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
fn a_signed_payment_is_one_that_the_seller_takes() {
    let terms = Terms {
        network: XLAYER,
        pay_to: PAYEE,
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    };
    let offer = terms.offer(MicroUsd::dollars("0.002"));
    let resource = Resource::new("https://api.example.test/price");
    let challenge = PaymentRequired::new(resource, offer.options().cloned());
    let challenge = PaymentRequired::from_header(challenge.to_header().as_bytes()).unwrap();

    let mut budget = budget();
    let choice = policy().choose(&challenge, &budget).unwrap();
    let unsigned = choice.authorize(purchase(), &mut budget).unwrap();
    assert_eq!(budget.left(XLAYER, usdt0().address), U256::from(998_000));
    let signed = unsigned.sign(sign(unsigned.digest())).unwrap();

    let payload = PaymentPayload::from_header(signed.header().as_bytes()).unwrap();
    let payment = Payment::matching(&offer, payload).unwrap();
    payment.check_terms().unwrap();
    payment.check_window(NOW, 299).unwrap();
    assert_eq!(payment.digest(), unsigned.digest());
    assert_eq!(payment.key(), signed.key());
    assert_eq!(payment.payer(), PAYER);
    #[cfg(feature = "recover")]
    assert_eq!(
        payment.check_signature(),
        Ok(x402_wire::SignatureStanding::Recovered)
    );
}

/// The vectors were made with another implementation.
#[test]
fn digest_and_typed_data_are_those_of_the_published_vectors() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../fixtures/vectors/payments.json")).unwrap();
    let header = vectors["payment_required_example"]["PAYMENT-REQUIRED"].as_str();
    let challenge = PaymentRequired::from_header(header.unwrap().as_bytes()).unwrap();
    let example = &vectors["eip3009_example"];
    let nonce = example["typed_data"]["message"]["nonce"].as_str().unwrap();
    let purchase = Purchase::new(PAYER, NOW, nonce.parse().unwrap());
    let choice = policy().choose(&challenge, &budget()).unwrap();
    let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
    assert_eq!(unsigned.typed_data(), example["typed_data"]);
    assert_eq!(json!(unsigned.digest()), example["digest"]);

    let signature = example["signature"].as_str().unwrap();
    let signature: [u8; 65] = hex::decode(signature).unwrap().try_into().unwrap();
    let signed = unsigned.sign(signature).unwrap();
    let mut expected: Value = serde_json::from_str(
        vectors["payment_signature_example"]["json"]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    let payload = signed.payload().unwrap();
    let sent: Value = serde_json::from_str(payload.raw()).unwrap();
    if !challenge.extensions.is_empty() {
        expected["extensions"] = serde_json::to_value(&challenge.extensions).unwrap();
    }
    assert_eq!(sent, expected);
}

#[test]
fn the_payment_echoes_the_entry_with_members_that_this_crate_does_not_know() {
    let payload = signed().payload().unwrap();
    assert!(payload.raw().is_ascii());
    let sent: Value = serde_json::from_str(payload.raw()).unwrap();
    assert_eq!(sent["accepted"], challenge()["accepts"][3]);
    assert_eq!(sent["resource"], challenge()["resource"]);
    assert_eq!(sent["extensions"], challenge()["extensions"]);
}

/// A parser would write other numbers.
#[test]
fn extensions_and_the_entry_come_back_byte_for_byte() {
    let text = include_str!("data/challenge.json");
    let numbers = r#"{ "info": { "a": 1.10, "b": 123456789012345678901234567890, "c": 1E+2 } }"#;
    let text = text.replacen(
        r#""bazaar": {"#,
        &format!(r#""numbers": {numbers}, "bazaar": {{"#),
        1,
    );
    let text = text.replacen(r#""future": ["#, r#""price": 0.10, "future": ["#, 1);
    let challenge = PaymentRequired::from_json(text.as_bytes()).unwrap();
    let choice = policy().choose(&challenge, &budget()).unwrap();
    let purchase = purchase().with_id(PaymentId::from_random([1; 16]));
    let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
    let payment = unsigned.sign(sign(unsigned.digest())).unwrap();
    let payload = payment.payload().unwrap();
    assert!(payload.raw().contains(numbers), "{}", payload.raw());
    assert!(
        payload.raw().contains(r#""price": 0.10"#),
        "{}",
        payload.raw()
    );
}

#[test]
fn the_window_is_the_shorter_of_the_offers_and_the_policys() {
    let ends = |policy: SpendPolicy, now: u64| {
        let choice = policy.choose(&read(&challenge()), &budget()).unwrap();
        let purchase = Purchase::new(PAYER, now, B256::ZERO);
        let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
        assert_eq!(unsigned.authorization().valid_after, U256::ZERO);
        unsigned.authorization().valid_before
    };
    assert_eq!(ends(policy(), NOW), U256::from(NOW + 600));
    assert_eq!(ends(policy().with_window(90), NOW), U256::from(NOW + 90));
    assert_eq!(ends(policy().with_window(0), NOW), U256::from(NOW + 6));
    assert_eq!(
        ends(policy().with_window(u64::MAX), NOW),
        U256::from(NOW + 86_400)
    );
    assert_eq!(ends(policy(), u64::MAX), U256::from(u64::MAX));
    let dollars = SpendPolicy::new([Allowance::of(&usdc(), XLAYER, U256::from(20_000))]);
    assert_eq!(ends(dollars, NOW), U256::from(NOW + 120));
}

#[test]
fn what_the_budget_lacks_is_not_authorized() {
    let choice = policy().choose(&read(&challenge()), &budget()).unwrap();
    let asset = usdt0().address;
    let mut rest = Budget::new().with(XLAYER, asset, U256::from(3_999));
    assert!(choice.authorize(purchase(), &mut rest).is_ok());
    let refused = choice.authorize(purchase(), &mut rest).unwrap_err();
    assert!(matches!(refused, AuthorizeError::Budget(_)), "{refused}");
    assert_eq!(rest.left(XLAYER, asset), U256::from(1_999));
    rest.give_back(XLAYER, asset, U256::from(2_000));
    assert_eq!(rest.left(XLAYER, asset), U256::from(3_999));
    rest.give_back(XLAYER, asset, U256::MAX);
    assert_eq!(rest.left(XLAYER, asset), U256::MAX);
}

#[test]
fn signatures_that_a_token_refuses_are_not_sent() {
    let unsigned = unsigned(&challenge());
    let good = sign(unsigned.digest());
    let with_v = |v: u8| {
        let mut signature = good;
        signature[64] = v;
        unsigned.sign(signature)
    };
    for v in [2, 26, 29, 255] {
        assert_eq!(
            with_v(v).unwrap_err(),
            Invalid::RecoveryValue { observed: v }
        );
    }
    assert_eq!(with_v(0).unwrap().header(), with_v(27).unwrap().header());
    let order = U256::from_be_bytes(hex!(
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
    ));
    let mut high = good;
    let s = order - U256::from_be_slice(&good[32..64]);
    high[32..64].copy_from_slice(&s.to_be_bytes::<32>());
    high[64] ^= 1;
    assert_eq!(unsigned.sign(high).unwrap_err(), Invalid::HighS);

    let wallet = unsigned.sign_by_wallet(&Bytes::from(vec![1; 130])).unwrap();
    let payload = wallet.payload().unwrap();
    assert_eq!(payload.signature().to_bytes().unwrap().len(), 130);
    assert!(unsigned.sign_by_wallet(&Bytes::from(vec![1; 64])).is_err());
}

#[test]
fn a_retry_sends_the_same_header_and_a_changed_challenge_gets_none() {
    let payment = signed();
    assert_eq!(payment.again(&read(&challenge())), Ok(payment.header()));
    // Another order, other offers and another text change nothing.
    let mut same = challenge();
    same["accepts"].as_array_mut().unwrap().reverse();
    same["error"] = json!("settlement failed");
    assert_eq!(payment.again(&read(&same)), Ok(payment.header()));

    let changed = |member: &str, value: Value| {
        let mut challenge = challenge();
        challenge["accepts"][3][member] = value;
        payment.again(&read(&challenge)).unwrap_err()
    };
    for amount in ["1999", "2001", "0"] {
        let change = changed("amount", json!(amount));
        assert!(matches!(change, TermsChanged::Amount { .. }), "{change}");
    }
    let payee = changed("payTo", json!(Address::repeat_byte(9)));
    assert!(matches!(payee, TermsChanged::Payee { .. }), "{payee}");
    let domain = changed("extra", json!({"name": "USD", "version": "1"}));
    assert!(matches!(domain, TermsChanged::Domain { .. }), "{domain}");
    for (member, value) in [
        ("asset", json!(Address::repeat_byte(9))),
        ("network", json!("eip155:1")),
        ("scheme", json!("upto")),
    ] {
        let change = changed(member, value);
        assert!(
            matches!(change, TermsChanged::Asset { .. }),
            "{member}: {change}"
        );
    }
}

#[test]
fn the_identifier_is_the_callers_and_is_sent_to_those_who_take_one() {
    let id = PaymentId::from_random([5; 16]);
    let pay = |challenge: &Value, purchase: Purchase| {
        let choice = policy().choose(&read(challenge), &budget()).unwrap();
        let unsigned = choice.authorize(purchase, &mut budget())?;
        Ok::<_, AuthorizeError>(unsigned.sign(sign(unsigned.digest())).unwrap())
    };
    let first = pay(&challenge(), purchase().with_id(id.clone())).unwrap();
    assert_eq!(first.payload().unwrap().payment_id(), Some(id.as_str()));
    let mut expected = challenge()["extensions"].clone();
    expected["payment-identifier"]["info"]["id"] = json!(id);
    let sent: Value = serde_json::from_str(first.payload().unwrap().raw()).unwrap();
    assert_eq!(sent["extensions"], expected);

    // The same purchase with a fresh signature carries the same identifier.
    let fresh = Purchase::new(PAYER, NOW + 900, B256::repeat_byte(8)).with_id(id.clone());
    let second = pay(&challenge(), fresh).unwrap();
    assert_ne!(second.header(), first.header());
    assert_eq!(second.payload().unwrap().payment_id(), Some(id.as_str()));

    let mut required = challenge();
    required["extensions"]["payment-identifier"]["info"]["required"] = json!(true);
    let refused = pay(&required, purchase()).unwrap_err();
    assert_eq!(refused, AuthorizeError::PaymentIdRequired);
    assert!(pay(&required, purchase().with_id(id.clone())).is_ok());

    let mut none = challenge();
    none["extensions"] = json!({});
    let payment = pay(&none, purchase().with_id(id)).unwrap();
    assert_eq!(payment.payment_id(), None);
    assert_eq!(payment.payload().unwrap().payment_id(), None);
}

#[test]
fn a_receipt_is_read_as_the_outcome_of_this_payment() {
    let payment = signed();
    let hash = B256::repeat_byte(3);
    let outcome = |receipt: Value| payment.outcome(encode_header(&receipt.to_string()).as_bytes());
    let good =
        json!({"success": true, "transaction": hash, "network": "eip155:196", "payer": PAYER});
    let with = |member: &str, value: Value| {
        let mut receipt = good.clone();
        receipt[member] = value;
        outcome(receipt)
    };
    let settled = Ok(Outcome::Settled { transaction: hash });
    assert_eq!(outcome(good.clone()), settled);
    let lower = PAYER.to_string().to_lowercase();
    assert_eq!(with("payer", json!(lower)), settled);
    assert_eq!(with("amount", json!("2000")), settled);
    assert_eq!(with("status", json!("success")), settled);
    let transaction = Some(hash);
    let pending = Ok(Outcome::Pending { transaction });
    assert_eq!(with("status", json!("timeout")), pending);
    assert_eq!(with("status", json!("pending")), pending);

    let failed = SettlementResponse::failed(&Reason::InsufficientFunds, "", XLAYER, PAYER);
    let reason = Reason::InsufficientFunds;
    let read = payment.outcome(failed.to_header().as_bytes());
    assert_eq!(read, Ok(Outcome::NotSettled { reason }));
    let waiting = SettlementResponse::failed(&Reason::SettlementPending, "", XLAYER, PAYER);
    let read = payment.outcome(waiting.to_header().as_bytes());
    assert_eq!(read, Ok(Outcome::Pending { transaction: None }));
    let silent = outcome(json!({"success": false}));
    assert!(
        matches!(silent, Ok(Outcome::NotSettled { .. })),
        "{silent:?}"
    );

    for (member, value) in [
        ("network", json!("eip155:1")),
        ("payer", json!(PAYEE)),
        ("amount", json!("2001")),
        ("amount", json!("0x7d0")),
    ] {
        let read = with(member, value);
        assert!(
            matches!(&read, Err(OutcomeError::OtherPayment { member: named, .. }) if *named == member),
            "{member}: {read:?}"
        );
    }
    let read = with("errorReason", json!("transaction_failed"));
    assert!(
        matches!(read, Err(OutcomeError::Contradiction { .. })),
        "{read:?}"
    );
    for transaction in ["", "0x12", "done"] {
        let read = with("transaction", json!(transaction));
        assert!(
            matches!(read, Err(OutcomeError::Transaction { .. })),
            "{read:?}"
        );
    }
    assert!(matches!(
        payment.outcome(b"!"),
        Err(OutcomeError::Header(_))
    ));
}

#[test]
fn nothing_prints_a_payment_that_could_be_settled() {
    let payment = signed();
    let signature = payment.payload().unwrap().signature().as_str().to_owned();
    let printed = format!("{payment:?}");
    assert!(!printed.contains(&signature[2..20]) && !printed.contains(payment.header()));
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
fn a_choice_is_not_of_the_text_but_of_the_value() {
    // `ascii_json` and the seller's own spelling are the same entry.
    let challenge = read(&challenge());
    let again = PaymentRequired::from_json(ascii_json(&challenge).as_bytes()).unwrap();
    let choice = policy().choose(&again, &budget()).unwrap();
    assert_eq!(choice.still_offered(&challenge), Ok(()));
}
