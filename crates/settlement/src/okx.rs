//! Settles through the OKX broker: x402 v2 in an envelope, with API credentials and a query of a
//! settlement's state.

mod envelope;
mod signing;
mod status;

use std::time::Duration;

use alloy_primitives::U256;
use jiff::Timestamp;
use reqwest::Url;
use x402_wire::facilitator::SupportedResponse;
use x402_wire::{Network, Payment, Scheme};

use self::envelope::{Opened, open};
pub use self::signing::OkxCredentials;
use self::status::is_hash;
use crate::answer::{self, SettleAnswer, SettleBody};
use crate::http::{self, Http, Reply};
use crate::support::{Support, SupportCache};
use crate::{
    Cause, Malformation, Readiness, Reconciliation, RemoteCall, Settlement, SettlementError,
    Settler, Timeouts, Verification,
};

/// The prefix of every path. Requests are signed with it.
const API: &str = "/api/v6/pay/x402";

/// The OKX broker (its pages api-http-onetime, api-http-batch, api-query-settlement-status).
///
/// The scheme `exact` is settled with `syncSettle`: the broker answers when the transaction is
/// confirmed. When the broker cannot wait so long, this settler asks for the state for
/// [`Timeouts::poll_budget`]. After that the outcome is unknown, with the hash of the transaction.
/// It never counts as a failure.
pub struct Okx {
    http: Http,
    base: Url,
    credentials: OkxCredentials,
    network: Network,
    timeouts: Timeouts,
    support: SupportCache,
}

impl Okx {
    /// Makes the settler of the broker at `base_url`, which is normally `https://web3.okx.com`.
    ///
    /// # Errors
    /// [`SettlementError::Url`], [`SettlementError::Credential`] or [`SettlementError::Client`].
    pub fn new(
        base_url: &str,
        credentials: OkxCredentials,
        network: Network,
        timeouts: Timeouts,
    ) -> Result<Self, SettlementError> {
        Self::with_http(
            Http::new(timeouts.connect)?,
            base_url,
            credentials,
            network,
            timeouts,
        )
    }

    pub(crate) fn with_http(
        http: Http,
        base_url: &str,
        credentials: OkxCredentials,
        network: Network,
        timeouts: Timeouts,
    ) -> Result<Self, SettlementError> {
        let base = http::base_url("settlement.okx_base_url", base_url)?;
        credentials.check()?;
        Ok(Self {
            http,
            base,
            credentials,
            network,
            timeouts,
            support: SupportCache::default(),
        })
    }

    async fn post(
        &self,
        call: RemoteCall,
        path: &str,
        body: String,
        timeout: Duration,
    ) -> Result<Reply, Cause> {
        let path = format!("{API}{path}");
        let headers = self.credentials.headers(&timestamp(), "POST", &path, &body);
        self.http
            .post(call, http::join(&self.base, &path), headers, body, timeout)
            .await
    }

    /// Sends a signed `GET`. `query` is empty or begins with `?`, and has only characters that need
    /// no escaping.
    async fn get(&self, call: RemoteCall, path: &str, query: &str) -> Result<Reply, Cause> {
        let path = format!("{API}{path}");
        let headers = self
            .credentials
            .headers(&timestamp(), "GET", &format!("{path}{query}"), "");
        let mut url = http::join(&self.base, &path);
        url.set_query(query.strip_prefix('?'));
        self.http
            .get(call, url, headers, self.timeouts.verify)
            .await
    }

    async fn settle_once(&self, payment: &Payment) -> SettleAnswer {
        // The broker stores deferred payments and broadcasts nothing, so there is nothing to wait
        // for.
        let sync_settle = (payment.scheme() == Scheme::Exact).then_some(true);
        let body = self.support.body(payment, sync_settle);
        let settling = self.post(RemoteCall::Settle, "/settle", body, self.timeouts.settle);
        let settled = self.support.beside(payment, self.supported(), settling);
        let opened = settled
            .await
            .and_then(|reply| Ok((reply.status, open(RemoteCall::Settle, &reply)?)));
        match opened {
            Ok((status, Opened::Data(data))) => {
                match serde_json::from_str::<SettleBody>(data.get()) {
                    Ok(body) => body.read(payment, status),
                    Err(_) => answer::unknown(None, malformed(RemoteCall::Settle)),
                }
            }
            Ok((_, Opened::Refused { reason, message })) => answer::refused(reason, message, None),
            Err(cause) => answer::unanswered(cause),
        }
    }

    async fn supported(&self) -> Result<Support, Cause> {
        let reply = self.get(RemoteCall::Supported, "/supported", "").await?;
        match open(RemoteCall::Supported, &reply)? {
            Opened::Data(data) => serde_json::from_str::<SupportedResponse>(data.get())
                .map(|listed| Support::of(&listed, self.network))
                .map_err(|_| malformed(RemoteCall::Supported)),
            Opened::Refused { reason, .. } => Err(Cause::Broker {
                call: RemoteCall::Supported,
                code: reason.as_str().to_owned(),
            }),
        }
    }
}

impl Settler for Okx {
    async fn supports(&self, scheme: Scheme) -> Verification {
        self.support.admits(scheme, self.supported()).await
    }

    async fn verify(&self, payment: &Payment, _committed: U256, _now: u64) -> Verification {
        let supported = self.supports(payment.scheme()).await;
        if supported != Verification::Valid {
            return supported;
        }
        let body = self.support.body(payment, None);
        let verifying = self.post(RemoteCall::Verify, "/verify", body, self.timeouts.verify);
        let verified = self.support.beside(payment, self.supported(), verifying);
        match verified
            .await
            .and_then(|reply| Ok((reply.status, open(RemoteCall::Verify, &reply)?)))
        {
            Ok((status, Opened::Data(data))) => {
                let body = String::from(Box::<str>::from(data)).into();
                answer::verification(payment, &Reply { status, body })
            }
            Ok((_, Opened::Refused { reason, message })) => {
                Verification::Invalid { reason, message }
            }
            Err(cause) => Verification::Unavailable { cause },
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        match self.settle_once(payment).await {
            SettleAnswer::Final(settlement) => settlement,
            SettleAnswer::Pending { transaction, state } if is_hash(&transaction) => {
                self.poll(payment, transaction, state).await
            }
            SettleAnswer::Pending { transaction, state } => Settlement::Unknown {
                transaction: Some(transaction).filter(|text| !text.is_empty()),
                cause: Cause::Pending {
                    call: RemoteCall::Settle,
                    state,
                },
            },
        }
    }

    /// Asks for the state of the known transaction. Without one, or when the broker does not know
    /// it, sends the identical settlement again. When neither decides and the payment's window is
    /// over, the payment stays undecided for ever.
    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        self.look_up(payment, transaction).await.ended(payment, now)
    }

    async fn readiness(&self) -> Readiness {
        self.support.readiness(self.network, self.supported()).await
    }
}

/// Leaves out the URL, which may hold a key.
impl std::fmt::Debug for Okx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Okx")
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

fn malformed(call: RemoteCall) -> Cause {
    Cause::Malformed {
        call,
        detail: Malformation::Json,
    }
}

/// Returns the current time in the form of the broker: ISO 8601 in UTC with milliseconds.
fn timestamp() -> String {
    Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_milliseconds_and_a_z() {
        let text = timestamp();
        assert_eq!(text.len(), "2026-03-30T10:00:00.000Z".len(), "{text}");
        assert!(text.ends_with('Z') && text.as_bytes()[19] == b'.', "{text}");
    }
}
