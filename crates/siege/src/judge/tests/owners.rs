//! Tests of breaches of the promises to the owners of sub-wallets.

use super::*;
use crate::bank::Token;
use crate::judge::STRANGERS_REVOCATIONS;
use crate::judge::owners::{MONEY, ONE_WALLET, REVOCATIONS, WALLETS_PAID};
use crate::owner::{DELEGATE, OWNER as ORDERER, THIEF};
use crate::record::{Fate, Order};

/// The payer of every payment.
pub(super) const OWNER: Address = Address::repeat_byte(2);
pub(super) const WALLET: Address = Address::repeat_byte(3);
/// The token of every payment.
pub(super) const TOKEN: Token = Token::paid_with(Address::repeat_byte(1));
const OTHER: Token = Token::traded(Address::repeat_byte(4));

/// Two orders that were carried out, one that was not, and one without an end.
pub(super) fn orders() -> Vec<Order> {
    let order = |by, fate| Order {
        owner: OWNER,
        by,
        gives: (TOKEN, U256::from(1_000)),
        gets: (OTHER, U256::from(960)),
        fate,
    };
    vec![
        order(ORDERER, Fate::Done),
        order(DELEGATE, Fate::Done),
        order(THIEF, Fate::Undone),
        order(ORDERER, Fate::Unknown("no answer".to_owned())),
    ]
}

/// Two payments of 2,000 and the orders explain exactly this.
pub(super) fn purse() -> Purse {
    let money = |token, other| [(TOKEN, U256::from(token)), (OTHER, U256::from(other))].into();
    Purse {
        owner: OWNER,
        at_first: money(1_000_000, 500),
        at_end: money(1_000_000 - 4_000 - 3_000, 500 + 1_920),
    }
}

#[test]
fn money_that_no_order_explains_is_caught() {
    for token in [TOKEN, OTHER] {
        let broken = broken(|evidence| {
            let has = evidence.purses[0].at_end.get_mut(&token).unwrap();
            *has -= U256::from(1);
        });
        assert_eq!(names(&broken), [MONEY]);
        assert!(broken[0].1[0].contains(&token.to_string()), "{broken:?}");
    }
    let kept = broken(|evidence| {
        for has in evidence.purses[0].at_end.values_mut() {
            *has += U256::from(1);
        }
    });
    assert_eq!(kept, []);
}

#[test]
fn orders_that_were_not_carried_out_and_those_of_others_explain_nothing() {
    let undone = broken(|evidence| evidence.seen.orders[3].fate = Fate::Undone);
    assert_eq!(names(&undone), [MONEY]);
    let of_another = broken(|evidence| evidence.seen.orders[3].owner = WALLET);
    assert_eq!(names(&of_another), [MONEY]);
    // It was carried out, and brought nothing.
    let empty = broken(|evidence| evidence.seen.orders[3].fate = Fate::Done);
    assert_eq!(names(&empty), [MONEY]);
}

#[test]
fn a_thief_that_has_anything_is_caught() {
    let broken = broken(|evidence| {
        evidence.stolen.insert(TOKEN, U256::from(1));
    });
    assert_eq!(names(&broken), [MONEY]);
}

/// When nobody's order was carried out, the promise does not count as kept.
#[test]
fn a_siege_without_an_order_is_caught() {
    for by in [ORDERER, DELEGATE] {
        let broken = broken(|evidence| evidence.seen.orders.retain(|order| order.by != by));
        assert_eq!(names(&broken)[0], MONEY);
    }
}

#[test]
fn a_second_wallet_of_a_payer_and_a_second_payer_of_a_wallet_are_caught() {
    let elsewhere = Address::repeat_byte(7);
    for told in [(OWNER, elsewhere), (elsewhere, WALLET)] {
        let broken = broken(|evidence| {
            evidence.seen.told.insert(told);
        });
        assert_eq!(names(&broken), [ONE_WALLET]);
    }
    let nobody = broken(|evidence| evidence.seen.told.clear());
    assert_eq!(names(&nobody), [ONE_WALLET]);
}

#[test]
fn wallets_for_nothing_are_caught() {
    let strangers = |count: u8| {
        broken(|evidence| {
            let strangers = (0..count).map(|number| Address::repeat_byte(100 + number));
            evidence.wallet_owners = strangers.collect();
        })
    };
    // The pool of 100,000 pays for twenty.
    assert_eq!(strangers(20), []);
    assert_eq!(names(&strangers(21)), [WALLETS_PAID]);
}

#[test]
fn a_lost_revocation_and_too_many_are_caught() {
    let lost = broken(|evidence| {
        for state in evidence.revocations.values_mut() {
            *state = "not shown".to_owned();
        }
    });
    assert_eq!(names(&lost), [REVOCATIONS]);
    let many = broken(|evidence| {
        for number in 0..STRANGERS_REVOCATIONS {
            let path = format!("/delegation/grants/stranger/{number}");
            evidence.revocations.insert(path, "revoked".to_owned());
        }
    });
    assert_eq!(names(&many), [REVOCATIONS]);
    let none = broken(|evidence| evidence.revocations.clear());
    assert_eq!(names(&none), [REVOCATIONS]);
}
