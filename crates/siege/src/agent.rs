//! An honest agent of the rail. It asks for one plan while others flood the rail.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;

use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client};
use crate::crowd::rail;
use crate::field::Field;

/// How often an agent asks when its upstream failed. The share of its address is enough for one
/// plan at its highest cost. So a first attempt that fails may use up the share of the second one.
const TRIES: u64 = 2;

/// Asks for a plan at some time in the siege, and records the result.
pub async fn ask(number: u64, field: Arc<Field>, siege: Duration) {
    let mut chance = Chance::of(field.seed, &format!("agent {number}"));
    let address = HeaderValue::try_from(format!("10.7.0.{number}"));
    let address = address.unwrap_or(HeaderValue::from_static(""));
    field.siege().await;
    let millis = u64::try_from(siege.as_millis()).unwrap_or_default();
    tokio::time::sleep(chance.millis(millis / 4, millis / 4 * 3)).await;
    let amount = chance.below(900_000_000).saturating_add(1_000_000);
    let mut got = String::new();
    let mut used_by_itself = false;
    for _ in 0..TRIES {
        let request = rail::swap_call(amount).with(CLIENT_ADDRESS, address.clone());
        got = match Client::new(field.rail).send(&request).await {
            Ok(answer) => rail::why_no_plan(&answer).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        if got.is_empty() || is_used_up(&got) {
            break;
        }
        used_by_itself = true;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // A failing upstream breaks no promise of the rail. A share that other callers have used up
    // does.
    if got.is_empty() || (is_used_up(&got) && !used_by_itself) {
        field.record.seen().plans.push(got);
    } else {
        field.record.crowd("honest agents, upstream failed", got);
    }
}

/// Whether a refusal says that the rail has nothing left for this agent. An upstream that answers
/// 429 for a second leads to the same code, but counts as a failing upstream.
fn is_used_up(refusal: &str) -> bool {
    refusal.contains("rate_limited") && !refusal.contains("rate limited, retry in 1 s")
}

#[cfg(test)]
mod tests {
    use super::is_used_up;

    #[test]
    fn an_upstream_that_is_busy_for_a_second_uses_nothing_up() {
        for (refusal, used_up) in [
            (
                r#"{"check":"rate_limited","message":"this caller's share of swap plans is used up"}"#,
                true,
            ),
            (
                r#"{"check":"rate_limited","message":"lifi: rate limited, retry in 6120 s"}"#,
                true,
            ),
            (
                r#"{"check":"rate_limited","message":"lifi: rate limited, retry in 1 s"}"#,
                false,
            ),
            (
                r#"{"check":"quote_unavailable","message":"lifi: unavailable"}"#,
                false,
            ),
        ] {
            assert_eq!(is_used_up(refusal), used_up, "{refusal}");
        }
    }
}
