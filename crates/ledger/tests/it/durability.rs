//! Tests that acknowledged moves survive when the process is killed at any moment.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use ledger::{AnyLedger, Journal, Options, PaymentStatus, Spent, SqliteLedger, State};

use crate::support::{Bench, NOW, bring, claim, find, key, receipt, reserved, settlement, stored};

/// The variable that names the ledger to the process that will be killed.
const LEDGER: &str = "LEDGER_TO_BE_KILLED";
/// The variable with the number of that process's first payment.
const FIRST: &str = "FIRST_PAYMENT";

#[tokio::test]
async fn everything_is_there_after_closing_and_opening() {
    let mut ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    let mut before = Vec::new();
    for nonce in 0..7 {
        before.push(find(&ledger, nonce, NOW).await);
    }
    ledger.reopen();
    for nonce in 0..7 {
        let mut expected = before[usize::try_from(nonce).unwrap()].clone();
        if let Some(PaymentStatus::InFlight { state, .. }) = &mut expected {
            *state = ledger.reopened(*state);
        }
        assert_eq!(find(&ledger, nonce, NOW).await, expected);
    }
    // New entries do not take the numbers of old ones.
    let next = reserved(&ledger, claim(99)).await;
    for status in before.into_iter().flatten() {
        if let PaymentStatus::InFlight { entry, .. } | PaymentStatus::Unknown { entry, .. } = status
        {
            assert!(entry < next);
        }
    }
}

/// This is no test: the test below runs it as another process and kills it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_until_killed() {
    let (Ok(path), Ok(first)) = (std::env::var(LEDGER), std::env::var(FIRST)) else {
        return;
    };
    let ledger = Arc::new(AnyLedger::Sqlite(
        SqliteLedger::open(&path, Options::default()).unwrap(),
    ));
    let first: u64 = first.parse().unwrap();
    let say = |what: &str, nonce: u64| {
        let mut out = std::io::stdout().lock();
        // The parent may stop reading before it kills this process.
        let _ = writeln!(out, "\n{what} {nonce}").and_then(|()| out.flush());
    };
    let lanes: Vec<_> = (0..8)
        .map(|lane| {
            let ledger = Arc::clone(&ledger);
            tokio::spawn(async move {
                for nonce in (first + lane..).step_by(8) {
                    let entry = reserved(&ledger, claim(nonce)).await;
                    say("reserved", nonce);
                    ledger.start_work(entry);
                    ledger
                        .begin_settlement(entry, settlement(nonce), NOW)
                        .await
                        .unwrap();
                    say("settling", nonce);
                    ledger
                        .settle(entry, key(nonce), receipt(nonce), NOW)
                        .await
                        .unwrap();
                    say("settled", nonce);
                }
            })
        })
        .collect();
    for lane in lanes {
        lane.await.unwrap();
    }
}

/// Lets another process pay, and kills it after `patience` acknowledged moves. Returns the last
/// acknowledged state of each of its payments.
fn kill_after(patience: usize, path: &Path, first: u64) -> BTreeMap<u64, State> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "durability::payments_until_killed",
            "--exact",
            "--nocapture",
        ])
        .env(LEDGER, path)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = BTreeMap::new();
    let mut moves = 0;
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        let known = line
            .strip_suffix('\n')
            .and_then(|line| line.split_once(' '))
            .and_then(|(what, nonce)| {
                let state = State::ALL
                    .into_iter()
                    .find(|state| state.as_str() == what)?;
                Some((nonce.parse::<u64>().ok()?, state))
            });
        if let Some((nonce, state)) = known {
            acknowledged.insert(nonce, state);
            moves += 1;
            if moves == patience {
                // After SIGKILL, the earlier output of the process is still in the pipe.
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    child.wait().unwrap();
    assert!(
        moves >= patience,
        "the child ended by itself after {moves} moves"
    );
    acknowledged
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_had_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let mut settled = Vec::new();
    for (round, patience) in (0..).zip([1, 2, 5, 11, 23, 60, 151, 400, 1_000]) {
        let first = round * 1_000_000;
        let acknowledged = kill_after(patience, &path, first);
        let ledger = AnyLedger::Sqlite(
            SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap(),
        );
        let mut settling = Vec::new();
        for (&nonce, &state) in &acknowledged {
            // The next move may have become durable and not been acknowledged.
            match find(&ledger, nonce, NOW).await.unwrap() {
                PaymentStatus::InFlight { entry, state: now } => {
                    assert!(now >= state, "{nonce} was {state} and is {now}");
                    if now == State::Settling {
                        settling.push((entry, nonce));
                    }
                }
                PaymentStatus::Answered(answer) => {
                    assert_eq!(answer, stored(nonce, NOW));
                    settled.push(nonce);
                }
                other => panic!("{nonce} was {state} and is {other:?}"),
            }
        }
        ledger.recover(NOW).await.unwrap();
        let undecided = ledger.undecided(None, 100).await.unwrap();
        for (entry, nonce) in settling {
            let found = undecided
                .iter()
                .find(|undecided| undecided.entry == entry)
                .unwrap();
            assert_eq!(
                found.payload_json,
                settlement(nonce).payment.payload().raw()
            );
        }
        for undecided in undecided {
            ledger
                .release(undecided.entry, "not on chain", Spent::NOTHING, NOW)
                .await
                .unwrap();
        }
        for &nonce in &settled {
            let answered = Some(PaymentStatus::Answered(stored(nonce, NOW)));
            assert_eq!(find(&ledger, nonce, NOW).await, answered);
        }
    }
    assert!(settled.len() > 300, "{}", settled.len());
}
