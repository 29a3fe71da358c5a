//! Tests of a database that cannot be reached, of answers that are lost, and of databases that a
//! ledger must not use.

use ledger::{
    AnyLedger, Journal, LedgerError, PaymentStatus, PostgresLedger, Reservation, Spent, State,
};
use test_support::{TcpProxy, postgres::Schema};

use crate::{
    instances::{LEASE, postgres, server},
    support::{
        NOW, OPTIONS, bring, claim, find, key, look_up, receipt, request, reserved, settlement,
        stored,
    },
};

/// Starts a proxy in front of the database. Returns the address of the schema through it.
async fn through(schema: &Schema) -> (TcpProxy, String) {
    let proxy = TcpProxy::before(schema.server()).await.unwrap();
    let url = schema.url_through(proxy.address());
    (proxy, url)
}

#[tokio::test]
async fn without_the_database_nothing_begins() {
    let Some(schema) = Schema::new() else { return };
    let (proxy, url) = through(&schema).await;
    let url = url.as_str();
    let ledger = server(url).await;
    let entry = bring(&ledger, 1, State::Working).await;
    proxy.set_reachable(false);
    let code = |error: LedgerError| error.code();
    // The first statement finds that its connection is closed. The others find no connection.
    let first = ledger.reserve(claim(2)).await.map_err(code);
    assert!(
        matches!(first, Err("ledger_interrupted" | "ledger_unavailable")),
        "{first:?}"
    );
    for _ in 0..3 {
        let again = ledger.reserve(claim(2)).await.map_err(code);
        assert!(
            matches!(again, Err("ledger_interrupted" | "ledger_unavailable")),
            "{again:?}"
        );
    }
    assert!(ledger.find(&key(1), &request(0), NOW).await.is_err());
    assert!(ledger.probe().await.is_err());
    let opened = PostgresLedger::open(postgres(url, 1), OPTIONS, LEASE).await;
    assert_eq!(opened.map(drop).map_err(code), Err("ledger_unavailable"));

    proxy.set_reachable(true);
    ledger.probe().await.unwrap();
    assert_eq!(look_up(&ledger, 2).await, None);
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
}

/// A statement whose answer is lost has taken effect or not. In both cases the caller learns the
/// truth, and nothing happens twice.
#[tokio::test]
async fn a_lost_answer_is_looked_for() {
    let Some(schema) = Schema::new() else { return };
    let (proxy, url) = through(&schema).await;
    let url = url.as_str();
    // With only one connection, the proxy cuts the statement of this test.
    let ledger = PostgresLedger::open(postgres(url, 1), OPTIONS, LEASE).await;
    let ledger = AnyLedger::Postgres(ledger.unwrap());
    let mut paid = 0;
    // The connection is cut at each answer: that of the preparation, and that of the statement
    // itself.
    for (round, cut) in (0..).zip([0, 1, 0, 1, 0, 1, 2, 3]) {
        let nonce = 100 + round;
        proxy.cut_after(cut);
        let reservation = ledger.reserve(claim(nonce)).await;
        let entry = match reservation {
            Ok(Reservation::Reserved(entry)) => entry,
            // The statement was prepared and not run.
            Err(LedgerError::Interrupted { .. }) => reserved(&ledger, claim(nonce)).await,
            other => panic!("{other:?}"),
        };
        assert!(proxy.has_cut() || cut > 0);
        proxy.cut_after(cut);
        ledger
            .begin_settlement(entry, settlement(nonce), NOW)
            .await
            .unwrap();
        proxy.cut_after(cut);
        ledger
            .settle(entry, key(nonce), receipt(nonce), NOW)
            .await
            .unwrap();
        proxy.cut_after(-1);
        paid += 2_000;
        let answered = Some(PaymentStatus::Answered(stored(nonce, NOW)));
        assert_eq!(find(&ledger, nonce, NOW).await, answered);
        assert_eq!(ledger.paid(key(0).payer).await, Ok(paid));

        let released = reserved(&ledger, claim(200 + round)).await;
        proxy.cut_after(cut);
        ledger
            .release(released, "refused", Spent::NOTHING, NOW)
            .await
            .unwrap();
        proxy.cut_after(-1);
        assert_eq!(find(&ledger, 200 + round, NOW).await, None);
    }
}

#[tokio::test]
async fn a_database_that_could_lose_a_commit_is_refused() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    let unsafe_url = format!("{url}%20-csynchronous_commit%3Doff");
    let opened = PostgresLedger::open(postgres(&unsafe_url, 1), OPTIONS, LEASE).await;
    let error = opened.map(drop).unwrap_err();
    assert_eq!(error.code(), "ledger_not_durable");
    assert!(
        error.to_string().contains("synchronous_commit = off"),
        "{error}"
    );
}

/// A primary without a replica loses nothing, even if commits do not wait for one.
#[tokio::test]
async fn a_commit_that_waits_for_no_replica_is_enough_without_one() {
    let Some(schema) = Schema::new() else { return };
    let url = format!("{}%20-csynchronous_commit%3Dlocal", schema.url());
    server(&url).await.close().await.unwrap();
}

#[tokio::test]
async fn tables_of_a_later_version_are_refused() {
    let Some(schema) = Schema::new() else { return };
    let url = schema.url();
    server(url).await.close().await.unwrap();
    let sql = "UPDATE schema_version SET version = 99 WHERE component = 'ledger'";
    postgres(url, 1).query("age", sql, &[]).await.unwrap();
    let opened = PostgresLedger::open(postgres(url, 1), OPTIONS, LEASE).await;
    assert_eq!(opened.map(drop).unwrap_err().code(), "ledger_newer_schema");
}
