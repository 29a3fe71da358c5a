//! Ends a siege: the buyers get their last answers, and the servers state what they know about the
//! payments.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use alloy_primitives::keccak256;
use bench::exchange::HttpAnswer;
use http::StatusCode;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::SiegeError;
use crate::buyer;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::field::Field;
use crate::judge::Testimony;
use crate::owner::address;
use crate::payment::Key;
use crate::record::Fate;

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
        let mut quiet = orders_ended(field).await && buyers.is_empty();
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

/// Asks what became of the orders whose end nobody has seen. Returns whether all have ended.
pub async fn orders_ended(field: &Field) -> bool {
    let open = {
        let seen = field.record.seen();
        let orders = seen.orders.iter().enumerate();
        let open = orders.filter_map(|(number, order)| match &order.fate {
            Fate::At(path) => Some((number, path.clone())),
            _ => None,
        });
        open.collect::<Vec<_>>()
    };
    let mut ended = true;
    for (number, path) in open {
        let answer = from_anywhere(field, &path).await;
        match answer.as_ref().and_then(fate) {
            Some(fate) => {
                if let Some(order) = field.record.seen().orders.get_mut(number) {
                    order.fate = fate;
                }
            }
            None => ended = false,
        }
    }
    ended
}

/// Reads what became of an action or a delegated plan. `None` when it goes on, or when the answer
/// does not say.
fn fate(answer: &HttpAnswer) -> Option<Fate> {
    if answer.status == StatusCode::NOT_FOUND {
        return Some(Fate::Undone);
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |name| body.get(name).and_then(Value::as_str);
    match text("status").or(text("state"))? {
        "completed" | "partial" | "done" => Some(Fate::Done),
        "failed" | "cancelled" | "halted_clean" | "halted_dirty" => Some(Fate::Undone),
        _ => None,
    }
}

/// Asks the servers about every revocation that they have acknowledged. Returns the state that they
/// show at each path.
pub async fn revocations(field: &Field) -> BTreeMap<String, String> {
    let paths = field.record.seen().revoked.clone();
    let mut states = BTreeMap::new();
    for path in paths {
        let answer = from_anywhere(field, &path).await;
        let state = answer.as_ref().and_then(buyer::state);
        states.insert(path, state.unwrap_or_else(|| "not shown".to_owned()));
    }
    states
}

/// Asks a server from an address of its own for each path, so that no share of an address is used
/// up.
async fn from_anywhere(field: &Field, path: &str) -> Option<HttpAnswer> {
    let [one, two, ..] = keccak256(path).0;
    let request = Request::get(path).with(CLIENT_ADDRESS, address(format!("10.9.{one}.{two}")));
    field.client().send(&request).await.ok()
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
    use serde_json::json;

    #[test]
    fn the_end_of_an_order_is_read_from_its_look_up() {
        let read = |status: u16, body: Value| {
            fate(&HttpAnswer {
                status: StatusCode::from_u16(status).unwrap(),
                headers: http::HeaderMap::new(),
                body: body.to_string().into(),
            })
        };
        assert_eq!(read(200, json!({"status": "completed"})), Some(Fate::Done));
        assert_eq!(read(200, json!({"state": "done"})), Some(Fate::Done));
        let halted = read(200, json!({"state": "halted_clean"}));
        assert_eq!(halted, Some(Fate::Undone));
        assert_eq!(read(404, json!({"error": {}})), Some(Fate::Undone));
        assert_eq!(read(200, json!({"status": "in_progress"})), None);
        assert_eq!(read(503, json!({})), None);
    }

    #[test]
    fn open_payments_are_read_from_the_metrics() {
        let line = r#"svc_payments_open{state="in_flight"} 3"#;
        assert_eq!(open_in(line), Some(("in_flight".to_owned(), 3)));
        assert_eq!(open_in("# TYPE svc_payments_open gauge"), None);
    }
}
