//! The payment path under faults, in an order that a seed decides.
//!
//! A schedule is one run of a server with its callers: see [`schedule`]. Around the real payment
//! path everything is a model that can fail: the journal ([`journal`] over
//! [`super::model_journal`], or over the real one), the settler and its chain ([`settler`],
//! [`chain`]), the work ([`worker`]), the process itself and its operator ([`server`],
//! [`schedule`]) and the callers ([`buyer`]). Each call into one of them waits for a short or a
//! long time before and after it takes effect, and each may fail: those files list the faults.
//! [`check`] lists the promises that must hold nevertheless.
//!
//! A history is the same with two or three servers over one database ([`store`], [`several`]): the
//! callers send to any of them, and the answers that they get are compared with the chain
//! ([`history`]).
//!
//! Time is paused and there is one thread, so a seed decides everything. A schedule that breaks a
//! promise is named by its seed, with the command that runs it again and what happened in it.
//!
//! - `PAYMENT_SIMULATION_SEED=N` runs the schedule of one seed and prints what happens.
//! - `PAYMENT_SIMULATION_COUNT=N` runs so many schedules instead of a few hundred.
//! - `PAYMENT_HISTORIES=N` and `PAYMENT_FIRST_SEED=N` set the number of histories and the first
//!   seed. A single history is printed.

mod buyer;
mod chain;
mod chance;
mod check;
mod history;
mod journal;
mod payers;
mod postgres;
mod schedule;
mod server;
mod settler;
mod several;
mod store;
mod worker;
mod world;

use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ledger::SqliteLedger;

use self::postgres::PostgresDatabase;
use self::schedule::{Outcome, run};
use self::store::{Alone, ModelDatabase, Shared};
use self::world::{Fleet, options};
use super::model_journal::ModelJournal;

const SEED: &str = "PAYMENT_SIMULATION_SEED";
const COUNT: &str = "PAYMENT_SIMULATION_COUNT";
const HISTORIES: &str = "PAYMENT_HISTORIES";
const FIRST_SEED: &str = "PAYMENT_FIRST_SEED";

/// Seeds far beyond the usual ones that found an error: a release that reached the journal late
/// refilled the newcomers' pool twice for the same time.
const FOUND: [u64; 1] = [97_416];

/// A seed beyond the usual ones in which the rarest fault happens.
const RAREST: u64 = 724;

/// The number of schedules in an ordinary test run.
const USUAL_COUNT: u64 = 300;

/// The number of histories in an ordinary test run.
const USUAL_HISTORIES: u64 = 60;

fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

fn run_model(seed: u64, with_notes: bool) -> Outcome {
    let journal = Arc::new(ModelJournal::new(options()));
    run(seed, Fleet::One, with_notes, |_| Alone(journal))
}

/// Runs the history of a seed: several servers over the model of a database that they share.
fn run_several(seed: u64, with_notes: bool) -> Outcome {
    let database = ModelDatabase::new(ModelJournal::new(options()));
    run(seed, Fleet::Several, with_notes, |world| {
        Shared::new(database, Arc::clone(&world.clock))
    })
}

/// Runs the history of a seed over the real journal on PostgreSQL, or over the model if there is
/// none.
fn run_postgres(seed: u64, with_notes: bool) -> Outcome {
    let Some(database) = PostgresDatabase::create() else {
        return run_several(seed, with_notes);
    };
    run(seed, Fleet::Several, with_notes, |world| {
        Shared::new(database, Arc::clone(&world.clock))
    })
}

/// Runs the schedule of a seed over the real journal. Its thread works only while a call waits for
/// it, so it changes nothing.
fn run_sqlite(seed: u64, with_notes: bool) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let journal = SqliteLedger::open(path.to_str().unwrap(), options()).unwrap();
    run(seed, Fleet::One, with_notes, |_| Alone(Arc::new(journal)))
}

/// A way to run the schedule of a seed, and the command that runs one again.
#[derive(Clone, Copy)]
struct Suite {
    run: fn(u64, bool) -> Outcome,
    again: fn(u64) -> String,
}

