//! A request that carries a payment.

use std::net::IpAddr;

use bytes::Bytes;
use http_edge::RequestId;
use ledger::RequestBinding;
use route_catalog::{Operation, Problem};
use x402_wire::{AuthorizationKey, PaymentPayload};

/// A request that carries a payment: all of it that decisions need, and none of the connection.
#[derive(Debug)]
pub(crate) struct PaidCall {
    pub(crate) request_id: RequestId,
    pub(crate) operation: Operation,
    pub(crate) query: Option<String>,
    pub(crate) body: Bytes,
    /// The header `X-Max-Age`, or what is wrong with it.
    pub(crate) max_age: Result<Option<u64>, Problem>,
    /// Where the request comes from, for shares of those who have no credit.
    pub(crate) client: Option<IpAddr>,
    /// The request without the payment.
    pub(crate) request: RequestBinding,
    /// The request with the payment's signature and identifier.
    pub(crate) binding: RequestBinding,
    /// The authorization as the payment itself names it; `None` when its network has no chain id.
    pub(crate) key: Option<AuthorizationKey>,
    /// The authorization's `validBefore`, in unix seconds.
    pub(crate) valid_before: u64,
}

impl PaidCall {
    /// The call that a payment makes of a request.
    pub(crate) fn new(request: Request, payload: &PaymentPayload) -> Self {
        let Request {
            request_id,
            operation,
            query,
            body,
            max_age,
            client,
            binding,
        } = request;
        let signature = payload.signature().as_str();
        Self {
            request_id,
            operation,
            query,
            body,
            max_age,
            client,
            binding: binding.clone().for_payment(signature, payload.payment_id()),
            request: binding,
            key: payload.authorization_key(),
            valid_before: u64::try_from(payload.authorization().valid_before).unwrap_or(u64::MAX),
        }
    }
}

/// A request for a paid operation, its body read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) request_id: RequestId,
    pub(crate) operation: Operation,
    pub(crate) query: Option<String>,
    pub(crate) body: Bytes,
    pub(crate) max_age: Result<Option<u64>, Problem>,
    pub(crate) client: Option<IpAddr>,
    pub(crate) binding: RequestBinding,
}
