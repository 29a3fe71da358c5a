//! Settles through any facilitator of x402 v2 over HTTP.

use alloy_primitives::U256;
use reqwest::Url;
use reqwest::header::HeaderMap;
use x402_wire::facilitator::SupportedResponse;
use x402_wire::{Network, Payment, Scheme};

use crate::answer::{self, SettleAnswer};
use crate::http::{self, Http};
use crate::support::{Support, SupportCache};
use crate::{
    Cause, Readiness, Reconciliation, RemoteCall, Settlement, SettlementError, Settler, Timeouts,
    Verification,
};

/// A facilitator of x402 v2 (section 7): `POST /verify`, `POST /settle`, `GET /supported`.
///
/// It sends no request before the first payment. So a server can start while its facilitator is
/// down.
pub struct Facilitator {
    http: Http,
    verify_url: Url,
    settle_url: Url,
    supported_url: Url,
    network: Network,
    timeouts: Timeouts,
    support: SupportCache,
}

impl Facilitator {
    /// Makes the settler of the facilitator at `base_url`. If the URL has a path, every request
    /// begins with it.
    ///
    /// # Errors
    /// [`SettlementError::Url`] or [`SettlementError::Client`].
    pub fn new(
        base_url: &str,
        network: Network,
        timeouts: Timeouts,
    ) -> Result<Self, SettlementError> {
        Self::with_http(Http::new(timeouts.connect)?, base_url, network, timeouts)
    }

    pub(crate) fn with_http(
        http: Http,
        base_url: &str,
        network: Network,
        timeouts: Timeouts,
    ) -> Result<Self, SettlementError> {
        let base = http::base_url("settlement.facilitator_url", base_url)?;
        Ok(Self {
            http,
            verify_url: http::join(&base, "/verify"),
            settle_url: http::join(&base, "/settle"),
            supported_url: http::join(&base, "/supported"),
            network,
            timeouts,
            support: SupportCache::default(),
        })
    }

    async fn settle_once(&self, payment: &Payment, body: &str) -> SettleAnswer {
        let reply = self
            .http
            .post(
                RemoteCall::Settle,
                self.settle_url.clone(),
                HeaderMap::new(),
                body.to_owned(),
                self.timeouts.settle,
            )
            .await;
        match reply {
            Ok(reply) => answer::settlement(payment, &reply),
            Err(cause) => answer::unanswered(cause),
        }
    }

    async fn supported(&self) -> Result<Support, Cause> {
        let url = self.supported_url.clone();
        let reply = self
            .http
            .get(
                RemoteCall::Supported,
                url,
                HeaderMap::new(),
                self.timeouts.verify,
            )
            .await?;
        if reply.status >= 500 {
            return Err(Cause::Status {
                call: RemoteCall::Supported,
                status: reply.status,
            });
        }
        // An answer that is no list of supported kinds counts as an empty list.
        Ok(
            serde_json::from_slice::<SupportedResponse>(&reply.body).map_or_else(
                |_| Support::default(),
                |listed| Support::of(&listed, self.network),
            ),
        )
    }
}

impl Settler for Facilitator {
    async fn supports(&self, scheme: Scheme) -> Verification {
        self.support.admits(scheme, self.supported()).await
    }

    async fn verify(&self, payment: &Payment, _committed: U256, _now: u64) -> Verification {
        let supported = self.supports(payment.scheme()).await;
        if supported != Verification::Valid {
            return supported;
        }
        let body = self.support.body(payment, None);
        let verifying = self.http.post(
            RemoteCall::Verify,
            self.verify_url.clone(),
            HeaderMap::new(),
            body,
            self.timeouts.verify,
        );
        let verified = self.support.beside(payment, self.supported(), verifying);
        match verified.await {
            Ok(reply) => answer::verification(payment, &reply),
            Err(cause) => Verification::Unavailable { cause },
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        let body = self.support.body(payment, None);
        let settling = self.settle_once(payment, &body);
        let settled = self.support.beside(payment, self.supported(), settling);
        let (transaction, state) = match settled.await {
            SettleAnswer::Final(settlement) => return settlement,
            SettleAnswer::Pending { transaction, state } => (transaction, state),
        };
        tracing::info!(key = %payment.key(), %transaction, %state, "settlement pending, asking once more");
        // Sends the identical request once more, as the reference servers do. Only a success
        // decides: a refusal may come from the first transaction.
        match self.settle_once(payment, &body).await {
            SettleAnswer::Final(settled @ Settlement::Settled(_)) => settled,
            _ => Settlement::Unknown {
                transaction: Some(transaction),
                cause: Cause::Pending {
                    call: RemoteCall::Settle,
                    state,
                },
            },
        }
    }

    /// Sends the identical settlement again, because x402 v2 has no query of a state. A refusal
    /// such as "already used" leaves the payment undecided: the money may have moved by the first
    /// attempt or by a second facilitator, or a cancellation may have prevented it. Only the chain
    /// can tell. When the payment's window is over, the payment is undecidable.
    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        answer::after_resend(self.settle(payment).await, transaction).ended(payment, now)
    }

    async fn readiness(&self) -> Readiness {
        self.support.readiness(self.network, self.supported()).await
    }
}

/// Leaves out the URLs, which may hold a key.
impl std::fmt::Debug for Facilitator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facilitator")
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}
