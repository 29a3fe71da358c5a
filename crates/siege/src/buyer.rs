//! An honest buyer. It follows the server's `next`, and keeps its signed payments until it has its
//! answer.

mod purchase;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::exchange::HttpAnswer;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use self::purchase::Buying;
use crate::SiegeError;
use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::field::Field;
use crate::payment::Wallet;
use crate::record::{End, Phase};

/// How long a payment is valid, in seconds: longer than the work and the settlement may take, and
/// so short that its window ends while the siege still watches.
pub const VALID_SECONDS: u64 = 40;

/// How long the payment of an action is valid, in seconds: an action may take a minute, and one
/// whose payment ends before that is not begun.
pub const ACTION_SECONDS: u64 = 90;

/// The beginning of the names of buyers whose accounts have delegated to code.
pub const DELEGATED_KIND: &str = "delegated";

/// The pause between two tries when the server states none.
const SOON: Duration = Duration::from_millis(300);

/// An honest buyer.
#[derive(Debug, Clone)]
pub struct Buyer {
    /// Its name in the report.
    pub name: String,
    /// The wallet that it pays from.
    pub wallet: Wallet,
    /// The client address that it sends.
    pub address: HeaderValue,
    /// The requests that it buys.
    pub targets: Vec<String>,
    /// Whether its dependencies never fail. The siege measures the times of such buyers.
    pub steady: bool,
    /// How often it closes the connection at a random moment, before it waits for an answer.
    pub hang_ups: u64,
    /// Whether it sends each payment to all servers at once.
    pub at_all: bool,
}

/// The buyer's next step after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// No step: this is the answer.
    Answered,
    /// Sign a new payment.
    SignNew,
    /// Send the same header again after this time.
    Again(Duration),
    /// Look up the state of the payment after this time.
    LookUp(Duration),
    /// No step helps. The text says why.
    Refused(String),
}

impl NextStep {
    /// Returns the step after the answers of several servers to one payment. If one server says
    /// `SignNew`, it holds for all, so it counts whatever the others say.
    pub fn of_all(steps: impl IntoIterator<Item = Self>) -> Option<Self> {
        steps.into_iter().min_by_key(|step| match step {
            Self::Answered => 0,
            Self::SignNew => 1,
            Self::LookUp(_) => 2,
            Self::Again(_) => 3,
            Self::Refused(_) => 4,
        })
    }

    /// Reads the next step from an answer to a call with a payment.
    pub fn by(answer: &HttpAnswer) -> Self {
        // An action that goes on is accepted.
        if matches!(answer.status, StatusCode::OK | StatusCode::ACCEPTED) {
            return Self::Answered;
        }
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let about = match answer.status {
            StatusCode::PAYMENT_REQUIRED => body.get("refusal"),
            _ => body.get("error"),
        };
        let next = about.and_then(|about| about.get("next"));
        let after = next.and_then(|next| next.get("after_seconds"));
        let after = Duration::from_secs(after.and_then(Value::as_u64).unwrap_or_default());
        let action = next.and_then(|next| next.get("action"));
        match action.and_then(Value::as_str) {
            Some("sign_new") => Self::SignNew,
            Some("send_same_again") => Self::Again(after.max(SOON)),
            Some("look_up") => Self::LookUp(SOON),
            Some("wait") => Self::LookUp(after),
            _ => match answer.headers.get(header::RETRY_AFTER) {
                Some(_) => Self::Again(Duration::from_secs(1)),
                None => Self::Refused(brief(answer)),
            },
        }
    }
}

/// Returns the status, the code and the reason of an answer.
pub fn brief(answer: &HttpAnswer) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let code = text("/error/code").or(text("/refusal/reason"));
    let reason = text("/error/reason").map(|reason| format!(" ({reason})"));
    format!(
        "{} {}{}",
        answer.status.as_u16(),
        code.unwrap_or("without a code"),
        reason.unwrap_or_default()
    )
}

impl Buyer {
    /// Buys once, however long that takes.
    ///
    /// # Errors
    /// When a payment cannot be signed.
    pub async fn buy(
        &self,
        field: &Arc<Field>,
        client: &mut Client,
        chance: &mut Chance,
    ) -> Result<(), SiegeError> {
        let target = chance.pick(&self.targets).cloned().unwrap_or_default();
        let bought = self.order(field, client, chance, &target, Bytes::new());
        bought.await.map(drop)
    }

