//! A facilitator that settles on the chain of the siege, and fails in many ways.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::B256;
use bytes::Bytes;
use serde_json::json;

use crate::bank::{Bank, Presented};
use crate::chance::Chance;
use crate::payment::Key;
use crate::weather::Weather;
use crate::wire::{self, Asked, Reply};

struct Facilitator {
    bank: Bank,
    weather: Arc<Weather>,
    attempts: Mutex<HashMap<(Key, &'static str), u64>>,
    settled: Mutex<HashMap<Key, B256>>,
}

/// Serves a facilitator.
///
/// # Errors
/// When no port is available.
pub async fn open(bank: Bank, weather: Arc<Weather>) -> io::Result<SocketAddr> {
    let facilitator = Arc::new(Facilitator {
        bank,
        weather,
        attempts: Mutex::default(),
        settled: Mutex::default(),
    });
    wire::serve(move |asked| {
        let facilitator = facilitator.clone();
        async move { facilitator.answer(asked).await }
    })
    .await
}

impl Facilitator {
    async fn answer(&self, asked: Asked) -> Reply {
        if asked.target == "/supported" {
            let kinds = ["exact", "aggr_deferred"]
                .map(|scheme| json!({"x402Version": 2, "scheme": scheme, "network": "eip155:196"}));
            let body = json!({"kinds": kinds, "extensions": [], "signers": {}});
            return Reply::json(200, body.to_string());
        }
        let Some(payment) = Presented::read(&asked.body) else {
            let body =
                json!({"isValid": false, "invalidReason": "invalid_exact_evm_payload_signature"});
            return Reply::json(200, body.to_string());
        };
        match asked.target.as_str() {
            "/verify" if payment.is_deferred => self.verify_deferred(&payment),
            // A promise of a broker is never kept here. If a server serves a call for one, the call
            // is unpaid.
            "/settle" if payment.is_deferred => refusal("invalid_payload"),
            "/verify" => self.verify(&payment).await,
            "/settle" => self.settle(&payment).await,
            _ => Reply::json(404, "{}"),
        }
    }

    async fn verify(&self, payment: &Presented) -> Reply {
        let whole = || match self.bank.check(payment) {
            Ok(()) => json!({"isValid": true, "payer": payment.key.payer}).to_string(),
            Err(reason) => json!({"isValid": false, "invalidReason": reason}).to_string(),
        };
        let Some(mut chance) = self.strike(payment, "verify") else {
            return Reply::json(200, whole());
        };
        match chance.below(100) {
            0..3 => Reply::json(500, "<html>gateway</html>"),
            3..5 => Reply::Drop,
            5..7 => Reply::Torn(whole().into()),
            7..8 => Reply::Silence,
            8..14 => {
                tokio::time::sleep(chance.millis(100, 1_000)).await;
                Reply::json(200, whole())
            }
            // The facilitator says "valid" about any payment.
            14..17 => Reply::json(200, r#"{"isValid":true}"#),
            _ => Reply::json(200, whole()),
        }
    }

    fn verify_deferred(&self, payment: &Presented) -> Reply {
        let invalid = || {
            Reply::json(
                200,
                r#"{"isValid":false,"invalidReason":"invalid_payload"}"#,
            )
        };
        let Some(mut chance) = self.strike(payment, "verify") else {
            return invalid();
        };
        match chance.below(100) {
            0..5 => Reply::json(500, "<html>gateway</html>"),
            5..8 => Reply::Drop,
            // The facilitator says "valid".
            8..30 => Reply::json(200, r#"{"isValid":true}"#),
            _ => invalid(),
        }
    }

    async fn settle(&self, payment: &Presented) -> Reply {
        let Some(mut chance) = self.strike(payment, "settle") else {
            return self.settled(payment);
        };
        match chance.below(100) {
            // The money moves, and the caller gets a late answer, a part of one, a wrong one, or
            // none.
            0..7 => {
                let reply = self.settled(payment);
                tokio::time::sleep(chance.millis(500, 2_500)).await;
                reply
            }
            7..11 => {
                self.settled(payment);
                Reply::Silence
            }
            11..15 => {
                self.settled(payment);
                Reply::Drop
            }
            15..18 => match self.settled(payment) {
                Reply::Whole { body, .. } => Reply::Torn(body),
                other => other,
            },
            18..21 => {
                self.settled(payment);
                Reply::json(500, "<html>gateway</html>")
            }
            21..23 => {
                self.settled(payment);
                refusal("unexpected_settle_error")
            }
            23..24 => {
                self.settled(payment);
                refusal("insufficient_funds")
            }
            24..27 => {
                self.settled(payment);
                refusal("settlement_pending")
            }
            // The money does not move, and the caller gets no answer, an error, or a wrong one.
            27..29 => Reply::Silence,
            29..32 => Reply::Drop,
            32..35 => Reply::json(500, r#"{"error":"no"}"#),
            35..38 => refusal("settlement_pending"),
            38..41 => success(payment.key, B256::from(chance.bytes())),
            41..43 => refusal("unexpected_settle_error"),
            43..44 => refusal("transaction_failed"),
            44..46 => Reply::Torn(Bytes::from_static(br#"{"success":true,"transac"#)),
            _ => self.settled(payment),
        }
    }

    /// Settles a payment once, and reports it as often as it is asked for.
    fn settled(&self, payment: &Presented) -> Reply {
        let known = {
            let settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
            settled.get(&payment.key).copied()
        };
        if let Some(transaction) = known {
            return success(payment.key, transaction);
        }
        if let Err(reason) = self.bank.check(payment) {
            return refusal(reason);
        }
        let Some(transaction) = self.bank.settle(payment) else {
            return refusal("transaction_failed");
        };
        self.weather.settled(payment.key.payer, transaction);
        self.settled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(payment.key, transaction);
        success(payment.key, transaction)
    }

    /// Returns the random draws for the failure of this attempt. `None` when the attempt must not
    /// fail.
    fn strike(&self, payment: &Presented, call: &'static str) -> Option<Chance> {
        if self.weather.spares(payment.key.payer) {
            return None;
        }
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = attempts.entry((payment.key, call)).or_default();
        *attempt = attempt.saturating_add(1);
        let event = format!("{call} {} {attempt}", payment.key);
        // Only some of the later attempts may fail, so that payments come to an end.
        let again = *attempt > 1;
        drop(attempts);
        let mut chance = self.weather.chance(&event);
        (!again || chance.percent(40)).then_some(chance)
    }
}

fn success(key: Key, transaction: B256) -> Reply {
    let body = json!({
        "success": true, "transaction": transaction, "network": "eip155:196", "payer": key.payer,
    });
    Reply::json(200, body.to_string())
}

fn refusal(reason: &str) -> Reply {
    let body = json!({
        "success": false, "errorReason": reason, "transaction": "", "network": "eip155:196",
    });
    Reply::json(200, body.to_string())
}
