//! Tests of plans whose forger has a node that lies: all their members agree with each other. Only
//! a reading of the verifier shows that they are forged.

use serde_json::json;

use super::{
    Account, Chains, Fees, built, moment, ready, request,
    safe::{asking, safe, safe_with},
    strict_policy,
};
use crate::{
    OwnReadings, Refusal, Request, Verified,
    bridge::{BridgeRequest, checks::CONTROL, read_control},
    ports::Accounts,
    verify_with,
};

/// Verifies a plan. `forger` reads the accounts for the plan, and `own` reads the same accounts for
/// the verifier.
fn verified(
    request: BridgeRequest,
    forger: &Chains,
    own: Option<&Chains>,
) -> Result<Verified, Refusal> {
    let plan = built(&request, &Fees::default(), forger).unwrap();
    let own = match own {
        None => OwnReadings::NONE,
        Some(own) => OwnReadings::of_control(ready(read_control(&request, own))?),
    };
    let request = Request::Bridge(request);
    verify_with(
        &request,
        plan.json(),
        moment().now(),
        &strict_policy(),
        &own,
    )
}

#[track_caller]
fn open(verified: &Verified) -> Vec<&'static str> {
    let open = verified.report().not_established().iter();
    open.map(|check| check.name).collect()
}

fn both(source: Account, destination: Account) -> Chains {
    Chains::default()
        .with(8453, source)
        .with(42161, destination)
}

#[test]
fn a_stated_code_of_an_account_establishes_nothing() {
    let key = both(Account::default(), Account::default());
    let contract = both(Account::of_code(&[0x60, 0x80]), Account::default());
    let asked = || request(json!({}));
    // The plan states `empty`, and its own report says `pass`.
    let forged = verified(asked(), &key, None).unwrap();
    assert_eq!(open(&forged), [CONTROL]);
    assert!(forged.plan_report().not_established().is_empty());
    let why = forged.report().not_established()[0].observed.as_str();
    assert_eq!(
        why,
        "only by the account's code on the source chain, as the plan states: eoa: one key on both chains"
    );
    let refusal = verified(asked(), &key, Some(&contract)).unwrap_err();
    assert_eq!(refusal.check, CONTROL);
    let honest = verified(asked(), &key, Some(&key)).unwrap();
    assert_eq!(open(&honest), [""; 0]);
}

#[test]
fn stated_owners_of_a_safe_establish_nothing() {
    let equal = both(safe(), safe());
    // Somebody else has deployed a Safe at the address.
    let stolen = both(safe(), safe_with(&[9], 1, "1.4.1"));
    let forged = verified(asking(), &equal, None).unwrap();
    assert_eq!(open(&forged), [CONTROL]);
    let refusal = verified(asking(), &equal, Some(&stolen)).unwrap_err();
    assert_eq!(refusal.check, CONTROL);
    let honest = verified(asking(), &equal, Some(&equal)).unwrap();
    assert_eq!(open(&honest), [""; 0]);
    let held = honest.report().assertions().iter();
    assert!(held.map(|check| check.name).any(|name| name == CONTROL));
}

/// A reading of one kind of account says nothing about another kind.
#[test]
fn an_own_reading_of_another_account_is_refused() {
    let key = both(Account::default(), Account::default());
    let eoa = ready(read_control(&request(json!({})), &key)).unwrap();
    let plan = built(&asking(), &Fees::default(), &both(safe(), safe())).unwrap();
    let refusal = verify_with(
        &Request::Bridge(asking()),
        plan.json(),
        moment().now(),
        &strict_policy(),
        &OwnReadings::of_control(eoa),
    );
    assert_eq!(refusal.unwrap_err().check, CONTROL);
}

/// A chain without an endpoint gives no reading.
#[test]
fn an_account_that_cannot_be_read_has_no_own_reading() {
    fn refused(accounts: &impl Accounts) {
        let refusal = ready(read_control(&request(json!({})), accounts)).unwrap_err();
        assert_eq!(refusal.check, CONTROL);
    }
    refused(&Chains::default());
    refused(&crate::ports::NoAccounts);
}
