//! Tests of an address with several hosts, of which one is silent. Without a database the tests do
//! nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use storage::postgres::{Postgres, PostgresError, PostgresOptions};
use test_support::postgres::Schema;
use tokio::net::TcpListener;

/// A host that accepts connections and then sends nothing, as a frozen database does.
struct Silent {
    host: String,
    connections: Arc<AtomicUsize>,
}

impl Silent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                open.push(connection);
            }
        });
        Self { host, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn open(url: &str) -> Postgres {
    let options = PostgresOptions {
        connections: 4,
        wait: Duration::from_millis(700),
        ..PostgresOptions::default()
    };
    Postgres::new(url.parse().unwrap(), options).unwrap()
}

/// Runs a statement that takes so long that two of them at the same time need two connections.
async fn ask(database: &Postgres) -> Result<(), PostgresError> {
    let sql = "SELECT pg_sleep(0.05)";
    database.query("ask", sql, &[]).await.map(drop)
}

#[tokio::test]
async fn behind_a_silent_host_the_next_one_is_used_and_then_asked_first() {
    let Some(schema) = Schema::new() else { return };
    let silent = Silent::start().await;
    let url = schema.url().replacen('@', &format!("@{},", silent.host), 1);
    let database = open(&url);
    ask(&database).await.unwrap();
    assert_eq!(silent.connections(), 1);
    // All of these but one need a new connection.
    let (a, b, c) = tokio::join!(ask(&database), ask(&database), ask(&database));
    assert_eq!((a, b, c), (Ok(()), Ok(()), Ok(())));
    assert_eq!(silent.connections(), 1);
}

#[tokio::test]
async fn an_address_of_silent_hosts_is_not_available() {
    let (first, second) = (Silent::start().await, Silent::start().await);
    let url = format!("postgres://svc@{},{}/svc", first.host, second.host);
    let unavailable = Err(PostgresError::Unavailable {
        reason: "no host of the address answered in time".to_owned(),
    });
    assert_eq!(ask(&open(&url)).await, unavailable);
    assert_eq!((first.connections(), second.connections()), (1, 1));
}
