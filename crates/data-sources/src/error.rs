//! The errors of this crate: what kept an upstream from giving a value, in terms that callers and
//! operators can act on. No error carries a key, a header or a URL.

use alloy_primitives::Address;
use calldata_checks::okx::Refusal;

use exact::DecimalError;

use crate::slippage::SlippageError;

/// The reason why an operation gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An upstream did not give a usable answer.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The upstream answered and has no price for the token.
    #[error("no price is known for token {token}")]
    NotPriced {
        /// The token asked for.
        token: Address,
    },
    /// The upstream answered that it has no route for this swap.
    #[error("no route for this swap (upstream code {code})")]
    NoRoute {
        /// The upstream's code.
        code: String,
    },
    /// The aggregator's own guard refused the swap: it would lose more than the limit.
    #[error("the aggregator refuses the swap, because it would lose more than the limit")]
    PriceImpact,
    /// The upstream answered that the requested thing does not exist.
    #[error("{message}")]
    NotFound {
        /// Stable reason: `symbol_not_found`, `tx_not_found`, `no_results` and the like.
        reason: &'static str,
        /// The missing thing, in words.
        message: String,
    },
    /// The caller's request cannot be served unchanged.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The upstream's answer failed a check of ours.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Error {
    /// Stable code of this error; for a wrapped error, its code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Source(error) => error.kind.code(),
            Self::NotPriced { .. } => "token_not_priced",
            Self::NoRoute { .. } => "no_route",
            Self::PriceImpact => "price_impact_too_high",
            Self::NotFound { reason, .. } => reason,
            Self::Request(error) => error.code(),
            Self::Refused(refusal) => refusal.code(),
        }
    }
}

impl Error {
    /// The text of `meta.unavailable[].reason`: the code with the one detail that matters.
    pub fn reason(&self) -> String {
        match self {
            Self::Source(error) => error.kind.reason(),
            other => other.code().to_owned(),
        }
    }

    /// The source that failed, when one did.
    pub fn source_id(&self) -> Option<&'static str> {
        match self {
            Self::Source(error) => Some(error.source),
            _ => None,
        }
    }
}

/// A swap or approval request that is refused before any upstream is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The source token is the chain's native coin.
    #[error("the native coin cannot be the source token, only an ERC-20 token can")]
    NativeSource,
    /// The source token is not one of the configured ones.
    #[error("source token {observed} is not accepted")]
    SourceToken {
        /// The token asked for.
        observed: Address,
    },
    /// Source and target are the same token.
    #[error("source and target are the same token")]
    SameToken,
    /// An address is the zero address.
    #[error("the zero address is not a valid {field}")]
    ZeroAddress {
        /// The field of the address.
        field: &'static str,
    },
    /// The amount is not exact in the token's unit.
    #[error("amount: {0}")]
    Amount(DecimalError),
    /// The amount is zero.
    #[error("amount: zero")]
    ZeroAmount,
    /// The slippage is not usable.
    #[error("slippage: {0}")]
    Slippage(SlippageError),
}

impl RequestError {
    /// Stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NativeSource => "native_source_token",
            Self::SourceToken { .. } => "source_token_not_accepted",
            Self::SameToken => "same_token",
            Self::ZeroAddress { .. } => "zero_address",
            Self::Amount(error) => match error {
                DecimalError::ExcessDigits { .. } => "amount_excess_digits",
                DecimalError::Overflow => "amount_overflow",
                _ => "amount_format",
            },
            Self::ZeroAmount => "amount_zero",
            Self::Slippage(_) => "slippage_invalid",
        }
    }

    /// The field of the request that is wrong, by the name of its parameter.
    pub fn field(&self) -> &'static str {
        match self {
            Self::NativeSource | Self::SourceToken { .. } => "fromToken",
            Self::SameToken => "toToken",
            Self::ZeroAddress { field } => field,
            Self::Amount(_) | Self::ZeroAmount => "amount",
            Self::Slippage(_) => "slippage",
        }
    }
}

/// An upstream that gave no usable answer. Carries no URL, header or key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source}: {kind}")]
pub struct SourceError {
    /// The name of the source, for example `okx.swap`.
    pub source: &'static str,
    /// The kind of failure.
    #[source]
    pub kind: SourceErrorKind,
}

