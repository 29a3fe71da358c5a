//! Two processes that write at the same time.

use alloy_primitives::{Address, B256};
use delegation_fence::{
    Budget, Event, Grant, LogEntry, LogEvent, LogRecord, Rule, Transaction, verify_log,
};
use fence_server::{Change, Store, StoreError, View, Write};
use tokio::task::JoinSet;

use crate::{
    sample::{ACCOUNT, NOW},
    stage::{
        BUDGET, GRANT_ID, NOBODY, StoreLocation, acceptance, at, fence_policy, grant, look,
        received, write,
    },
};

async fn grant_usual(store: &dyn Store) {
    let granted = Change::Grant(Box::new(received(grant(GRANT_ID))), Vec::new());
    let granted = write(&look(store).await, granted);
    store.write(granted).await.unwrap();
}

#[tokio::test]
async fn of_two_holders_one_gets_a_lease() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    let mut last = 0;
    for round in 0..20 {
        let now = at(NOW + 60 * round);
        let (first, second) = tokio::join!(
            one.acquire(NOBODY, "one", now, 60),
            two.acquire(NOBODY, "two", now, 60),
        );
        let leases: Vec<_> = [first.unwrap(), second.unwrap()]
            .into_iter()
            .flatten()
            .collect();
        // The same holder keeps its token.
        assert_eq!(leases.len(), 1, "round {round}");
        assert!(leases[0].token >= last);
        last = leases[0].token;
    }
}

/// A holder that writes while another one takes its lease: the write is before the other's lease,
/// or it is not made.
#[tokio::test]
async fn a_write_holds_its_lease_or_is_not_made() {
    for amount in 0..8 {
        let location = StoreLocation::new();
        let (one, two) = (location.open(), location.open());
        grant_usual(&*one).await;
        let view = look(&*one).await;
        let accepted = acceptance(&view, 1_000_000_007 + amount).unwrap();
        let plan = accepted.admitted.payload_digest;
        let accept = write(&view, Change::Accept(Box::new(accepted)));
        one.write(accept).await.unwrap();
        let lease = one.acquire(ACCOUNT, "one", at(NOW), 60).await.unwrap();
        let kept = one.submission(plan).await.unwrap().unwrap();
        let step = Event::Ordered(Transaction::Step(calldata_checks::StepKind::ApproveReset));
        let step = kept.append(step, lease.unwrap(), at(NOW)).unwrap();

        let (written, taken) = tokio::join!(
            one.write(step.clone()),
            two.acquire(ACCOUNT, "two", at(NOW + 60), 60),
        );
        assert!(taken.unwrap().unwrap().token > lease.unwrap().token);
        let events = two.submission(plan).await.unwrap().unwrap().events.len();
        match written {
            Ok(_) => assert_eq!(events, 1),
            Err(error) => {
                assert_eq!(error, StoreError::Fenced { account: ACCOUNT });
                assert_eq!(events, 0);
            }
        }
        // On the newest version, the stale token still writes nothing.
        let stale = Write {
            version: look(&*one).await.version,
            ..step
        };
        let fenced = StoreError::Fenced { account: ACCOUNT };
        assert_eq!(one.write(stale).await, Err(fenced));
    }
}

#[tokio::test]
async fn of_two_plans_of_an_account_one_is_accepted() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    grant_usual(&*one).await;
    let view = look(&*one).await;
    let accept = |amount| {
        let accepted = acceptance(&view, amount).unwrap();
        write(&view, Change::Accept(Box::new(accepted)))
    };
    let (first, second) = tokio::join!(
        one.write(accept(1_000_000_007)),
        two.write(accept(1_000_000_008)),
    );
    let late = StoreError::Conflict { account: ACCOUNT };
    match (first, second) {
        (Ok(next), Err(error)) | (Err(error), Ok(next)) => {
            assert_eq!(error, late);
            assert!(next > view.version);
        }
        both => panic!("{both:?}"),
    }
    assert_eq!(one.sendings(at(NOW)).await.unwrap().len(), 1);
    // The loser reads again, and sees the other's plan.
    let view = look(&*two).await;
    assert_eq!(acceptance(&view, 1_000_000_009), Err("plan_in_flight"));
}

