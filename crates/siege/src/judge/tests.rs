//! Tests of the judgement: an invented siege without a breach, and one breach of each promise.

mod budgets;
mod owners;

use alloy_primitives::{Address, B256, U256};

use super::findings::*;
use super::owners::WALLETS_PAID;
use super::*;
use crate::record::{End, Purchase, Served};

fn key(nonce: u8) -> Key {
    Key {
        asset: Address::repeat_byte(1),
        payer: Address::repeat_byte(2),
        nonce: B256::repeat_byte(nonce),
    }
}

fn charge(nonce: u8) -> Charge {
    Charge {
        key: key(nonce),
        transaction: B256::repeat_byte(nonce.wrapping_add(100)),
        amount: 2_000,
    }
}

fn purchase(nonces: &[u8], end: End) -> Purchase {
    Purchase {
        buyer: "a buyer".to_owned(),
        target: "/price".to_owned(),
        keys: nonces.iter().copied().map(key).collect(),
        end,
    }
}

fn served(nonce: u8) -> Served {
    Served {
        caller: "buyer",
        key: key(nonce),
        target: "/price".to_owned(),
        transaction: Some(charge(nonce).transaction),
        repeats: false,
        body: B256::repeat_byte(nonce),
    }
}

/// Makes evidence without a breach: one answered purchase, one that had to wait, and one whose
/// first payment was void.
fn peaceful() -> Evidence {
    let seen = Seen {
        purchases: vec![
            purchase(&[1], End::Answered(key(1))),
            purchase(&[2], End::Waiting),
            purchase(&[3, 4], End::Answered(key(4))),
        ],
        served: vec![served(1), served(1), served(4)],
        keys: [1, 2, 3, 4].map(key).into(),
        peace: vec![Duration::from_millis(10); 100],
        siege: vec![Duration::from_millis(25); 100],
        plans: vec![String::new()],
        told: [(owners::OWNER, owners::WALLET)].into(),
        orders: owners::orders(),
        ..Seen::default()
    };
    let states = [
        (1, "settled"),
        (2, "released"),
        (3, "not_seen"),
        (4, "settled"),
    ];
    Evidence {
        seen,
        charges: vec![charge(1), charge(4)],
        testimonies: vec![Testimony {
            server: 1,
            states: states
                .map(|(nonce, state)| (key(nonce), state.to_owned()))
                .into(),
            open: [("in_flight".to_owned(), 0), ("unknown".to_owned(), 0)].into(),
        }],
        revocations: [("/delegation/grants/1".to_owned(), "revoked".to_owned())].into(),
        purses: vec![owners::purse()],
        stolen: [(owners::TOKEN, U256::ZERO)].into(),
        wallet_owners: vec![owners::OWNER, Address::repeat_byte(9)],
        calls: (0..30).map(call).collect(),
        failed_transactions: 0,
        pool: 100_000,
        quotas: vec![Quota {
            host: "a.example".to_owned(),
            family: "",
            limit: 10,
            window: Duration::from_secs(1),
        }],
        footprints: vec![Footprint {
            server: "api-server".to_owned(),
            warm: Held {
                memory: 50 << 20,
                descriptors: 40,
            },
            end: Held {
                memory: 58 << 20,
                descriptors: 44,
            },
        }],
        tolerance: Tolerance {
            memory: 8 << 20,
            descriptors: 4,
            ratio: Some(3),
            p99: Some(Duration::from_secs(1)),
            waiting: true,
        },
    }
}

/// Makes a call. Their numbers place ten calls in each second.
fn call(number: u64) -> UpstreamCall {
    UpstreamCall {
        host: "a.example".to_owned(),
        family: "",
        at: Duration::from_millis(number * 100),
        weight: 1,
        is_model: false,
        asked_at: 0,
    }
}

/// Returns the promises that are broken after this change, each with its breaches.
fn broken(change: impl FnOnce(&mut Evidence)) -> Vec<(&'static str, Vec<String>)> {
    let mut evidence = peaceful();
    change(&mut evidence);
    let findings = judge(&evidence).into_iter();
    let broken = findings.filter(|finding| !finding.is_kept());
    broken
        .map(|finding| (finding.promise, finding.broken))
        .collect()
}

