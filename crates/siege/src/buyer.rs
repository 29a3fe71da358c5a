//! An honest buyer: it follows the server's `next`, and keeps its signed payments until it has its
//! answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::exchange::HttpAnswer;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::SiegeError;
use crate::chance::Chance;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::field::Field;
use crate::payment::{Offer, Signed, Wallet};
use crate::record::{End, Phase};

/// How long a payment is valid: longer than the work and the settlement may take, and short enough
/// that its window ends while the siege still observes it.
pub const VALID_SECONDS: u64 = 40;

/// The name prefix of buyers whose accounts have delegated to code.
pub const DELEGATED_KIND: &str = "delegated";

/// The pause between two tries when the server names none.
const SOON: Duration = Duration::from_millis(300);

/// An honest buyer.
#[derive(Debug, Clone)]
pub struct Buyer {
    /// Its name in the report.
    pub name: String,
    /// Its wallet.
    pub wallet: Wallet,
    /// Its client address.
    pub address: HeaderValue,
    /// The requests that it buys.
    pub targets: Vec<String>,
    /// Whether its dependencies never fail and its times are measured.
    pub steady: bool,
    /// How often it closes the connection at a random moment before it waits for an answer.
    pub hang_ups: u64,
}

/// The buyer's next step after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// None: this is the answer.
    Answered,
    /// Sign a new payment.
    SignNew,
    /// Send the same header again after this time.
    Again(Duration),
    /// Look the payment up after this time.
    LookUp(Duration),
    /// No step helps.
    Refused(String),
}

impl NextStep {
    /// Reads an answer to a call with a payment.
    pub fn by(answer: &HttpAnswer) -> Self {
        if answer.status == StatusCode::OK {
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

/// Status and code of an answer.
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
    /// Buys once, however long it takes.
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
        let number = field.record.wanted(&self.name, &target);
        let mut purchase = Buying {
            buyer: self,
            field,
            client,
            chance,
            target,
            number,
        };
        purchase.run().await
    }

    /// A request of this buyer.
    fn addressed(&self, request: Request) -> Request {
        request.with(CLIENT_ADDRESS, self.address.clone())
    }
}

/// A running purchase.
struct Buying<'a> {
    buyer: &'a Buyer,
    field: &'a Arc<Field>,
    client: &'a mut Client,
    chance: &'a mut Chance,
    target: String,
    number: usize,
}

