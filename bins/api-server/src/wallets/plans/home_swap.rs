//! Swaps on the home chain: the calldata of `POST /swap`, bound to the wallet, plus an approval
//! that this module builds.

use alloy_primitives::U256;
use calldata_checks::{StepKind, step};
use data_sources::SwapRequest;
use serde_json::json;
use wallet_actions::{PlanCause, PlanRefused, PlannedStep, SwapAsk, SwapPlan};

use super::{WalletPlans, refused};

/// The seconds for which a quote may be executed. It ages with every block, and its least output
/// limits the loss.
const LIFE_SECONDS: u64 = 120;

impl WalletPlans {
    pub(super) async fn home_swap(&self, ask: &SwapAsk) -> Result<SwapPlan, PlanRefused> {
        let request = SwapRequest::parse(
            ask.from_token,
            ask.to_token,
            &ask.amount,
            ask.wallet,
            Some(&ask.slippage_pct),
            self.okx.reviewed(),
        )
        .map_err(|error| refused::by_source(&error.into()))?;
        let limits = &self.worth.rules().limits;
        let (impact, _) = limits.of_caller(ask.max_price_impact_bps);
        let request = request.guarded(impact);
        if request.amount != ask.atoms {
            return Err(PlanRefused {
                cause: PlanCause::Refused,
                check: "amount_bound".to_owned(),
                message: format!(
                    "the amount differs in the token's unit: expected {}, observed {}",
                    ask.atoms, request.amount
                ),
                retry_after: None,
            });
        }
        let refuse = |error| {
            self.unreviewed.note(&error, self.clock.now());
            refused::by_source(&error)
        };
        let quote = self.okx.swap(&request).await.map_err(refuse)?.value;
        let worth = self
            .judge_swap(ask, quote.amount_out, quote.stated())
            .await?;
        let approval = self.okx.approval(ask.from_token, ask.atoms);
        let approval = approval.await.map_err(refuse)?.value;
        let reset = step::approval(
            StepKind::ApproveReset,
            ask.from_token,
            approval.spender,
            U256::ZERO,
        );
        let latest = self.now().saturating_add(LIFE_SECONDS).unix();
        Ok(SwapPlan {
            steps: vec![
                super::step(&reset),
                PlannedStep {
                    kind: wallet_actions::StepKind::Approve,
                    to: approval.to,
                    input: approval.data,
                },
                PlannedStep {
                    kind: wallet_actions::StepKind::Call,
                    to: quote.to,
                    input: quote.data,
                },
            ],
            spender: approval.spender,
            quoted: quote.amount_out,
            at_least: quote.min_amount_out,
            valid_until: quote
                .deadline
                .map_or(latest, |deadline| deadline.min(latest)),
            evidence: json!({
                "function": quote.function,
                "receiver": quote.request.user.to_string(),
                "spender": approval.spender.to_string(),
                "reviewed_version": quote.reviewed_version,
                "trailing_bytes": quote.trailing_bytes,
                "price_impact_pct": quote.price_impact_pct,
                "worth": worth,
            }),
        })
    }
}