fn names(broken: &[(&'static str, Vec<String>)]) -> Vec<&'static str> {
    broken.iter().map(|(promise, _)| *promise).collect()
}

#[test]
fn a_peaceful_siege_keeps_every_promise() {
    assert_eq!(broken(|_| {}), []);
}

#[test]
fn a_purchase_that_is_charged_by_two_authorizations_is_caught() {
    let broken = broken(|evidence| {
        evidence.charges.push(charge(3));
        evidence.testimonies[0]
            .states
            .insert(key(3), "settled".to_owned());
    });
    assert_eq!(names(&broken), [CHARGED_ONCE]);
    assert!(
        broken[0].1[0].contains(&key(3).to_string()) && broken[0].1[0].contains("2 times"),
        "{broken:?}"
    );
}

#[test]
fn an_authorization_that_is_charged_twice_is_caught() {
    let broken = broken(|evidence| evidence.charges.push(charge(1)));
    assert_eq!(names(&broken), [CHARGED_ONCE, CHARGES_KNOWN]);
}

#[test]
fn a_charge_without_an_answer_is_caught() {
    let broken = broken(|evidence| {
        evidence.charges.push(charge(2));
        evidence.testimonies[0]
            .states
            .insert(key(2), "settled".to_owned());
    });
    assert_eq!(names(&broken), [CHARGES_ANSWERED]);
    assert!(
        broken[0].1[0].starts_with(&key(2).to_string()),
        "{broken:?}"
    );
}

#[test]
fn a_purchase_without_an_end_is_caught() {
    for end in [End::Open("503".to_owned()), End::Refused("404".to_owned())] {
        let broken = broken(|evidence| evidence.seen.purchases[1].end = end);
        assert_eq!(names(&broken), [PURCHASES_ENDED]);
        assert!(broken[0].1[0].contains(&key(2).to_string()), "{broken:?}");
    }
    let strictly = broken(|evidence| evidence.tolerance.waiting = false);
    assert_eq!(names(&strictly), [PURCHASES_ENDED]);
    // An owner accepts that an action is declined, but not that it is charged.
    let declined = |number: usize| {
        let end = End::Declined("422".to_owned());
        broken(|evidence| evidence.seen.purchases[number].end = end)
    };
    assert_eq!(declined(1), []);
    assert_eq!(names(&declined(0)), [CHARGES_ANSWERED]);
}

#[test]
fn an_unpaid_answer_to_any_caller_is_caught() {
    let unpaid = |caller| Served {
        caller,
        ..served(9)
    };
    for caller in ["buyer", "forged signatures"] {
        let broken = broken(|evidence| evidence.seen.served.push(unpaid(caller)));
        assert_eq!(names(&broken), [SERVED_IS_PAID]);
        assert!(
            broken[0].1[0].contains(caller) && broken[0].1[0].contains(&key(9).to_string()),
            "{broken:?}"
        );
    }
}

#[test]
fn an_answer_that_repeats_a_purchase_names_a_charge_of_its_payer() {
    let repeated = |transaction| {
        broken(|evidence| {
            let repeats = true;
            evidence.seen.served.push(Served {
                transaction,
                repeats,
                ..served(9)
            });
        })
    };
    let paid = peaceful().seen.served[0].transaction;
    assert_eq!(repeated(paid), []);
    for unpaid in [Some(B256::repeat_byte(7)), None] {
        assert_eq!(names(&repeated(unpaid)), [SERVED_IS_PAID]);
    }
}

#[test]
fn a_receipt_with_another_transaction_is_caught() {
    let made_up = [Some(B256::repeat_byte(7)), None];
    for transaction in made_up {
        let broken = broken(|evidence| evidence.seen.served[0].transaction = transaction);
        assert_eq!(names(&broken), [SERVED_IS_PAID]);
    }
}

#[test]
fn a_payment_that_bought_two_answers_is_caught() {
    let elsewhere = |served: &mut Served| served.target = "/swap".to_owned();
    let otherwise = |served: &mut Served| served.body = B256::ZERO;
    let changes: [fn(&mut Served); 2] = [elsewhere, otherwise];
    for change in changes {
        let broken = broken(|evidence| change(&mut evidence.seen.served[1]));
        assert_eq!(names(&broken), [ONE_ANSWER]);
    }
}

#[test]
fn a_ledger_that_contradicts_the_chain_is_caught() {
    let unknown = broken(|evidence| {
        evidence.testimonies[0]
            .states
            .insert(key(1), "unknown".to_owned());
    });
    assert_eq!(names(&unknown), [CHARGES_KNOWN]);
    let claimed = broken(|evidence| {
        evidence.testimonies[0]
            .states
            .insert(key(2), "settled".to_owned());
    });
    assert_eq!(names(&claimed), [CHARGES_KNOWN]);
    let strange = broken(|evidence| evidence.charges.push(charge(77)));
    assert_eq!(names(&strange), [CHARGES_KNOWN]);
}

#[test]
fn a_payment_without_an_owner_is_caught() {
    let in_flight = broken(|evidence| {
        evidence.testimonies[0]
            .states
            .insert(key(2), "in_flight".to_owned());
    });
    assert_eq!(names(&in_flight), [OWNERS]);
    let silent = broken(|evidence| {
        evidence.testimonies[0].states.remove(&key(3));
    });
    assert_eq!(names(&silent), [OWNERS]);
    let gauge = broken(|evidence| {
        evidence.testimonies[0]
            .open
            .insert("in_flight".to_owned(), 2);
    });
    assert_eq!(names(&gauge), [OWNERS]);
    let no_gauge = broken(|evidence| evidence.testimonies[0].open.clear());
    assert_eq!(names(&no_gauge), [OWNERS]);
}

/// Adds a second server that says the same as the first one.
fn second(evidence: &mut Evidence) -> &mut Testimony {
    let first = evidence.testimonies[0].clone();
    evidence.testimonies.push(Testimony { server: 2, ..first });
    &mut evidence.testimonies[1]
}

#[test]
fn each_server_has_to_know_every_payment() {
    let alike = broken(|evidence| {
        second(evidence);
    });
    assert_eq!(alike, []);
    let unaware = broken(|evidence| {
        second(evidence)
            .states
            .insert(key(1), "released".to_owned());
    });
    assert_eq!(names(&unaware), [CHARGES_KNOWN]);
    assert!(unaware[0].1[0].ends_with("at server 2"), "{unaware:?}");
    let busy = broken(|evidence| {
        second(evidence).open.insert("in_flight".to_owned(), 1);
    });
    assert_eq!(names(&busy), [OWNERS]);
    // Nobody has a pool for newcomers then, either.
    let nobody = broken(|evidence| evidence.testimonies.clear());
    assert_eq!(names(&nobody), [CHARGES_KNOWN, WALLETS_PAID]);
}

#[test]
fn servers_that_grow_are_caught() {
    let api = "api-server: memory and descriptors are flat";
    let memory = broken(|evidence| evidence.footprints[0].end.memory += 1 << 20);
    assert_eq!(names(&memory), [api]);
    let descriptors = broken(|evidence| evidence.footprints[0].end.descriptors += 1);
    assert_eq!(names(&descriptors), [api]);
    // Using less is no breach.
    assert_eq!(broken(|evidence| evidence.footprints[0].end.memory = 0), []);
}

#[test]
fn slow_answers_to_honest_buyers_are_caught() {
    let slow = vec![Duration::from_millis(31); 100];
    assert_eq!(
        names(&broken(|evidence| evidence.seen.siege = slow)),
        [PATIENCE]
    );
    let absolute = broken(|evidence| {
        evidence.tolerance.ratio = None;
        evidence.tolerance.p99 = Some(Duration::from_millis(24));
    });
    assert_eq!(names(&absolute), [PATIENCE]);
    let unmeasured = broken(|evidence| evidence.seen.siege.clear());
    assert_eq!(names(&unmeasured), [PATIENCE]);
}

#[test]
fn an_agent_without_a_plan_is_caught() {
    let broken = broken(|evidence| evidence.seen.plans.push("rate_limited".to_owned()));
    assert_eq!(names(&broken), [PLANS]);
}

/// When no agent asked, the promise does not count as kept.
#[test]
fn a_siege_without_an_honest_agent_is_caught() {
    let broken = broken(|evidence| evidence.seen.plans.clear());
    assert_eq!(names(&broken), [PLANS]);
}

#[test]
fn a_finding_names_its_breaches_and_says_how_many_there_are() {
    let finding = Finding {
        promise: PLANS,
        measured: "much".to_owned(),
        broken: (0..12).map(|number| format!("breach {number}")).collect(),
    };
    let text = finding.to_string();
    assert!(text.starts_with("BROKEN") && text.contains("breach 9"));
    assert!(!text.contains("breach 10") && text.ends_with("and 2 more"));
}
