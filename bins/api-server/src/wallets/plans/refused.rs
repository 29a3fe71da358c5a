//! Maps refusals of plans to those of the port.

use data_sources::Error;
use plan_builder::Refusal;
use wallet_actions::{PlanCause, PlanRefused};

/// Seconds to wait for a rate-limited source that names no time.
const AGAIN_SECONDS: u64 = 5;

/// Maps a refusal of a rail. Keeps its name.
pub(super) fn by_rail(refusal: &Refusal) -> PlanRefused {
    let cause = match refusal.check.as_ref() {
        Refusal::QUOTE_UNAVAILABLE
        | Refusal::QUOTE_STALE
        | Refusal::QUOTE_MALFORMED
        | Refusal::RATE_LIMITED
        | Refusal::ENTROPY_UNAVAILABLE
        | Refusal::SIMULATION_UNAVAILABLE => PlanCause::Unavailable,
        Refusal::CHAIN_UNSUPPORTED
        | Refusal::TOKEN_UNSUPPORTED
        | Refusal::ROUTE_UNSUPPORTED
        | Refusal::QUOTE_REFUSED => PlanCause::NoRoute,
        _ => PlanCause::Refused,
    };
    let compared = refusal.expected.as_ref().zip(refusal.observed.as_ref());
    let message = match compared {
        // An upstream's status is not an expected and observed value of a plan.
        Some((expected, observed)) if cause == PlanCause::Refused => {
            let message = &refusal.message;
            format!("{message}: expected {expected}, observed {observed}")
        }
        _ => refusal.message.clone(),
    };
    PlanRefused {
        cause,
        check: refusal.check.clone().into_owned(),
        message,
        retry_after: refusal.retry_after.map(|after| u64::from(after.get())),
    }
}

/// Maps a refusal of the home chain's adapter.
pub(super) fn by_source(error: &Error) -> PlanRefused {
    let (cause, retry_after) = match error {
        Error::Source(source) => {
            let limited = source.kind.reason() == "upstream_rate_limited";
            let after = source.kind.retry_after();
            let after = after.or(limited.then_some(AGAIN_SECONDS));
            (PlanCause::Unavailable, after)
        }
        Error::NoRoute { .. }
        | Error::NotFound { .. }
        | Error::NotPriced { .. }
        | Error::Request(_) => (PlanCause::NoRoute, None),
        Error::Refused(_) => (PlanCause::Refused, None),
        Error::PriceImpact => (PlanCause::Worth, None),
    };
    PlanRefused {
        cause,
        check: error.code().to_owned(),
        message: error.to_string(),
        retry_after,
    }
}

#[cfg(test)]
mod tests {
    use data_sources::RequestError;
    use plan_builder::ports::{PortError, PortErrorReason};

    use super::*;

    #[test]
    fn each_kind_of_refusal_has_its_cause_and_keeps_its_name() {
        let of = |reason| PortError {
            source_name: "lifi".into(),
            reason,
        };
        let detail = || "no connection".to_owned();
        for (reason, cause, check) in [
            (
                PortErrorReason::Unavailable { detail: detail() },
                PlanCause::Unavailable,
                "quote_unavailable",
            ),
            (
                PortErrorReason::NoRoute { detail: detail() },
                PlanCause::NoRoute,
                "route_unsupported",
            ),
            (
                PortErrorReason::Refused { detail: detail() },
                PlanCause::NoRoute,
                "quote_refused",
            ),
        ] {
            let refused = by_rail(&of(reason).into());
            assert_eq!((refused.cause, refused.check.as_str()), (cause, check));
        }
        let limited = PortErrorReason::RateLimited {
            retry_after: Some(std::time::Duration::from_secs(300)),
        };
        assert_eq!(by_rail(&of(limited).into()).retry_after, Some(300));
        let check = Refusal::new("agg_receiver_account_bound", "another receiver");
        let refused = by_rail(&check.comparing("0x11", "0x22"));
        assert_eq!(refused.cause, PlanCause::Refused);
        assert_eq!(
            refused.to_string(),
            "agg_receiver_account_bound: another receiver: expected 0x11, observed 0x22"
        );
        let refused = by_source(&RequestError::NativeSource.into());
        assert_eq!(
            (refused.cause, refused.check.as_str()),
            (PlanCause::NoRoute, "native_source_token")
        );
    }
}
