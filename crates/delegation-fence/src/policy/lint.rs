//! Advice for the author of a policy.

use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call;

use alloy_sol_types::SolCall as _;

use super::{DAY, Policy};

/// One remark about a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// A stable name.
    pub code: &'static str,
    /// The advice, in one sentence.
    pub message: String,
}

pub(super) fn lint(policy: &Policy) -> Vec<Advice> {
    let mut advice = Vec::new();
    let mut note = |code, message: String| advice.push(Advice { code, message });
    for shape in policy.shapes() {
        if shape.selector != swapTokensMultipleV3ERC20ToERC20Call::SELECTOR {
            note(
                "shape_without_fee_leg",
                format!(
                    "{} has room for one leg only, so that no plan with a fee can have this shape",
                    shape.selector
                ),
            );
        }
    }
    if policy.integrator().is_none() {
        note(
            "integrator_not_named",
            "without `integrator` a plan under another integrator string lies inside the policy"
                .to_owned(),
        );
    }
    if policy.document.output_tokens.is_none() {
        note(
            "output_tokens_not_named",
            "without `output_tokens` no swap lies inside the policy, and no server starts with it"
                .to_owned(),
        );
    }
    let (default_days, max_days) = (
        policy.default_grant_seconds() / DAY,
        policy.max_grant_seconds() / DAY,
    );
    if default_days > 90 {
        note(
            "long_default_life",
            format!("grants live {default_days} days by default, where 90 are usual"),
        );
    }
    if max_days > default_days.saturating_mul(4) {
        note(
            "wide_span_of_lives",
            format!(
                "a grant may live {max_days} days, which is far above the default of {default_days}"
            ),
        );
    }
    if &*policy.document.environment != "mainnet" {
        note(
            "not_mainnet",
            format!("the environment is {}", policy.document.environment),
        );
    }
    advice
}