/// The reason why an upstream gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceErrorKind {
    /// No complete answer arrived within the time limit, retries included.
    #[error("no answer within {limit_ms} ms")]
    Timeout {
        /// The time limit, in milliseconds.
        limit_ms: u64,
    },
    /// The connection could not be made, or it broke.
    #[error("not reachable")]
    Unreachable,
    /// A status other than 2xx, 402 and 429.
    #[error("http status {status}{}", .code.as_deref().map(|c| format!(" (code {c})")).unwrap_or_default())]
    HttpStatus {
        /// Status observed.
        status: u16,
        /// The code inside the body, when it has one.
        code: Option<String>,
    },
    /// The upstream asks for fewer calls.
    #[error("rate limited")]
    RateLimited {
        /// Seconds to wait, when the upstream said so.
        retry_after: Option<u64>,
    },
    /// Our own budget for the upstream is spent. No request was sent.
    #[error("not asked: the budget for it is spent for another {retry_after} s")]
    OverBudget {
        /// Seconds until the budget has room for this call.
        retry_after: u64,
    },
    /// The quota of the day or the month is spent, or ahead of its pace. No request was sent.
    #[error("not asked: its quota is spent for another {retry_after} s")]
    QuotaSpent {
        /// Seconds until the next call is due.
        retry_after: u64,
    },
    /// The upstream asks to be paid (HTTP 402): a plan has expired, or its quota is exhausted.
    #[error("asks to be paid; the next try is in {retry_after} s")]
    PaymentRequired {
        /// Seconds until the upstream is asked again.
        retry_after: u64,
    },
    /// A failure reported inside a successful HTTP answer.
    #[error("business code {code}: {message}")]
    Business {
        /// The upstream's code.
        code: String,
        /// Its message, cleaned and shortened. Untrusted text.
        message: String,
    },
    /// The body breaks the interface's contract.
    #[error("malformed answer at {path}: expected {expected}, got {observed}")]
    Malformed {
        /// Place in the body, as a JSON path.
        path: String,
        /// The expected form.
        expected: &'static str,
        /// The observed value, cleaned and shortened. Untrusted text.
        observed: String,
    },
    /// The body has another type than the request asked for.
    #[error("content type {observed:?} instead of {expected}")]
    WrongContentType {
        /// The kind of body that the request asked for.
        expected: &'static str,
        /// Type observed, cleaned and shortened.
        observed: String,
    },
    /// The body exceeds the limit.
    #[error("body larger than {limit} bytes")]
    TooLarge {
        /// Limit in bytes, after decompression.
        limit: usize,
    },
    /// The upstream failed too often in a row and is not asked for a while.
    #[error("not asked after repeated failures; the next try is in {retry_after} s")]
    CircuitOpen {
        /// Seconds until the next try.
        retry_after: u64,
    },
    /// A newer value is being fetched, and the caller did not wait for it.
    #[error("a newer answer is being fetched")]
    Refreshing,
    /// The source is switched off or has no key.
    #[error("disabled: {reason}")]
    Disabled {
        /// The reason why it is disabled.
        reason: &'static str,
    },
}

impl SourceErrorKind {
    /// Stable code of this kind.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "upstream_timeout",
            Self::Unreachable => "upstream_unreachable",
            Self::HttpStatus { .. } => "upstream_http_status",
            Self::RateLimited { .. } => "upstream_rate_limited",
            Self::OverBudget { .. } => "upstream_over_budget",
            Self::QuotaSpent { .. } => "upstream_quota_spent",
            Self::PaymentRequired { .. } => "upstream_payment_required",
            Self::Business { .. } => "upstream_business",
            Self::Malformed { .. } => "upstream_malformed",
            Self::WrongContentType { .. } => "upstream_wrong_content_type",
            Self::TooLarge { .. } => "upstream_too_large",
            Self::CircuitOpen { .. } => "upstream_circuit_open",
            Self::Refreshing => "refreshing",
            Self::Disabled { .. } => "upstream_disabled",
        }
    }

    /// Seconds after which another request can help, where that is known.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after } => *retry_after,
            Self::OverBudget { retry_after }
            | Self::QuotaSpent { retry_after }
            | Self::PaymentRequired { retry_after }
            | Self::CircuitOpen { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// Whether our own budget or quota stopped the call. It may have room for another caller.
    pub(crate) fn is_own_limit(&self) -> bool {
        matches!(self, Self::OverBudget { .. } | Self::QuotaSpent { .. })
    }

    /// Whether a limit, a quota or a pause stopped the call before it was sent.
    pub(crate) fn is_kept_back(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::OverBudget { .. }
                | Self::QuotaSpent { .. }
                | Self::PaymentRequired { .. }
        )
    }

    /// The code with the one detail for `meta.sources[].reason`: `upstream_http_403`,
    /// `upstream_business_82000`, otherwise the code.
    pub fn reason(&self) -> String {
        match self {
            Self::HttpStatus { status, .. } => format!("upstream_http_{status}"),
            Self::Business { code, .. } => format!("upstream_business_{code}"),
            other => other.code().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_follow_the_house_style() {
        let errors = [
            SourceErrorKind::Timeout { limit_ms: 10 },
            SourceErrorKind::Unreachable,
            SourceErrorKind::HttpStatus {
                status: 401,
                code: Some("50113".into()),
            },
            SourceErrorKind::HttpStatus {
                status: 503,
                code: None,
            },
            SourceErrorKind::RateLimited {
                retry_after: Some(1),
            },
            SourceErrorKind::OverBudget { retry_after: 1 },
            SourceErrorKind::QuotaSpent { retry_after: 1 },
            SourceErrorKind::PaymentRequired { retry_after: 1 },
            SourceErrorKind::TooLarge { limit: 1 },
            SourceErrorKind::Disabled { reason: "no key" },
        ];
        for kind in errors {
            let text = SourceError {
                source: "okx.swap",
                kind,
            }
            .to_string();
            assert!(
                text.starts_with("okx.swap: ") && !text.ends_with('.'),
                "{text}"
            );
        }
        let status = SourceErrorKind::HttpStatus {
            status: 401,
            code: Some("50113".into()),
        };
        assert_eq!(status.to_string(), "http status 401 (code 50113)");
        assert_eq!(status.reason(), "upstream_http_401");
    }
}