const ONE: Suite = Suite {
    run: run_model,
    again: |seed| format!("{SEED}={seed} cargo test -p api-server --lib no_schedule_breaks"),
};

const SEVERAL: Suite = Suite {
    run: run_several,
    again: |seed| {
        let test = "cargo test -p api-server --lib no_history_breaks";
        format!("{HISTORIES}=1 {FIRST_SEED}={seed} {test} -- --nocapture")
    },
};

/// Describes the fault in the schedule of a seed, with its events; `None` when the schedule has
/// none.
fn fault_of(seed: u64, suite: Suite) -> Option<String> {
    let run = suite.run;
    let violations = match catch_unwind(AssertUnwindSafe(|| run(seed, false))) {
        Ok(outcome) => outcome.violations,
        Err(_) => vec!["a part of the simulation has panicked".to_owned()],
    };
    if violations.is_empty() {
        return None;
    }
    let notes = catch_unwind(AssertUnwindSafe(|| run(seed, true).notes));
    let mut fault = format!("seed {seed} breaks promises:\n");
    for line in violations.iter().chain(&notes.unwrap_or_default()) {
        writeln!(fault, "  {line}").unwrap();
    }
    writeln!(fault, "run it again: {}", (suite.again)(seed)).unwrap();
    Some(fault)
}

/// Finds the first schedule with a fault. All of them run, on as many threads as the machine has.
fn first_fault(seeds: Range<u64>, suite: Suite) -> Option<String> {
    let (next, end) = (AtomicU64::new(seeds.start), seeds.end);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let faults = thread::scope(|scope| {
        let look = || {
            let mut seeds = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::SeqCst)));
            let mut seeds = seeds.by_ref().take_while(|seed| *seed < end);
            seeds.find_map(|seed| fault_of(seed, suite).map(|fault| (seed, fault)))
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(look)).collect();
        let found = threads.into_iter().map(|thread| thread.join().unwrap());
        found.flatten().collect::<Vec<_>>()
    });
    let first = faults.into_iter().min_by_key(|(seed, _)| *seed);
    first.map(|(_, fault)| fault)
}

#[test]
fn no_schedule_breaks_a_promise() {
    if let Some(seed) = number_in(SEED) {
        let outcome = run_model(seed, true);
        println!("{}", outcome.notes.join("\n"));
        assert_eq!(outcome.violations, [""; 0], "seed {seed}");
        return;
    }
    let mut further = FOUND.into_iter().chain([RAREST]);
    if let Some(fault) = further.find_map(|seed| fault_of(seed, ONE)) {
        panic!("{fault}");
    }
    let count = number_in(COUNT).unwrap_or(USUAL_COUNT);
    if let Some(fault) = first_fault(1..count + 1, ONE) {
        panic!("{fault}");
    }
}

#[test]
fn no_history_breaks_a_promise() {
    let first = number_in(FIRST_SEED).unwrap_or(1);
    let count = number_in(HISTORIES).unwrap_or(USUAL_HISTORIES);
    if count == 1 {
        println!("{}", run_several(first, true).notes.join("\n"));
    }
    if let Some(fault) = first_fault(first..first + count, SEVERAL) {
        panic!("{fault}");
    }
}

/// Journal calls of a server, each of which fails before and after it takes effect.
const JOURNAL_CALLS: [&str; 16] = [
    "reserve",
    "find",
    "look_up",
    "begin_settlement",
    "settle",
    "release",
    "retire",
    "mark_unknown",
    "mark_undecidable",
    "undecided",
    "credit",
    "debit",
    "missing",
    "recover",
    "abandon",
    "prune",
];