/// A person's sub-wallet and the account whose own key the person holds are two accounts, and have
/// one turn.
#[tokio::test]
async fn of_two_plans_of_one_signer_one_is_accepted_whatever_their_accounts() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    grant_usual(&*one).await;
    let other = Address::repeat_byte(0xaa);
    let unread = two.view(other, GRANT_ID, None).await.unwrap();
    let of_other = Grant {
        account: other,
        ..grant(GRANT_ID)
    };
    let granted = Change::Grant(Box::new(received(of_other)), Vec::new());
    two.write(write(&unread, granted)).await.unwrap();

    let views = [
        look(&*one).await,
        two.view(other, GRANT_ID, None).await.unwrap(),
    ];
    let accept = |view: &View, amount| {
        let accepted = acceptance(&views[0], amount).unwrap();
        write(view, Change::Accept(Box::new(accepted)))
    };
    let (first, second) = tokio::join!(
        one.write(accept(&views[0], 1_000_000_007)),
        two.write(accept(&views[1], 1_000_000_008)),
    );
    let loser = match (&first, &second) {
        (Ok(_), Err(error)) => {
            assert_eq!(*error, StoreError::Conflict { account: other });
            other
        }
        (Err(error), Ok(_)) => {
            assert_eq!(*error, StoreError::Conflict { account: ACCOUNT });
            ACCOUNT
        }
        both => panic!("{both:?}"),
    };
    assert_eq!(one.sendings(at(NOW)).await.unwrap().len(), 1);
    // Who reads now sees the plan under either account.
    for account in [ACCOUNT, other] {
        let seen = one.view(account, GRANT_ID, None).await.unwrap();
        assert!(seen.in_flight.is_some(), "{account}");
    }
    // On the loser's account it stays in the way of a write that has seen it, too.
    let seen = one.view(loser, GRANT_ID, None).await.unwrap();
    let forced = one.write(accept(&seen, 1_000_000_009)).await.unwrap_err();
    assert_eq!(forced, StoreError::Conflict { account: loser });
    let refused = acceptance(&look(&*two).await, 1_000_000_009);
    assert_eq!(refused, Err("plan_in_flight"));
    // Another person's account is not in the way.
    let stranger = Write {
        account: Address::repeat_byte(0xbb),
        version: 0,
        ..accept(&views[0], 1_000_000_010)
    };
    two.write(stranger).await.unwrap();
}

/// Every account has room of its own, so only the sum of all accounts stops a plan.
#[tokio::test]
async fn writes_of_many_accounts_stay_within_the_budget_of_all() {
    let location = StoreLocation::new();
    let stores = [location.open(), location.open()];
    grant_usual(&*stores[0]).await;
    let view = look(&*stores[0]).await;
    let mut writes = JoinSet::new();
    for number in 1..=8 {
        let mut accepted = acceptance(&view, 1_000_000_000 + u64::from(number)).unwrap();
        accepted.budget = Budget {
            of_plan: 10,
            of_account: 10,
            of_all: 35,
            ..BUDGET
        };
        let change = Write {
            account: Address::repeat_byte(number),
            version: 0,
            ..write(&view, Change::Accept(Box::new(accepted)))
        };
        let store = stores[usize::from(number % 2)].clone();
        writes.spawn(async move { store.write(change).await.map_err(|error| error.code()) });
    }
    let outcomes = writes.join_all().await;
    let made = outcomes.iter().filter(|outcome| outcome.is_ok());
    let exhausted = Err("gas_budget_exhausted");
    let refused = outcomes.iter().filter(|outcome| **outcome == exhausted);
    assert_eq!((made.count(), refused.count()), (3, 5));
    let spent = stores[1].gas_spent(ACCOUNT, at(NOW)).await.unwrap();
    assert_eq!((spent.of_account, spent.of_all), (0, 30));
}

#[tokio::test]
async fn records_of_two_writers_make_one_chain() {
    let location = StoreLocation::new();
    let stores = [location.open(), location.open()];
    let mut notes = JoinSet::new();
    for number in 0..6_u8 {
        let store = stores[usize::from(number % 2)].clone();
        // Each writer adds each record, and the log has it once.
        let refusal = LogEntry {
            payload_digest: Some(B256::repeat_byte(number / 2)),
            refused_by: Some(Rule::PlanExpired),
            ..LogEntry::new(at(NOW), LogEvent::Refused)
        };
        notes.spawn(async move { store.note_refusal(ACCOUNT, GRANT_ID, refusal, 9).await });
    }
    assert_eq!(notes.join_all().await, vec![Ok(()); 6]);
    let records = stores[0].log(ACCOUNT, GRANT_ID, 0, 99).await.unwrap();
    let text: Vec<String> = records.iter().map(LogRecord::to_json).collect();
    verify_log([format!("[{}]", text.join(",")).as_str()]).unwrap();
    assert_eq!(records.len(), 3);
}

#[tokio::test]
async fn of_two_policies_the_newer_is_installed() {
    let location = StoreLocation::new();
    let (one, two) = (location.open(), location.open());
    let same = tokio::join!(
        one.install(fence_policy(1), at(NOW)),
        two.install(fence_policy(1), at(NOW)),
    );
    assert_eq!(same, (Ok(()), Ok(())));
    for version in [2, 4, 6, 8] {
        let (older, newer) = tokio::join!(
            one.install(fence_policy(version), at(NOW)),
            two.install(fence_policy(version + 1), at(NOW)),
        );
        assert_eq!(newer, Ok(()));
        if let Err(error) = older {
            assert_eq!(error.code(), "fence_policy_not_newer");
        }
        let installed = one.installed().await.unwrap().unwrap();
        assert_eq!(installed.policy().unwrap(), fence_policy(version + 1));
    }
}
