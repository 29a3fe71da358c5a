//! Batches of claims against what they should mean, with restarts and rollbacks at any point. A
//! generation is 8 digests here, so that a few dozen claims are several.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use proptest::prelude::*;
use storage::sqlite::ClaimedFile;

use super::{GENERATION, Generation, generation};
use crate::spending::Spent;
use crate::{
    error::LedgerError,
    sqlite::{
        Options,
        failure::Failure,
        store::{Claimed, Database, Store},
        tests::claim,
    },
    state::EntryId,
    status::PaymentStatus,
};

const NOW: u64 = 1_000_000;
/// When everything that is closed may be pruned.
const MUCH_LATER: u64 = 2_000_000;
const NONCES: u8 = 40;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Reserve(u8),
    Release(u8),
    Prune,
}

/// What one transaction does, and what happens at its end.
#[derive(Clone, Debug)]
struct Batch {
    operations: Vec<Operation>,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    RollBack,
    /// The process ends after the commit.
    Restart,
    /// The process ends before it.
    Crash,
}

/// Open and released entries by nonce.
type Model = BTreeMap<u8, (EntryId, bool)>;

/// Runs batches in a ledger of their own, in one life of the process after the other. Checks after
/// each of them that the ledger is as the model, and lets `look` at it.
fn run(batches: &[Batch], mut look: impl FnMut(&mut Store<'_>)) -> Model {
    let (folder, mut model) = (tempfile::tempdir().unwrap(), Model::new());
    let mut left = batches.iter();
    loop {
        let path = folder.path().join("ledger.db");
        let file = ClaimedFile::claim(path.to_str().unwrap()).unwrap();
        let database = Database::open(file, None).unwrap();
        let mut store = Store::open(&database, Options::default()).unwrap();
        check(&mut store, &model);
        look(&mut store);
        loop {
            let Some(batch) = left.next() else {
                return model;
            };
            let mut after = model.clone();
            store.begin().unwrap();
            for operation in &batch.operations {
                apply(&mut store, *operation, &mut after);
            }
            store.finish_batch().unwrap();
            match batch.end {
                End::Commit | End::Restart => {
                    store.commit().unwrap();
                    model = after;
                }
                End::RollBack => store.roll_back(),
                End::Crash => {}
            }
            if matches!(batch.end, End::Restart | End::Crash) {
                break;
            }
            check(&mut store, &model);
            look(&mut store);
        }
    }
}

/// Every nonce is where the model has it, each entry is known in one place, and what is not
/// released is in flight.
fn check(store: &mut Store<'_>, model: &Model) {
    for nonce in 0..NONCES {
        let claim = claim(nonce);
        let found = store
            .find(claim.key.digest(), claim.request.digest(), NOW)
            .unwrap();
        let expected = model.get(&nonce).filter(|(_, open)| *open);
        let observed = match found {
            Some(PaymentStatus::InFlight { entry, .. }) => Some(entry),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(observed, expected.map(|(entry, _)| *entry), "nonce {nonce}");
    }
    let (seen, statements) = store.seen().unwrap();
    let open = model.values().filter(|(_, open)| *open);
    let mut open: Vec<i64> = open.map(|(entry, _)| entry.number()).collect();
    open.sort_unstable();
    assert_eq!(seen.in_flight().collect::<Vec<_>>(), open);
    let mut known: Vec<(super::Digest, i64)> = statements
        .get("SELECT digests FROM bucket")
        .unwrap()
        .query_map([], |row| row.get::<_, Vec<u8>>(0))
        .unwrap()
        .flat_map(|digests| {
            let digests = digests.unwrap();
            let (pairs, rest) = digests.as_chunks::<24>();
            assert!(rest.is_empty() && pairs.is_sorted());
            let read = |pair: &[u8; 24]| {
                let entry = i64::from_be_bytes(*pair.last_chunk().unwrap());
                (*pair.first_chunk().unwrap(), entry)
            };
            pairs.iter().map(read).collect::<Vec<_>>()
        })
        .collect();
    let exists = "SELECT EXISTS (SELECT 1 FROM entry WHERE id = ?1 AND authorization = ?2)";
    let exists = statements.get(exists).unwrap();
    known.retain(|(digest, entry)| {
        let entry = rusqlite::params![entry, digest];
        exists.query_row(entry, |row| row.get(0)).unwrap()
    });
    known.extend(seen.held.iter().map(|(digest, entry)| (*digest, *entry)));
    assert!(seen.held.values().all(|entry| *entry > seen.until()));
    known.sort_unstable();
    let mut entries: Vec<(super::Digest, i64)> = model
        .iter()
        .map(|(nonce, (entry, _))| {
            let digest = claim(*nonce).key.digest();
            (*digest.first_chunk().unwrap(), entry.number())
        })
        .collect();
    entries.sort_unstable();
    assert_eq!(known, entries);
}

fn apply(store: &mut Store<'_>, operation: Operation, model: &mut Model) {
    match operation {
        Operation::Reserve(nonce) => {
            let claim = claim(nonce);
            let digest: B256 = claim.key.digest();
            match (store.reserve(digest, &claim).unwrap(), model.get(&nonce)) {
                (Claimed::Reserved(entry), None | Some((_, false))) => {
                    let numbers = model.values().map(|(entry, _)| *entry);
                    assert!(numbers.max().is_none_or(|newest| newest < entry));
                    model.insert(nonce, (entry, true));
                }
                (Claimed::Known(PaymentStatus::InFlight { entry, .. }), Some((expected, true))) => {
                    assert_eq!(entry, *expected)
                }
                (observed, expected) => panic!("{observed:?}, {expected:?}"),
            }
        }
        Operation::Release(nonce) => {
            if let Some((entry, open)) = model.get_mut(&nonce) {
                match store.release(*entry, "test", Spent::NOTHING, NOW) {
                    Ok(()) => assert!(*open),
                    Err(Failure::Refused(LedgerError::WrongState { .. })) => assert!(!*open),
                    Err(other) => panic!("{other:?}"),
                }
                *open = false;
            }
        }
        Operation::Prune => {
            while store.prune(MUCH_LATER).unwrap().more {}
            model.retain(|_, (_, open)| *open);
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (0..NONCES).prop_map(Operation::Reserve),
        3 => (0..NONCES).prop_map(Operation::Release),
        1 => Just(Operation::Prune),
    ]
}

fn batch() -> impl Strategy<Value = Batch> {
    let end = prop_oneof![
        5 => Just(End::Commit),
        1 => Just(End::RollBack),
        1 => Just(End::Restart),
        1 => Just(End::Crash),
    ];
    (prop::collection::vec(operation(), 1..12), end)
        .prop_map(|(operations, end)| Batch { operations, end })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_authorization_is_known_wherever_it_is_kept(batches in prop::collection::vec(batch(), 1..24)) {
        run(&batches, |_| ());
    }
}

/// Claims in batches of three, which is no divisor of a generation.
#[test]
fn what_is_held_is_written_down_when_it_is_a_generation() {
    let reserve: Vec<_> = (0..NONCES).map(Operation::Reserve).collect();
    let batches: Vec<_> = reserve
        .chunks(3)
        .map(|operations| Batch {
            operations: operations.to_vec(),
            end: End::Commit,
        })
        .collect();
    let (mut most, mut generations) = (0, Vec::new());
    run(&batches, |store| {
        let (seen, _) = store.seen().unwrap();
        most = most.max(seen.held.len());
        generations = seen.generations.iter().map(Generation::last).collect();
    });
    assert_eq!((most, generations), (6, vec![9, 18, 27, 36]));
}

/// What has to be read at a start must not grow with the number of starts.
#[test]
fn runs_of_one_claim_are_written_down_as_well() {
    let batches: Vec<_> = (0..NONCES)
        .map(|nonce| Batch {
            operations: vec![Operation::Reserve(nonce)],
            end: End::Restart,
        })
        .collect();
    let mut most = 0;
    run(&batches, |store| {
        let (seen, _) = store.seen().unwrap();
        most = most.max(seen.held.len());
    });
    assert_eq!(most, GENERATION - 1);
}

/// Numbers that are written down must not come back: their entries are not read again. A generation
/// goes when all of its entries have gone, and not before.
#[test]
fn a_number_is_not_used_again_while_it_is_written_down() {
    let all = |make: fn(u8) -> Operation, nonces: std::ops::Range<u8>| nonces.map(make).collect();
    let steps: [Vec<Operation>; 4] = [
        all(Operation::Reserve, 0..16),
        // The first one of the first eight stays, and so do all of the second eight.
        all(Operation::Release, 1..16),
        vec![Operation::Prune],
        all(Operation::Reserve, 20..24),
    ];
    let batches: Vec<_> = steps
        .into_iter()
        .flat_map(|operations| {
            let chunks: Vec<_> = operations.chunks(GENERATION).map(<[_]>::to_vec).collect();
            chunks
        })
        .map(|operations| Batch {
            operations,
            end: End::Restart,
        })
        .collect();
    let mut generations = Vec::new();
    let model = run(&batches, |store| {
        let (seen, statements) = store.seen().unwrap();
        let count = statements.find("SELECT count(*) FROM bucket", [], |row| row.get(0));
        let buckets: i64 = count.unwrap().unwrap();
        generations.push((seen.generations.len(), buckets > 8));
    });
    let numbers: Vec<i64> = model.values().map(|(entry, _)| entry.number()).collect();
    assert_eq!(numbers, [1, 9, 10, 11, 12]);
    let (two, one) = ((2, true), (1, false));
    assert_eq!(
        generations,
        [(0, false), one, two, two, two, one, one],
        "at the start and after each batch"
    );
}

#[test]
fn a_filter_passes_what_is_in_it_and_little_else() {
    let digests = |range: std::ops::Range<u32>| {
        range.map(|number| -> super::Digest {
            let digest = alloy_primitives::keccak256(number.to_be_bytes());
            *digest.first_chunk().unwrap()
        })
    };
    let own: Vec<_> = digests(0..u32::try_from(GENERATION).unwrap()).collect();
    let filter = generation::Filter::of(own.iter());
    assert!(own.iter().all(|digest| filter.may_have(digest)));
    let others = digests(1_000..11_000);
    let passed = others.filter(|digest| filter.may_have(digest)).count();
    assert!((1..=300).contains(&passed), "{passed} of 10000");
}
