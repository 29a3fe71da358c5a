//! The steps of an EVM plan, and their decoded approvals. Every rail with transactions has these
//! three steps; the rail decodes the third.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;

use crate::{Failure, Observed, Verdict, Violation, abi};

sol! {
    /// ERC-20.
    function approve(address spender, uint256 amount) external returns (bool);
}

/// One transaction of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// The step's purpose.
    pub kind: StepKind,
    /// The recipient of the transaction.
    pub to: Address,
    /// Native coin that the step carries, in wei.
    pub value: U256,
    /// Calldata.
    pub data: Bytes,
}

/// The purpose of a step. A plan has the steps in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// Sets the allowance to zero.
    ApproveReset,
    /// Sets the allowance to the amount.
    Approve,
    /// The call itself.
    Call,
}

impl StepKind {
    /// Every kind, in the order of a plan.
    pub const ALL: [Self; 3] = [Self::ApproveReset, Self::Approve, Self::Call];

    /// The name in an envelope.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApproveReset => "approve_reset",
            Self::Approve => "approve",
            Self::Call => "call",
        }
    }
}

/// A decoded approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Allowance {
    /// The token: the recipient of the step.
    pub token: Address,
    /// The account that may spend.
    pub spender: Address,
    /// The amount, in the token's smallest unit.
    pub amount: U256,
    /// Native coin that the step carries, in wei.
    pub value: U256,
}

/// The three steps of a plan, with the two approvals decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// The first step.
    pub reset: Allowance,
    /// The second step.
    pub approve: Allowance,
    /// The third step. A rail decodes its bytes.
    pub call: Step,
}

/// The name of the check of the steps' order and kinds.
pub const RESET_ORDER: &str = "erc20_allowance_reset_ordered";

impl Steps {
    /// Decodes the steps of a plan: exactly three, of the three kinds, in order. The first two must
    /// be canonical `approve(address,uint256)`.
    ///
    /// # Errors
    /// `erc20_allowance_reset_ordered`
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{U256, address};
    /// use calldata_checks::{Step, StepKind, Steps, step::approval};
    ///
    /// let token = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    /// let router = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
    /// let call = Step { kind: StepKind::Call, to: router, value: U256::ZERO, data: [0x5f, 0xd9, 0xae, 0x2e].into() };
    /// let reset = approval(StepKind::ApproveReset, token, router, U256::ZERO);
    /// let approve = approval(StepKind::Approve, token, router, U256::from(1_000));
    /// let steps = Steps::decode(&[reset, approve.clone(), call.clone()])?;
    /// assert!(steps.judge_reset_order().is_ok());
    /// let uncleared = Steps { reset: steps.approve, ..steps };
    /// assert_eq!(uncleared.judge_reset_order().unwrap_err().observed, "1000");
    ///
    /// let refused = Steps::decode(&[approve, call]).unwrap_err();
    /// assert_eq!(refused.check, "erc20_allowance_reset_ordered");
    /// assert_eq!(refused.violation.message, "a plan has exactly three steps");
    /// # Ok::<(), calldata_checks::Failure>(())
    /// ```
    pub fn decode(steps: &[Step]) -> Result<Self, Failure> {
        let refuse = |violation| Failure::new(RESET_ORDER, violation);
        let [reset, approve, call] = steps else {
            return Err(refuse(Violation::new(
                "a plan has exactly three steps",
                3,
                steps.len(),
            )));
        };
        for (step, kind) in steps.iter().zip(StepKind::ALL) {
            if step.kind != kind {
                return Err(refuse(Violation::new(
                    "the steps are not in their order",
                    kind.as_str(),
                    step.kind.as_str(),
                )));
            }
        }
        let allowance = |step: &Step| {
            let call = abi::decode_call::<approveCall>(&step.data).map_err(|error| {
                refuse(Violation::new(
                    "an approval step is not a canonical approve(address,uint256)",
                    "approve(address,uint256)",
                    error,
                ))
            })?;
            Ok(Allowance {
                token: step.to,
                spender: call.spender,
                amount: call.amount,
                value: step.value,
            })
        };
        Ok(Self {
            reset: allowance(reset)?,
            approve: allowance(approve)?,
            call: call.clone(),
        })
    }

    /// Checks that the allowance is cleared to zero before the new one is set, on the same token
    /// for the same spender, and that none of the three steps carries native coin.
    ///
    /// # Errors
    /// The part that differs.
    pub fn judge_reset_order(&self) -> Verdict {
        if !self.reset.amount.is_zero() {
            return Err(Violation::new(
                "the first approval does not clear the allowance",
                0,
                self.reset.amount,
            ));
        }
        if self.reset.token != self.approve.token {
            return Err(Violation::new(
                "the two approvals are for different tokens",
                self.approve.token,
                self.reset.token,
            ));
        }
        if self.reset.spender != self.approve.spender {
            return Err(Violation::new(
                "the two approvals are for different spenders",
                self.approve.spender,
                self.reset.spender,
            ));
        }
        Ok(Observed::fixed("approve 0, approve amount, call"))
    }
}

/// Makes the canonical approval step.
///
/// # Example
/// ```
/// use alloy_primitives::{U256, address};
/// use calldata_checks::{StepKind, abi::selector_text, step::approval};
///
/// let token = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
/// let router = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
/// let step = approval(StepKind::Approve, token, router, U256::from(1_000));
/// assert_eq!((step.to, selector_text(&step.data)), (token, "0x095ea7b3".to_owned()));
/// ```
#[must_use]
pub fn approval(kind: StepKind, token: Address, spender: Address, amount: U256) -> Step {
    use alloy_sol_types::SolCall as _;
    Step {
        kind,
        to: token,
        value: U256::ZERO,
        data: approveCall { spender, amount }.abi_encode().into(),
    }
}
