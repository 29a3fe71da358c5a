//! Tests of the answers of a database, and of the errors that its user gets. Without a database the
//! tests do nothing.

use std::time::Duration;

use storage::postgres::{Postgres, PostgresError, PostgresOptions, get};
use test_support::{TcpProxy, eventually, postgres::Schema};

const OPERATION: &str = "ask";

fn open(url: &str) -> Postgres {
    let options = PostgresOptions {
        connections: 1,
        statement: Duration::from_secs(1),
        ..PostgresOptions::default()
    };
    Postgres::new(url.parse().unwrap(), options).unwrap()
}

/// Returns a statement that fails with this SQLSTATE.
fn raising(sqlstate: &str) -> String {
    format!("DO $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = '{sqlstate}'; END $$")
}

async fn error(database: &Postgres, sql: &str) -> PostgresError {
    database.query(OPERATION, sql, &[]).await.unwrap_err()
}

fn query(sqlstate: Option<&str>) -> PostgresError {
    PostgresError::Query {
        operation: OPERATION,
        sqlstate: sqlstate.map(str::to_owned),
    }
}

fn interrupted() -> PostgresError {
    PostgresError::Interrupted {
        operation: OPERATION,
    }
}

fn standby() -> PostgresError {
    PostgresError::Unavailable {
        reason: "it is a standby and takes no writes".to_owned(),
    }
}

#[tokio::test]
async fn a_refusal_becomes_its_own_error() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    for (sqlstate, expected) in [
        ("53100", PostgresError::Full),
        ("42501", query(Some("42501"))),
        // The database undid the statement in favour of another one. It was sent again some times.
        ("40001", query(Some("40001"))),
        ("55000", standby()),
        // A pooler reports a lost connection like this. The statement may have taken effect.
        ("08P01", interrupted()),
    ] {
        assert_eq!(error(&database, &raising(sqlstate)).await, expected);
    }
    // The connection can still be used.
    let row = database.query_one(OPERATION, "SELECT 7::bigint", &[]);
    assert_eq!(get::<i64>(&row.await.unwrap(), 0, OPERATION), Ok(7));
}

#[tokio::test]
async fn a_constraint_is_named() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    for sql in [
        "CREATE TABLE thing (
             id bigint CONSTRAINT thing_once PRIMARY KEY CONSTRAINT thing_positive CHECK (id > 0),
             of bigint CONSTRAINT thing_of REFERENCES thing
         )",
        "INSERT INTO thing VALUES (1)",
    ] {
        database.query(OPERATION, sql, &[]).await.unwrap();
    }
    for (values, constraint) in [
        ("1, 1", "thing_once"),
        ("0, 1", "thing_positive"),
        ("2, 3", "thing_of"),
    ] {
        let refused = error(&database, &format!("INSERT INTO thing VALUES ({values})")).await;
        let expected = PostgresError::Constraint {
            operation: OPERATION,
            constraint: constraint.to_owned(),
        };
        assert_eq!(refused, expected);
    }
}

#[tokio::test]
async fn a_row_of_another_form_is_damaged() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    let missing = database.query_one(OPERATION, "SELECT 1 WHERE false", &[]);
    assert_eq!(missing.await.unwrap_err().code(), "postgres_damaged");
    let row = database.query_one(OPERATION, "SELECT text 'seven'", &[]);
    let row = row.await.unwrap();
    for column in [0, 1] {
        let damaged = get::<i64>(&row, column, OPERATION).unwrap_err();
        assert_eq!(damaged.code(), "postgres_damaged");
        assert!(!damaged.to_string().contains("seven"), "{damaged}");
    }
}

/// An error that ends the connection may come after the commit.
#[tokio::test]
async fn a_connection_that_ends_leaves_the_outcome_open() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    let ended = error(&database, "SELECT pg_terminate_backend(pg_backend_pid())").await;
    assert_eq!(ended, interrupted());
    // This statement takes longer than the limit of one second.
    let late = error(&database, "SELECT pg_sleep(60)").await;
    assert_eq!(late, interrupted());
    // The next statement gets a new connection.
    database.query(OPERATION, "SELECT 1", &[]).await.unwrap();
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_unavailable() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    let sql = "CREATE TABLE thing (id bigint)";
    database.query(OPERATION, sql, &[]).await.unwrap();
    let read_only = "DO $$ BEGIN SET TRANSACTION READ ONLY; INSERT INTO thing VALUES (1); END $$";
    assert_eq!(error(&database, read_only).await, standby());
    let url = format!("{}%20-cdefault_transaction_read_only%3Don", schema.url());
    for url in [url.as_str(), "postgres://svc@127.0.0.1:1/none"] {
        let refused = error(&open(url), "SELECT 1").await;
        assert_eq!(refused.code(), "postgres_unavailable", "{refused}");
    }
}

/// The database would answer the commit with a rollback, and the driver would report success.
#[tokio::test]
async fn a_transaction_with_a_failed_statement_is_not_committed() {
    let Some(schema) = Schema::new() else { return };
    let database = open(schema.url());
    let done = database.transaction(OPERATION, |transaction| {
        Box::pin(async move {
            let failed = transaction.query(&raising("42501"), &[]).await;
            assert_eq!(failed.map(drop), Err(query(Some("42501"))));
            Ok::<_, PostgresError>(())
        })
    });
    assert_eq!(done.await, Err(query(None)));
}

#[tokio::test]
async fn a_database_states_its_history() {
    let Some(schema) = Schema::new() else { return };
    let history = open(schema.url()).history().await.unwrap().unwrap();
    assert_eq!(history.len(), 8);
    assert_eq!(open(schema.url()).history().await, Ok(Some(history)));
}

/// A suspended process sends nothing more, and its connection stays open. Other servers must not
/// wait for the locks of its transaction.
#[tokio::test]
async fn a_transaction_that_is_held_up_loses_its_locks() {
    let Some(schema) = Schema::new() else { return };
    let proxy = TcpProxy::before(schema.server()).await.unwrap();
    let (held_up, other) = (
        open(&schema.url_through(proxy.address())),
        open(schema.url()),
    );
    for sql in [
        "CREATE TABLE lane (id bigint)",
        "INSERT INTO lane VALUES (1)",
    ] {
        other.query(OPERATION, sql, &[]).await.unwrap();
    }
    const LOCK: &str = "SELECT id FROM lane FOR UPDATE";
    let suspend = proxy.clone();
    let ended = held_up
        .transaction::<(), PostgresError, _>(OPERATION, move |transaction| {
            let suspend = suspend.clone();
            Box::pin(async move {
                transaction.query(LOCK, &[]).await?;
                suspend.hold(true);
                transaction.query(LOCK, &[]).await.map(drop)
            })
        })
        .await;
    assert_eq!(ended, Err(interrupted()));
    eventually("the locks", async || {
        other.query(OPERATION, LOCK, &[]).await.ok()
    })
    .await;
    proxy.hold(false);
}
