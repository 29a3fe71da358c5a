//! What to do after an answer: the answer itself, the seller's advice, or the state of a payment.

use alloy_primitives::B256;
use serde_json::Value;

use super::{OutcomeError, PaymentOutcome, SignedPayment};
use crate::SettlementResponse;

/// The pause of a look-up when the seller states none, in seconds.
const LOOK_UP_AFTER_SECONDS: u64 = 2;

/// The longest pause that a buyer takes on a seller's word, in seconds.
const LONGEST_PAUSE_SECONDS: u64 = 86_400;

/// The parts of a seller's answer that decide the next step.
#[derive(Debug, Clone, Copy, Default)]
pub struct SellerAnswer<'a> {
    /// The status code.
    pub status: u16,
    /// The header `PAYMENT-RESPONSE`.
    pub payment_response: Option<&'a [u8]>,
    /// The header `Purchase-Repeated`.
    pub purchase_repeated: Option<&'a [u8]>,
    /// The header `Retry-After`, in seconds.
    pub retry_after_seconds: Option<u64>,
    /// The body.
    pub body: &'a [u8],
}

/// The payment that an answer was bought with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BoughtWith {
    /// The payment that was sent.
    ThisPayment,
    /// An earlier payment of the same buyer for the same request. The seller does not settle the
    /// one that was sent.
    EarlierPayment {
        /// The transaction that settled the earlier one, if the receipt names one.
        transaction: Option<B256>,
    },
}

/// The next step with a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The purchase is over: this is the answer.
    Answered {
        /// The payment that bought it.
        bought_with: BoughtWith,
        /// The outcome of that payment; `None` without a readable receipt.
        outcome: Option<PaymentOutcome>,
    },
    /// Sign a new payment. The present one is not settled any more.
    SignNew,
    /// Wait, and send the same header again for the same request.
    SendSameAgain {
        /// Seconds to wait.
        after_seconds: u64,
    },
    /// Wait, and read the state of the payment at this address ([`PaymentState::read`]), which is
    /// free. The address is the seller's word: ask it only if it is at the seller's own host.
    LookUp {
        /// Seconds to wait.
        after_seconds: u64,
        /// The address.
        url: String,
        /// Whether the address is that of an earlier payment that stands for the same purchase. To
        /// buy the same twice, name another payment identifier.
        is_of_earlier: bool,
    },
    /// No step with this payment helps. The answer's body says why.
    Stop,
}