/// Other faults, and other ends of a payment, as they appear in notes.
const EVENTS: [&str; 41] = [
    "journal: start_work is lost",
    "worker: refuses",
    "worker: knows nothing of it",
    "worker: is slow",
    "worker: never ends",
    "worker: panics",
    "settler: cannot say what it supports",
    "settler: cannot read a payer's code",
    "settler: cannot verify",
    "settler: calls a payment invalid for a moment",
    "settler: cannot tell whether a payment is void",
    "odd settlement, late, the money",
    "odd settlement, not sent, the money",
    "odd settlement, failed, the money",
    "odd settlement, refused, the money Moves",
    "odd settlement, refused, the money MovesLater",
    "odd settlement, refused, the money Stays",
    "odd settlement, never answered, the money MovesLater",
    "odd settlement, a panic, the money Moves",
    "odd settlement, unknown, the money Stays",
    "odd reconciliation, never answered",
    "odd reconciliation, a panic",
    "odd reconciliation, undecided",
    "is still_open",
    "is not_sent",
    ": not_settled",
    ": undecidable",
    "stranger: will execute",
    "payer: cancels",
    "settler: cannot tell whether a payment is spent",
    "buyer: hangs up on",
    "as it is for",
    "forged for",
    "forged long for",
    "twice",
    ": a copy of",
    "answered, again: true",
    "(aggr_deferred) for",
    "newcomers: ",
    "server: crashes",
    "server: stops",
];

/// Faults of several servers, and their consequences.
const EVENTS_OF_SEVERAL: [&str; 11] = [
    ": crash, for",
    ": stop, for",
    ": held up, for",
    ": cut off, for",
    "database: away",
    "server: cannot renew its lease",
    "server: had lost its lease",
    "settle cannot be reached",
    "reserve takes effect and is cut off",
    "buyer: waits in vain",
    "answered, again: true",
];

#[test]
fn every_fault_of_several_servers_happens_in_an_ordinary_run() {
    let mut missing = EVENTS_OF_SEVERAL.to_vec();
    for seed in 1..=USUAL_HISTORIES {
        let notes = run_several(seed, true).notes;
        missing.retain(|event| !notes.iter().any(|note| note.contains(event)));
        if missing.is_empty() {
            return;
        }
    }
    panic!("in {USUAL_HISTORIES} histories never: {missing:#?}");
}

/// A fault that never happens proves nothing.
#[test]
fn every_fault_happens_in_an_ordinary_run() {
    let of_journal = JOURNAL_CALLS.iter().flat_map(|call| {
        ["fails", "takes effect and fails"].map(|how| format!("journal: {call} {how}"))
    });
    let others = EVENTS.iter().map(|event| (*event).to_owned());
    let mut missing: Vec<String> = of_journal.chain(others).collect();
    for seed in (1..=USUAL_COUNT).chain([RAREST]) {
        let notes = run_model(seed, true).notes;
        missing.retain(|event| !notes.iter().any(|note| note.contains(event)));
        if missing.is_empty() {
            return;
        }
    }
    panic!("in {USUAL_COUNT} schedules never: {missing:#?}");
}

#[test]
fn a_seed_replays() {
    for seed in [1, 2, 3] {
        assert_eq!(run_model(seed, true), run_model(seed, true), "seed {seed}");
        let history = run_several(seed, true);
        assert_eq!(history, run_several(seed, true), "seed {seed}");
    }
    assert_ne!(run_model(1, true), run_model(2, true));
}

/// Runs the same schedules over the journal on disk. The same events happen, so the model is
/// faithful.
#[test]
fn the_journal_on_disk_behaves_as_its_model() {
    for seed in 1..=30 {
        let (real, model) = (run_sqlite(seed, true), run_model(seed, true));
        let differ = real
            .notes
            .iter()
            .zip(&model.notes)
            .position(|(a, b)| a != b);
        assert_eq!(real, model, "seed {seed}, note {differ:?}");
    }
}

/// Runs the same histories over PostgreSQL.
#[test]
fn the_journal_on_postgresql_behaves_as_its_model() {
    let first = number_in(FIRST_SEED).unwrap_or(1);
    for seed in first..first + number_in(HISTORIES).unwrap_or(12) {
        let (real, model) = (run_postgres(seed, true), run_several(seed, true));
        let mut notes = real.notes.iter().zip(&model.notes);
        let differ = notes.find(|(real, model)| real != model);
        assert_eq!(differ, None, "seed {seed}");
        assert_eq!(real, model, "seed {seed}");
    }
}
