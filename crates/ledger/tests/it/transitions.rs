//! Tests of every move from every state.

use ledger::{
    AnyLedger, EntryId, Journal, LedgerError, PaymentStatus, Resolution, Spent, State, Transition,
};

use crate::support::{Bench, NOW, bring, find, key, receipt, settlement, stored};

async fn make(
    ledger: &AnyLedger,
    transition: Transition,
    entry: EntryId,
    nonce: u64,
) -> Result<(), LedgerError> {
    match transition {
        Transition::StartWork => {
            ledger.start_work(entry);
            Ok(())
        }
        Transition::BeginSettlement => {
            ledger
                .begin_settlement(entry, settlement(nonce), NOW + 1)
                .await
        }
        Transition::Settle => {
            ledger
                .settle(entry, key(nonce), receipt(nonce), NOW + 1)
                .await
        }
        Transition::Release => {
            ledger
                .release(entry, "refused", Spent::NOTHING, NOW + 1)
                .await
        }
        Transition::MarkUnknown => ledger.mark_unknown(entry, None, "timeout", NOW + 1).await,
        Transition::MarkUndecidable => {
            ledger
                .mark_undecidable(entry, "nobody knows", NOW + 1)
                .await
        }
        Transition::ResolveSettled => {
            let resolution = Resolution::Settled(receipt(nonce));
            ledger.resolve(entry, resolution, NOW + 1).await
        }
        Transition::ResolveReleased => {
            let reason = "the operator has asked".to_owned();
            let resolution = Resolution::Released { reason };
            ledger.resolve(entry, resolution, NOW + 1).await
        }
    }
}

/// Returns the expected look-up at `NOW + 1` of an entry that came into `state` at `at`.
fn seen(entry: EntryId, nonce: u64, state: State, at: u64) -> Option<PaymentStatus> {
    match state {
        State::Released => None,
        State::Settled => Some(PaymentStatus::Answered(stored(nonce, at))),
        State::Unknown => Some(PaymentStatus::Unknown {
            entry,
            transaction: None,
        }),
        State::Undecidable => Some(PaymentStatus::Undecidable {
            entry,
            transaction: None,
        }),
        state => Some(PaymentStatus::InFlight { entry, state }),
    }
}

#[tokio::test]
async fn every_move_from_every_state() {
    let ledger = Bench::new();
    let moves = State::ALL
        .into_iter()
        .flat_map(|s| Transition::ALL.into_iter().map(move |t| (s, t)));
    for (nonce, (state, transition)) in (0..).zip(moves) {
        let entry = bring(&ledger, nonce, state).await;
        let result = make(&ledger, transition, entry, nonce).await;
        let allowed = transition.from().contains(&state);
        if allowed || transition == Transition::StartWork {
            assert_eq!(result, Ok(()), "{transition} from {state}");
        } else {
            let expected = transition.from();
            let observed = state;
            assert_eq!(
                result,
                Err(LedgerError::WrongState {
                    entry,
                    transition,
                    expected,
                    observed
                })
            );
        }
        let (state, at) = if allowed {
            (transition.to(), NOW + 1)
        } else {
            (state, NOW)
        };
        // What the operator decides to be released is never taken again.
        let expected = match (allowed, transition) {
            (true, Transition::ResolveReleased) => Some(PaymentStatus::Retired {
                reason: "the operator has asked".to_owned(),
            }),
            _ => seen(entry, nonce, state, at),
        };
        assert_eq!(find(&ledger, nonce, NOW + 1).await, expected);
    }
}

#[tokio::test]
async fn no_move_of_a_missing_entry_succeeds() {
    let ledger = Bench::new();
    let entry = EntryId::new(77);
    for transition in Transition::ALL.into_iter().skip(1) {
        assert_eq!(
            make(&ledger, transition, entry, 0).await,
            Err(LedgerError::NoSuchEntry { entry })
        );
    }
}

#[tokio::test]
async fn the_holder_of_an_old_id_cannot_touch_the_next_reservation() {
    let ledger = Bench::new();
    let old = bring(&ledger, 1, State::Released).await;
    let new = bring(&ledger, 1, State::Reserved).await;
    assert_ne!(old, new);
    for transition in Transition::ALL.into_iter().skip(1) {
        assert_eq!(
            make(&ledger, transition, old, 1).await,
            Err(LedgerError::NoSuchEntry { entry: old })
        );
    }
    assert_eq!(
        find(&ledger, 1, NOW).await,
        seen(new, 1, State::Reserved, NOW)
    );
}

#[tokio::test]
async fn an_unknown_entry_gets_its_transaction_and_keeps_its_age() {
    let ledger = Bench::new();
    let entry = bring(&ledger, 1, State::Unknown).await;
    for (transaction, known) in [
        (Some("0xa1"), "0xa1"),
        (None, "0xa1"),
        (Some("0xb2"), "0xb2"),
    ] {
        let transaction = transaction.map(str::to_owned);
        ledger
            .mark_unknown(entry, transaction, "still pending", NOW + 50)
            .await
            .unwrap();
        let undecided = ledger.undecided(None, 10).await.unwrap();
        assert_eq!(undecided.len(), 1);
        assert_eq!(undecided[0].transaction.as_deref(), Some(known));
        assert_eq!(undecided[0].since, NOW);
    }
}

#[tokio::test]
async fn an_unknown_entry_can_be_settled_or_released() {
    let ledger = Bench::new();
    let charged = bring(&ledger, 1, State::Unknown).await;
    let uncharged = bring(&ledger, 2, State::Unknown).await;
    ledger
        .settle(charged, key(1), receipt(1), NOW + 60)
        .await
        .unwrap();
    ledger
        .release(uncharged, "not on chain", Spent::NOTHING, NOW + 60)
        .await
        .unwrap();
    assert_eq!(
        find(&ledger, 1, NOW + 60).await,
        Some(PaymentStatus::Answered(stored(1, NOW + 60)))
    );
    assert_eq!(find(&ledger, 2, NOW + 60).await, None);
    assert_eq!(ledger.undecided(None, 10).await.unwrap(), []);
    bring(&ledger, 2, State::Settled).await;
}