impl SignedPayment {
    /// Returns the next step after an answer to this payment. An answer that never came is no
    /// refusal: send the same header again.
    ///
    /// # Errors
    /// [`OutcomeError`]: the receipt of a successful answer is about another payment or contradicts
    /// itself.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::{SellerAnswer, Step};
    /// # use alloy_primitives::{B256, U256, address};
    /// # use x402_wire::buyer::{Allowance, Budget, Purchase, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&PaymentRequired::from_json(json.as_bytes())?, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// # let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// # let mut signature = [1; 65];
    /// # signature[64] = 27;
    /// # let payment = choice.authorize(purchase, &mut budget)?.sign(signature)?;
    /// let answer = SellerAnswer {
    ///     status: 503,
    ///     body: br#"{"error":{"code":"ledger_unavailable",
    ///         "next":{"action":"send_same_again","after_seconds":5}}}"#,
    ///     ..SellerAnswer::default()
    /// };
    /// assert_eq!(payment.step(&answer)?, Step::SendSameAgain { after_seconds: 5 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step(&self, answer: &SellerAnswer<'_>) -> Result<Step, OutcomeError> {
        if (200..300).contains(&answer.status) {
            return self.answered(answer);
        }
        let body: Value = serde_json::from_slice(answer.body).unwrap_or_default();
        let about = match answer.status {
            402 => body.get("refusal"),
            _ => body.get("error"),
        };
        let text = |member: &str| about.and_then(|about| about.get(member)?.as_str());
        let next = about.and_then(|about| about.get("next"));
        let member = |name: &str| next.and_then(|next| next.get(name));
        let stated = member("after_seconds").and_then(Value::as_u64);
        let pause = |otherwise: u64| {
            let seconds = stated.or(answer.retry_after_seconds);
            seconds.unwrap_or(otherwise).min(LONGEST_PAUSE_SECONDS)
        };
        let url = || member("url").and_then(Value::as_str).map(str::to_owned);
        Ok(match member("action").and_then(Value::as_str) {
            Some("sign_new") => Step::SignNew,
            Some("send_same_again") => Step::SendSameAgain {
                after_seconds: pause(1),
            },
            Some("look_up" | "wait") => match url() {
                Some(url) => Step::LookUp {
                    after_seconds: pause(LOOK_UP_AFTER_SECONDS),
                    url,
                    is_of_earlier: matches!(
                        text("code"),
                        Some("purchase_undecided" | "action_repeated" | "identifier_taken")
                    ) || text("reason") == Some("too_many_repetitions"),
                },
                None => Step::Stop,
            },
            Some(_) => Step::Stop,
            // Another seller: only a repetition of the same header charges nothing twice.
            None => match (answer.status, answer.retry_after_seconds) {
                (429 | 500.., _) | (409, Some(_)) => Step::SendSameAgain {
                    after_seconds: pause(1),
                },
                _ => Step::Stop,
            },
        })
    }

    fn answered(&self, answer: &SellerAnswer<'_>) -> Result<Step, OutcomeError> {
        let outcome = answer.payment_response.map(|receipt| {
            let mut response = SettlementResponse::from_header(receipt)?;
            if answer.purchase_repeated.is_some() {
                // The price may have changed since the earlier payment.
                response.amount = None;
            }
            PaymentOutcome::read(self, response)
        });
        let outcome = outcome.transpose()?;
        let bought_with = match answer.purchase_repeated {
            None => BoughtWith::ThisPayment,
            Some(_) => BoughtWith::EarlierPayment {
                transaction: match &outcome {
                    Some(PaymentOutcome::Settled { transaction }) => Some(*transaction),
                    _ => None,
                },
            },
        };
        Ok(Step::Answered {
            bought_with,
            outcome,
        })
    }
}

/// The state of a payment, as the seller's free look-up reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PaymentState {
    /// The seller does not know it.
    NotSeen,
    /// A call works on it.
    InFlight,
    /// It was charged. The same header gets the answer.
    Settled {
        /// The transaction, if the seller names one.
        transaction: Option<B256>,
    },
    /// It was not charged.
    Released {
        /// The seller's reason.
        reason: String,
    },
    /// It is not charged, because the answer of an earlier payment was given for it.
    Repetition {
        /// The transaction of the earlier payment.
        transaction: Option<B256>,
    },
    /// Whether it was charged is not known yet.
    Unknown,
    /// Only the seller's operator can find out whether it was charged.
    Undecidable,
}

impl PaymentState {
    /// Reads the body of a look-up. `None` when it is no state.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::PaymentState;
    ///
    /// let body = br#"{"state":"released","reason":"insufficient_funds"}"#;
    /// let reason = "insufficient_funds".to_owned();
    /// assert_eq!(PaymentState::read(body), Some(PaymentState::Released { reason }));
    /// ```
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let text = |member: &str| body.get(member).and_then(Value::as_str);
        let transaction = text("transaction").and_then(|hash| hash.parse().ok());
        Some(match text("state")? {
            "not_seen" => Self::NotSeen,
            "in_flight" => Self::InFlight,
            "settled" => Self::Settled { transaction },
            "released" => match text("reason").unwrap_or_default() {
                "repetition" => Self::Repetition { transaction },
                reason => Self::Released {
                    reason: reason.to_owned(),
                },
            },
            "unknown" => Self::Unknown,
            "undecidable" => Self::Undecidable,
            _ => return None,
        })
    }
}