impl Buying<'_> {
    async fn run(&mut self) -> Result<(), SiegeError> {
        let Some(mut offer) = self.offer().await else {
            return Ok(());
        };
        let mut payment = self.sign(&offer)?;
        let begun = (self.field.phase(), self.field.interruptions());
        let since = Instant::now();
        for _ in 0..self.buyer.hang_ups {
            self.hang_up(&payment).await;
        }
        loop {
            let told = self.present(&payment).await;
            match told {
                NextStep::Answered => {
                    self.stands(End::Answered(payment.key));
                    let now = (self.field.phase(), self.field.interruptions());
                    if self.buyer.steady && begun == now {
                        self.field.record.timed(begun.0, since.elapsed());
                    }
                    return Ok(());
                }
                // The terms may have changed.
                NextStep::SignNew => {
                    match self.offer().await {
                        Some(now) => offer = now,
                        None => return Ok(()),
                    }
                    payment = self.sign(&offer)?;
                }
                NextStep::Again(after) => {
                    if !self.field.sleep(after).await {
                        return Ok(());
                    }
                }
                NextStep::LookUp(after) => {
                    if after > SOON {
                        self.stands(End::Waiting);
                    }
                    if !self.field.sleep(after).await {
                        return self.look_once(&payment).await;
                    }
                    if !self.look_up(&payment).await {
                        return Ok(());
                    }
                }
                NextStep::Refused(why) => {
                    self.stands(End::Refused(why));
                    return Ok(());
                }
            }
        }
    }

    /// Asks for the price of the call until the server states it; `None` when the siege is over
    /// first.
    async fn offer(&mut self) -> Option<Offer> {
        loop {
            let request = self.buyer.addressed(Request::get(&self.target));
            let answer = self.client.send(&request).await;
            let seen = match &answer {
                Ok(answer) => brief(answer),
                Err(error) => error.to_string(),
            };
            if let Some(offer) = answer.ok().as_ref().and_then(Offer::of) {
                return Some(offer);
            }
            self.stands(End::Open(format!("no offer: {seen}")));
            if !self.field.sleep(SOON).await {
                return None;
            }
        }
    }

    fn sign(&mut self, offer: &Offer) -> Result<Signed, SiegeError> {
        let wallet = &self.buyer.wallet;
        let payment = wallet.sign(offer, &self.target, VALID_SECONDS, self.chance)?;
        self.field.record.signed(self.number, payment.key);
        Ok(payment)
    }

    async fn present(&mut self, payment: &Signed) -> NextStep {
        // With code that accepts every signature, anybody who observes an authorization can pay
        // with it under any signature.
        if !self.buyer.steady && !self.buyer.name.starts_with(DELEGATED_KIND) {
            self.field.overheard(payment);
        }
        let request = self.buyer.addressed(payment.request());
        match self.client.send(&request).await {
            Ok(answer) => {
                let record = &self.field.record;
                record.answered("buyer", payment.key, &self.target, &answer);
                let told = NextStep::by(&answer);
                self.stands(End::Open(format!("{}, told {told:?}", brief(&answer))));
                told
            }
            // Whatever the outcome, repeating the same payment never charges twice.
            Err(error) => {
                self.stands(End::Open(error.to_string()));
                NextStep::Again(SOON)
            }
        }
    }

    /// Sends the payment and closes the connection at a moment that the seed determines.
    async fn hang_up(&mut self, payment: &Signed) {
        let request = self.buyer.addressed(payment.request());
        let bytes = request.to_bytes(self.field.api);
        let pause = match self.chance.percent(50) {
            true => self.chance.millis(0, 8),
            false => self.chance.millis(0, 400),
        };
        let cut = self.chance.percent(15);
        if let Ok(mut stream) = TcpStream::connect(self.field.api).await {
            let most = if cut { bytes.len() / 2 } else { bytes.len() };
            // The server may have closed first; closing is all that matters.
            let _ = stream
                .write_all(bytes.get(..most).unwrap_or_default())
                .await;
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks for the payment's state until it can be sent again; false when the siege is over first.
    async fn look_up(&mut self, payment: &Signed) -> bool {
        loop {
            let request = self.buyer.addressed(Request::get(payment.key.look_up()));
            let answer = self.client.send(&request).await;
            let state = answer.ok().and_then(|answer| state(&answer));
            let open = matches!(
                state.as_deref(),
                None | Some("in_flight" | "unknown" | "undecidable")
            );
            if !open {
                return true;
            }
            let state = state.unwrap_or_else(|| "no answer".to_owned());
            self.stands(End::Open(format!("looked up: {state}")));
            if !self.field.sleep(Duration::from_secs(1)).await {
                return false;
            }
        }
    }

    /// The siege ends while this buyer waits: it fetches answers that were settled meanwhile.
    async fn look_once(&mut self, payment: &Signed) -> Result<(), SiegeError> {
        let request = self.buyer.addressed(Request::get(payment.key.look_up()));
        let answer = self.client.send(&request).await.ok();
        if answer.as_ref().and_then(state).as_deref() == Some("settled")
            && self.present(payment).await == NextStep::Answered
        {
            self.stands(End::Answered(payment.key));
        }
        Ok(())
    }

    fn stands(&self, end: End) {
        self.field.record.stands(self.number, end);
    }
}

/// The state in an answer of `GET /payments/…`.
pub fn state(answer: &HttpAnswer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    body.get("state")?.as_str().map(str::to_owned)
}

/// Buys until the crowd leaves, and completes its purchases. Steady buyers buy one after the other;
/// others do not wait for answers.
///
/// # Errors
/// When a payment cannot be signed.
pub async fn keep_buying(
    buyer: Buyer,
    field: Arc<Field>,
    every: Duration,
) -> Result<(), SiegeError> {
    let mut chance = Chance::of(field.seed, &buyer.name);
    let mut client = Client::new(field.api);
    let mut begun = tokio::task::JoinSet::new();
    let mut number = 0_u64;
    // Spreads the starts.
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
                let mut client = Client::new(field.api);
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

/// Most concurrent purchases of one buyer.
const MOST_OPEN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    fn told(status: u16, body: &Value) -> NextStep {
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
        assert_eq!(told(200, &json!({})), NextStep::Answered);
        assert_eq!(
            told(402, &in_refusal(next("sign_new", 0))),
            NextStep::SignNew
        );
        assert_eq!(
            told(402, &in_refusal(next("wait", 90))),
            NextStep::LookUp(Duration::from_secs(90))
        );
        assert_eq!(
            told(503, &in_error(next("send_same_again", 5))),
            NextStep::Again(Duration::from_secs(5))
        );
        assert_eq!(
            told(409, &in_error(next("look_up", 0))),
            NextStep::LookUp(SOON)
        );
        // Advice in another place does not count.
        assert_eq!(
            told(503, &in_refusal(next("sign_new", 0))),
            NextStep::Refused("503 without a code".to_owned())
        );
        assert_eq!(
            told(404, &json!({"error": {"code": "not_found", "reason": "r"}})),
            NextStep::Refused("404 not_found (r)".to_owned())
        );
    }
}
