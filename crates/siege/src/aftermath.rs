//! Ends a siege: the buyers get their last answers, and the servers state what they know about the
//! payments.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::SiegeError;
use crate::buyer;
use crate::client::{Client, Request};
use crate::field::Field;
use crate::judge::Testimony;
use crate::payment::Key;

/// Waits until every buyer has finished and every server has decided every payment, or the time is
/// over.
///
/// # Errors
/// When a buyer could not continue.
pub async fn decided(
    field: &Field,
    most: Duration,
    buyers: &mut JoinSet<Result<(), SiegeError>>,
) -> Result<(), SiegeError> {
    let begun = Instant::now();
    loop {
        while let Some(ended) = buyers.try_join_next() {
            ended.map_err(std::io::Error::other)??;
        }
        let mut quiet = buyers.is_empty();
        for server in &field.apis {
            let open = open_payments(*server).await;
            quiet &= !open.is_empty() && open.values().all(|count| *count == 0);
        }
        if quiet || begun.elapsed() > most {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Asks each server of the paid API for the state of all payments.
pub async fn testimonies(field: &Field) -> Vec<Testimony> {
    let mut testimonies = Vec::new();
    for (number, server) in (1..).zip(&field.apis) {
        testimonies.push(Testimony {
            server: number,
            open: open_payments(*server).await,
            states: states(field, *server).await,
        });
    }
    testimonies
}

/// Reads `svc_payments_open`, by state. Empty when the server does not answer.
async fn open_payments(server: SocketAddr) -> BTreeMap<String, u64> {
    let answer = Client::new(server).send(&Request::get("/metrics")).await;
    let body = answer.map(|answer| answer.body).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    text.lines().filter_map(open_in).collect()
}

fn open_in(line: &str) -> Option<(String, u64)> {
    let rest = line.strip_prefix("svc_payments_open{state=\"")?;
    let (state, count) = rest.split_once("\"} ")?;
    Some((state.to_owned(), count.trim().parse().ok()?))
}

/// Asks a server for the state of every authorization that was ever sent.
async fn states(field: &Field, server: SocketAddr) -> BTreeMap<Key, String> {
    let keys = field.record.seen().keys.clone();
    let mut client = Client::new(server);
    let mut states = BTreeMap::new();
    for key in keys {
        let answer = client.send(&Request::get(key.look_up())).await;
        if let Some(state) = answer.ok().as_ref().and_then(buyer::state) {
            states.insert(key, state);
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_payments_are_read_from_the_metrics() {
        let line = r#"svc_payments_open{state="in_flight"} 3"#;
        assert_eq!(open_in(line), Some(("in_flight".to_owned(), 3)));
        assert_eq!(open_in("# TYPE svc_payments_open gauge"), None);
    }
}
