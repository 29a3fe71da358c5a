//! A request that carries a payment.

use std::net::IpAddr;

use bytes::Bytes;
use http_edge::RequestId;
use ledger::RequestBinding;
use route_catalog::{Operation, Problem};
use x402_wire::{
    Authorization, AuthorizationKey, MAX_WINDOW_SECONDS, Payment, PaymentPayload, Scheme,
};

/// A request for a paid operation with its body: everything that the decisions need, and nothing of
/// the connection.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) operation: Operation,
    pub(crate) query: Option<String>,
    pub(crate) body: Bytes,
    /// The header `X-Max-Age`, or the problem with it.
    pub(crate) max_age: Result<Option<u64>, Problem>,
    /// The client's address, for the shares of callers without credit.
    pub(crate) client: Option<IpAddr>,
    /// The binding of a payment for the request, still without the payment's signature and
    /// identifier.
    pub(crate) binding: RequestBinding,
}

/// A request and the payment that came with it.
#[derive(Debug)]
pub(crate) struct PaidCall {
    pub(crate) request: Request,
    /// The request with the payment's signature and identifier.
    pub(crate) binding: RequestBinding,
    /// The authorization as the payment itself names it; `None` when its network has no chain id.
    pub(crate) presented: Option<Presented>,
    /// Whether the payment carries an identifier that the caller chose.
    pub(super) is_identified: bool,
}

impl Request {
    /// Whether its answer is about the payer's own wallet.
    pub(super) fn is_private(&self) -> bool {
        self.operation.is_private(self.query.as_deref(), &self.body)
    }
}

impl PaidCall {
    /// Makes the call from a request and its payment.
    pub(crate) fn new(request: Request, payload: &PaymentPayload) -> Self {
        let signature = payload.signature().as_str();
        let binding = request.binding.clone();
        Self {
            binding: binding.for_payment(signature, payload.payment_id()),
            presented: Presented::by(payload),
            is_identified: payload.payment_id().is_some(),
            request,
        }
    }

    /// The key of the authorization in the journal.
    pub(super) fn key(&self) -> Option<AuthorizationKey> {
        self.presented.as_ref().map(|presented| presented.key)
    }
}

/// A presented authorization, whether it matches an option or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presented {
    pub(super) key: AuthorizationKey,
    pub(super) authorization: Authorization,
    /// Whether the authorization itself moves the money. In the other scheme, a batch of the
    /// broker's does.
    pub(super) is_exact: bool,
}

impl Presented {
    fn by(payload: &PaymentPayload) -> Option<Self> {
        Some(Self {
            key: payload.authorization_key()?,
            authorization: *payload.authorization(),
            is_exact: payload.accepted().scheme == Scheme::Exact.as_str(),
        })
    }

    /// The authorization of a payment.
    pub(super) fn of(payment: &Payment) -> Self {
        Self {
            key: payment.key(),
            authorization: *payment.authorization(),
            is_exact: payment.scheme() == Scheme::Exact,
        }
    }

    /// Whether it lasts longer than any `exact` authorization may. The wallets of `aggr_deferred`
    /// sign no end.
    pub(super) fn has_no_end(&self, now: u64) -> bool {
        !self.is_exact && self.ends_at() > now.saturating_add(MAX_WINDOW_SECONDS)
    }

    /// The end of its window, in Unix seconds.
    pub(super) fn ends_at(&self) -> u64 {
        u64::try_from(self.authorization.valid_before).unwrap_or(u64::MAX)
    }
}