    /// Buys one request once, however long that takes. A body makes it an action, which the server
    /// may decline. Returns the end and the last answer.
    ///
    /// # Errors
    /// When a payment cannot be signed.
    pub async fn order(
        &self,
        field: &Arc<Field>,
        client: &mut Client,
        chance: &mut Chance,
        target: &str,
        body: Bytes,
    ) -> Result<(End, Option<HttpAnswer>), SiegeError> {
        let number = field.record.wanted(&self.name, target);
        let mut buying = Buying {
            buyer: self,
            field,
            client,
            chance,
            target: target.to_owned(),
            body,
            number,
            last: None,
        };
        buying.run().await?;
        let last = buying.last;
        let end = field.record.end(number);
        Ok((end, last))
    }

    /// Adds the buyer's address to a request.
    fn addressed(&self, request: Request) -> Request {
        request.with(CLIENT_ADDRESS, self.address.clone())
    }
}

/// Returns the intent that an answer about an action names.
pub fn intent(answer: &HttpAnswer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let id = ["/data/intent_id", "/error/intent_id"].map(|pointer| body.pointer(pointer));
    id.into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map(str::to_owned)
}

/// Returns the state in an answer of `GET /payments/…`.
pub fn state(answer: &HttpAnswer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    body.get("state")?.as_str().map(str::to_owned)
}

/// Buys until the crowd leaves, then completes the purchases. A steady buyer buys one thing after
/// the other; other buyers do not wait for the answer.
///
/// # Errors
/// When a payment cannot be signed.
pub async fn keep_buying(
    buyer: Buyer,
    field: Arc<Field>,
    every: Duration,
) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, &buyer.name);
    let mut client = field.client();
    let mut begun = tokio::task::JoinSet::new();
    let mut number = 0_u64;
    // The buyers do not all start at the same moment.
    tokio::time::sleep(chance.millis(0, 200)).await;
    while matches!(field.phase(), Phase::Peace | Phase::Siege) {
        let next = Instant::now().checked_add(every);
        if buyer.steady {
            buyer.buy(&field, &mut client, &mut chance).await?;
        } else if begun.len() < MOST_OPEN {
            number = number.saturating_add(1);
            let (buyer, field) = (buyer.clone(), field.clone());
            let mut chance = Chance::of(field.seed, &format!("{} {number}", buyer.name));
            begun.spawn(async move {
                let mut client = field.client();
                buyer.buy(&field, &mut client, &mut chance).await
            });
        }
        while let Some(ended) = begun.try_join_next() {
            ended.map_err(std::io::Error::other)??;
        }
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        tokio::time::sleep(left.unwrap_or_default()).await;
    }
    while let Some(ended) = begun.join_next().await {
        ended.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// The most purchases of one buyer at the same time.
const MOST_OPEN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    fn next_step(status: u16, body: &Value) -> NextStep {
        NextStep::by(&HttpAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_string().into(),
        })
    }

    #[test]
    fn a_buyer_reads_what_to_do_next() {
        let next = |action: &str, after: u64| json!({"action": action, "after_seconds": after});
        let in_refusal = |next: Value| json!({"refusal": {"next": next}});
        let in_error = |next: Value| json!({"error": {"code": "c", "next": next}});
        assert_eq!(next_step(200, &json!({})), NextStep::Answered);
        assert_eq!(
            next_step(402, &in_refusal(next("sign_new", 0))),
            NextStep::SignNew
        );
        assert_eq!(
            next_step(402, &in_refusal(next("wait", 90))),
            NextStep::LookUp(Duration::from_secs(90))
        );
        assert_eq!(
            next_step(503, &in_error(next("send_same_again", 5))),
            NextStep::Again(Duration::from_secs(5))
        );
        assert_eq!(
            next_step(409, &in_error(next("look_up", 0))),
            NextStep::LookUp(SOON)
        );
        // A `next` in another place does not count.
        assert_eq!(
            next_step(503, &in_refusal(next("sign_new", 0))),
            NextStep::Refused("503 without a code".to_owned())
        );
        assert_eq!(
            next_step(404, &json!({"error": {"code": "not_found", "reason": "r"}})),
            NextStep::Refused("404 not_found (r)".to_owned())
        );
    }
    #[test]
    fn sign_new_of_one_server_counts_for_all() {
        let of = |steps: &[NextStep]| NextStep::of_all(steps.to_vec()).unwrap();
        let (look_up, again) = (NextStep::LookUp(SOON), NextStep::Again(SOON));
        assert_eq!(of(&[look_up.clone(), NextStep::SignNew]), NextStep::SignNew);
        assert_eq!(
            of(&[NextStep::SignNew, NextStep::Answered]),
            NextStep::Answered
        );
        assert_eq!(of(&[again, look_up.clone()]), look_up);
        assert_eq!(NextStep::of_all([]), None);
    }
}
