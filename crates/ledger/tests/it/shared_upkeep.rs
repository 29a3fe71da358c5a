//! Tests of the upkeep of a ledger that several servers share: leases, sweeps and pruning. Without
//! a database the tests do nothing.

use std::time::Duration;

use ledger::{
    AnyLedger, EntryId, Filter, Journal, LedgerError, PostgresLedger, Recovery, Spent, State,
};
use storage::postgres::Postgres;
use test_support::{eventually, postgres::Schema};

use crate::{
    instances::{expire, instance, postgres, registered_anew, server},
    support::{NOW, OPTIONS, bring, claim, prune_all},
};

/// Returns the transactions that have written and last locked an entry's row.
async fn writers(database: &Postgres, entry: EntryId) -> (String, String) {
    let sql = "SELECT xmin::text, xmax::text FROM ledger_entry WHERE id = $1";
    let row = database
        .query_one("writers", sql, &[&entry.number()])
        .await
        .unwrap();
    (row.get(0), row.get(1))
}

/// Every server sweeps and lists entries every few seconds. So these must not write the rows of
/// payments whose state does not change.
#[tokio::test]
async fn upkeep_writes_no_row_of_a_living_server() {
    let Some(schema) = Schema::new() else { return };
    let (a, b) = (server(schema.url()).await, server(schema.url()).await);
    let settling = bring(&a, 1, State::Settling).await;
    let unknown = bring(&a, 2, State::Unknown).await;
    let database = schema.connect();
    let before = [
        writers(&database, settling).await,
        writers(&database, unknown).await,
    ];
    for _ in 0..2 {
        assert_eq!(a.undecided(None, 10).await.unwrap().len(), 1);
        assert_eq!(b.undecided(None, 10).await, Ok(Vec::new()));
        let nothing = Ok(Recovery::default());
        assert_eq!(a.abandon(vec![settling], u64::MAX, NOW).await, nothing);
        assert_eq!(b.abandon(Vec::new(), u64::MAX, NOW).await, nothing);
    }
    let after = [
        writers(&database, settling).await,
        writers(&database, unknown).await,
    ];
    assert_eq!(after, before);
}

/// Pages of unknown entries contain those of this server and of dead ones, in order.
#[tokio::test]
async fn entries_of_a_dead_server_are_listed_between_those_of_this_one() {
    let Some(schema) = Schema::new() else { return };
    let (gone, server) = (server(schema.url()).await, server(schema.url()).await);
    let mut expected = Vec::new();
    for nonce in 0..10 {
        let owner = if nonce % 3 == 0 { &server } else { &gone };
        expected.push(bring(owner, nonce, State::Unknown).await);
    }
    expected.sort();
    gone.close().await.unwrap();
    for size in [1, 3, 20] {
        let mut seen: Vec<EntryId> = Vec::new();
        loop {
            let page = server.undecided(seen.last().copied(), size).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= usize::try_from(size).unwrap());
            seen.extend(page.iter().map(|undecided| undecided.entry));
        }
        assert_eq!(seen, expected);
    }
}

/// A run looks at a part of the ledger that grows with the ledger, so a round has a fixed number of
/// runs.
#[tokio::test]
async fn a_run_of_pruning_looks_at_a_part_of_the_ledger() {
    let Some(schema) = Schema::new() else { return };
    let ledger = server(schema.url()).await;
    let database = schema.connect();
    for sql in [
        "INSERT INTO ledger_entry (id, attempt, owner, state, open, authorization_digest, request, payer,
             valid_before, reserved_at, changed_at, amount, method, path)
         SELECT n, '', 1, 7, 0, decode(md5(n::text), 'hex'), '', '', 1, 1, 1, 2000, 'GET', '/price'
         FROM generate_series(1, 10000) AS n",
        "ALTER TABLE ledger_entry SET (autovacuum_enabled = false)",
        // The estimate that the database has for a ledger of three million entries.
        "UPDATE pg_class SET reltuples = 3072000 WHERE oid = 'ledger_entry'::regclass",
    ] {
        database.query("fill", sql, &[]).await.unwrap();
    }
    assert_eq!(prune_all(&ledger, NOW).await.entries, 10_000);
}

/// An index finds the open entries of a large ledger.
#[tokio::test]
async fn open_entries_are_selected_by_their_states() {
    let Some(schema) = Schema::new() else { return };
    let ledger = server(schema.url()).await;
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
    }
    for (states, expected) in [
        (vec![State::Unknown], 1),
        (vec![State::Undecidable, State::Settling], 2),
        (vec![State::Reserved, State::Unknown], 3),
        (vec![State::Settled, State::Unknown], 2),
        (vec![], 7),
    ] {
        let filter = Filter {
            states: states.clone(),
            ..Filter::default()
        };
        let entries = ledger.entries(&filter, None, 10).await.unwrap();
        assert_eq!(entries.len(), expected, "{states:?}");
    }
}

#[tokio::test]
async fn a_retired_authorization_is_recorded_as_such() {
    let Some(schema) = Schema::new() else { return };
    let ledger = server(schema.url()).await;
    let entry = bring(&ledger, 1, State::Reserved).await;
    let released = ledger.release(entry, "refused", Spent::NOTHING, NOW);
    released.await.unwrap();
    let retired = async || {
        let entries = ledger.entries(&Filter::default(), None, 10).await.unwrap();
        entries[0].retired
    };
    assert!(!retired().await);
    assert_eq!(ledger.retire(entry, false).await, Ok(true));
    assert!(retired().await);
}

/// After a failover, the database has the settings of another server.
#[tokio::test]
async fn a_server_does_not_register_anew_where_a_commit_could_be_lost() {
    let Some(schema) = Schema::new() else { return };
    let name = schema.url().rsplit("%3D").next().unwrap();
    let url = format!("{}&application_name={name}", schema.url());
    let lease = Duration::from_secs(4);
    let ledger = PostgresLedger::open(postgres(&url, 1), OPTIONS, lease).await;
    let ledger = ledger.unwrap();
    // The ledger has one connection, so the setting applies to all its statements.
    let set = async |sql: &'static str| {
        let database = ledger.postgres();
        database.query("set", sql, &[]).await.unwrap();
    };
    set("SET synchronous_commit = off").await;
    let ledger = AnyLedger::Postgres(ledger.clone());
    let first = instance(&ledger);
    expire(schema.url(), &ledger).await;
    let database = schema.connect();
    eventually("the settings are checked", async || {
        let sql = "SELECT query LIKE '%current_setting%' FROM pg_stat_activity WHERE application_name = $1";
        let row = database.query_one("look", sql, &[&name]).await.unwrap();
        row.get::<_, bool>(0).then_some(())
    })
    .await;
    assert_eq!(ledger.reserve(claim(1)).await, Err(LedgerError::LeaseLost));
    assert_eq!(instance(&ledger), first);
    set("SET synchronous_commit = on").await;
    registered_anew(&ledger, first).await;
    bring(&ledger, 1, State::Settled).await;
}
