//! Compares the decoded calldata with the request and the reviewed set. Nothing is repaired, and
//! the first difference is the refusal.

use alloy_primitives::{Address, U256};

use super::{Receiver, Refusal, ReviewedContracts, SlippageTolerance, SwapFacts, decode};
use crate::{abi, step::approveCall};

/// The requested swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwapAsked {
    /// The wallet that signs, sends and receives.
    pub account: Address,
    /// Token to spend.
    pub from_token: Address,
    /// Token to receive; [`NATIVE_COIN`](super::NATIVE_COIN) for the native coin.
    pub to_token: Address,
    /// Amount to spend, in the unit of `from_token`.
    pub amount: U256,
    /// The most that the output may fall below the quoted one.
    pub slippage: SlippageTolerance,
}

/// The transaction that a quote offers, with the two amounts that the quote states about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedCall<'a> {
    /// Call target.
    pub to: Address,
    /// The sender that the transaction was built for.
    pub from: Address,
    /// Native coin that the transaction carries, in wei.
    pub value: U256,
    /// Calldata.
    pub data: &'a [u8],
    /// The output that the quote expects, in the output token's unit.
    pub quoted_output: U256,
    /// The least output that the quote names.
    pub min_output: U256,
}

/// Decodes the calldata of `offered` and compares it with `asked`. Returns the facts when every
/// comparison holds.
///
/// # Errors
/// The [`Refusal`] that names the first comparison that fails.
pub(super) fn bind(
    offered: &OfferedCall<'_>,
    asked: &SwapAsked,
    reviewed: &ReviewedContracts,
    now: u64,
) -> Result<SwapFacts, Refusal> {
    if !reviewed.routers.contains(&offered.to) {
        return Err(Refusal::RouterUnreviewed {
            observed: offered.to,
        });
    }
    if !offered.value.is_zero() {
        return Err(Refusal::ValueNotZero {
            observed: offered.value,
        });
    }
    if offered.from != asked.account {
        return Err(Refusal::SenderMismatch {
            expected: asked.account,
            observed: offered.from,
        });
    }
    let facts = decode(offered.data)?;
    if !reviewed.selectors.contains(&facts.selector) {
        return Err(Refusal::SelectorUnreviewed {
            observed: facts.selector,
        });
    }
    // `Receiver::Sender` is the account: the sender is compared above. The router also reads the
    // zero address as the sender; an answer that means the account does not write it.
    match facts.receiver {
        Receiver::Address(receiver) if receiver != asked.account => {
            return Err(Refusal::ReceiverMismatch {
                expected: asked.account,
                observed: receiver,
            });
        }
        _ => {}
    }
    match facts.input_token {
        Some(observed) if observed != asked.from_token => {
            return Err(Refusal::InputTokenMismatch {
                expected: asked.from_token,
                observed,
            });
        }
        Some(_) => {}
        None => {
            return Err(Refusal::InputTokenUnproven {
                function: facts.function,
            });
        }
    }
    match facts.output_token {
        Some(observed) if observed != asked.to_token => {
            return Err(Refusal::OutputTokenMismatch {
                expected: asked.to_token,
                observed,
            });
        }
        Some(_) => {}
        None => {
            return Err(Refusal::OutputTokenUnproven {
                function: facts.function,
            });
        }
    }
    if facts.amount != asked.amount {
        return Err(Refusal::AmountMismatch {
            expected: asked.amount,
            observed: facts.amount,
        });
    }
    outputs(&facts, offered, asked)?;
    deadline(&facts, reviewed, now)?;
    Ok(facts)
}

fn outputs(facts: &SwapFacts, offered: &OfferedCall<'_>, asked: &SwapAsked) -> Result<(), Refusal> {
    let floor = asked
        .slippage
        .floor_of(offered.quoted_output)
        .filter(|floor| !floor.is_zero())
        .ok_or(Refusal::QuoteOutput {
            observed: offered.quoted_output,
        })?;
    if facts.min_output < floor {
        return Err(Refusal::MinOutputBelowFloor {
            floor,
            observed: facts.min_output,
        });
    }
    if facts.min_output != offered.min_output {
        return Err(Refusal::MinOutputMismatch {
            stated: offered.min_output,
            observed: facts.min_output,
        });
    }
    match &facts.trim {
        Some(trim) if trim.above < offered.quoted_output => Err(Refusal::TrimBelowQuote {
            quoted: offered.quoted_output,
            observed: trim.above,
        }),
        _ => Ok(()),
    }
}

fn deadline(facts: &SwapFacts, reviewed: &ReviewedContracts, now: u64) -> Result<(), Refusal> {
    let Some(observed) = facts.deadline else {
        return Ok(());
    };
    if observed <= U256::from(now) {
        return Err(Refusal::DeadlinePast { now, observed });
    }
    let latest = now.saturating_add(reviewed.max_deadline_seconds);
    if observed > U256::from(latest) {
        return Err(Refusal::DeadlineAbsurd { latest, observed });
    }
    Ok(())
}

/// An approval that the aggregator offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedApproval<'a> {
    /// The spender that the answer names beside the calldata.
    pub spender: Address,
    /// Calldata.
    pub data: &'a [u8],
}

/// Checks that an approval names the reviewed spender, and that its calldata is exactly
/// `approve(spender, amount)`, without a byte before or after.
///
/// # Errors
/// [`Refusal::SpenderUnreviewed`], [`Refusal::ApprovalCalldata`] or [`Refusal::ApprovalAmount`].
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use alloy_sol_types::SolCall as _;
/// use calldata_checks::okx::{OfferedApproval, Refusal, ReviewedContracts, judge_approval};
/// use calldata_checks::step::approveCall;
///
/// let reviewed = ReviewedContracts::default();
/// let amount = U256::from(12_500_000);
/// let data = approveCall { spender: reviewed.spender, amount }.abi_encode();
/// let offered = OfferedApproval { spender: reviewed.spender, data: &data };
/// assert_eq!(judge_approval(&offered, amount, &reviewed), Ok(()));
///
/// let more = judge_approval(&offered, U256::from(1), &reviewed);
/// assert!(matches!(more, Err(Refusal::ApprovalAmount { .. })));
/// ```
pub fn judge_approval(
    offered: &OfferedApproval<'_>,
    amount: U256,
    reviewed: &ReviewedContracts,
) -> Result<(), Refusal> {
    let expected = reviewed.spender;
    let reviewed_spender = |observed| match observed == expected {
        true => Ok(()),
        false => Err(Refusal::SpenderUnreviewed { expected, observed }),
    };
    reviewed_spender(offered.spender)?;
    let call =
        abi::decode_call::<approveCall>(offered.data).map_err(|_| Refusal::ApprovalCalldata)?;
    reviewed_spender(call.spender)?;
    if call.amount != amount {
        return Err(Refusal::ApprovalAmount {
            expected: amount,
            observed: call.amount,
        });
    }
    Ok(())
}
