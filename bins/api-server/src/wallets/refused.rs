//! Errors of actions that were not begun or had no effect.

use custody::FileFault;
use exact::format_units;
use route_catalog::ErrorCode;
use serde_json::json;
use wallet_actions::{FundsRequired, Intent, PlanCause, PlanRefused, Refused};

use super::view::{held, time};
use crate::reply::ErrorReply;

/// The error codes of the judgement of worth.
const WORTH_CODES: [ErrorCode; 4] = [
    ErrorCode::WorthUnknown,
    ErrorCode::PriceImpactTooHigh,
    ErrorCode::TokenIsHoneypot,
    ErrorCode::TokenTaxTooHigh,
];

/// Seconds to wait for a busy wallet.
const SOON: u64 = 5;

/// The error of an action that was not begun. Nothing was signed, and nothing is charged.
pub(crate) fn refused(refused: &Refused) -> ErrorReply {
    let message = refused.to_string();
    match refused {
        Refused::Funds(required) => funds_required(required),
        Refused::Gas {
            chain_id,
            wallet,
            missing,
            reason,
        } => ErrorReply::new(ErrorCode::FundsRequired, message)
            .detail("reason", *reason)
            .detail("sub_wallet", wallet.to_string())
            .detail("chain_id", *chain_id)
            .detail("gas_wei", missing.to_string()),
        Refused::Nothing { reason, .. } => {
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", *reason)
        }
        Refused::Unsupported { reason, .. } => {
            ErrorReply::new(ErrorCode::Unsupported, message).detail("reason", *reason)
        }
        Refused::Invalid { path, .. } => {
            let problem =
                json!({ "path": format!("body.{path}"), "code": "invalid", "message": message });
            ErrorReply::new(ErrorCode::InvalidParams, message).detail("problems", vec![problem])
        }
        Refused::Plan(plan) => plan_refused(plan),
        Refused::Policy(policy) => ErrorReply::new(ErrorCode::Unsupported, message)
            .detail("reason", "policy_refused")
            .detail("check", policy.code()),
        Refused::NoWallet => ErrorReply::no_sub_wallet(),
        Refused::Busy(running) | Refused::Uncharged(running) => {
            ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", "action_in_flight")
                .detail("intent_id", running.as_str())
                .retry_after(SOON)
        }
        Refused::Unavailable { reason, .. } => {
            tracing::warn!(reason, %refused, "a wallet action cannot begin");
            let reply =
                ErrorReply::new(ErrorCode::UpstreamUnavailable, message).detail("reason", *reason);
            match FileFault::CODES.contains(reason) {
                // Only the operator can repair a wallet's file.
                true => reply.retryable(false),
                false => reply,
            }
        }
        _ => ErrorReply::new(ErrorCode::Internal, message),
    }
}

fn funds_required(required: &FundsRequired) -> ErrorReply {
    let FundsRequired {
        chain_id,
        wallet,
        token,
        missing,
        decimals,
        principal_auth,
    } = required;
    let message = "the sub-wallet lacks funds: send principal_auth, or transfer the token to it";
    ErrorReply::new(ErrorCode::FundsRequired, message)
        .detail("reason", "insufficient_balance")
        .detail("sub_wallet", wallet.to_string())
        .detail("chain_id", *chain_id)
        .detail("token", token.to_string())
        .detail("amount", format_units(*missing, *decimals))
        .detail("amount_atoms", missing.to_string())
        .detail("principal_auth", principal_auth.clone().unwrap_or_default())
}

fn plan_refused(plan: &PlanRefused) -> ErrorReply {
    if let (PlanCause::Worth, Some(code)) = (plan.cause, worth_code(&plan.check)) {
        let error = ErrorReply::new(code, plan.message.clone());
        return match plan.retry_after {
            Some(seconds) => error.retry_after(seconds),
            None => error,
        };
    }
    let code = match plan.cause {
        PlanCause::Unavailable => ErrorCode::UpstreamUnavailable,
        PlanCause::NoRoute => ErrorCode::NotFound,
        PlanCause::Refused | PlanCause::Worth => ErrorCode::Unsupported,
    };
    let reason = match plan.cause {
        PlanCause::Unavailable => "quote_unavailable",
        PlanCause::NoRoute => "no_route",
        PlanCause::Refused | PlanCause::Worth => "check_failed",
    };
    let error = ErrorReply::new(code, plan.message.clone())
        .detail("reason", reason)
        .detail("check", plan.check.clone());
    match plan.retry_after {
        Some(seconds) => error.retry_after(seconds),
        None => error,
    }
}

/// The error of an action that is held up and has had no effect. `None` when nothing holds it up,
/// or when it has had one. The action continues, and is charged when one of its transactions is in
/// a block.
pub(crate) fn still_held(intent: &Intent) -> Option<ErrorReply> {
    let held = held(intent).filter(|_| !intent.has_effect())?;
    let message = format!(
        "no transaction of the action is in a block yet: {}. It continues, and is charged only then",
        held.reason
    );
    let error = ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
        .detail("reason", held.reason.clone())
        .detail("intent_id", intent.id.as_str())
        .detail("sub_wallet", intent.wallet.to_string())
        .detail("held_since", time(held.since));
    Some(match held.until {
        Some(until) => error.detail("held_until", time(until)),
        None => error,
    })
}

/// The error code of a judgement of worth, by its name.
fn worth_code(name: &str) -> Option<ErrorCode> {
    let mut codes = WORTH_CODES.into_iter();
    codes.find(|code| code.code() == name)
}

/// The error of an action that ended without effect.
pub(crate) fn without_effect(intent: &Intent) -> ErrorReply {
    let reason = intent
        .halted
        .clone()
        .unwrap_or_else(|| "not_begun_in_time".to_owned());
    let code = match reason.as_str() {
        "no_gas_account"
        | "gas_budget_exhausted"
        | "gas_topup_too_large"
        | "coin_price_unavailable" => ErrorCode::FundsRequired,
        "step_would_revert" | "preview_below_minimum" | "gas_too_high" => ErrorCode::Unsupported,
        _ => ErrorCode::UpstreamUnavailable,
    };
    let message = match reason.as_str() {
        "coin_price_unavailable" => "the action did nothing: the price of the chain's coin is \
             unavailable, and at the highest price that is assumed instead, a budget does not cover the gas"
            .to_owned(),
        _ => format!("the action did nothing: {reason}"),
    };
    ErrorReply::new(code, message)
        .detail("reason", reason)
        .detail("intent_id", intent.id.as_str())
        .detail("sub_wallet", intent.wallet.to_string())
}
