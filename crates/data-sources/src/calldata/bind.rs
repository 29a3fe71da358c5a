//! Comparison of what a quote's bytes do with what the caller asked for.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{Receiver, Refusal, SwapFacts, approveCall, decode};
use crate::{ports::SwapRequest, reviewed::ReviewedContracts};

/// The transaction a quote offers, with the two amounts the quote states about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered<'a> {
    /// Call target.
    pub to: Address,
    /// Sender it was built for.
    pub from: Address,
    /// Native coin sent along, in wei.
    pub value: U256,
    /// Calldata.
    pub data: &'a [u8],
    /// Output the quote expects, in the output token's unit.
    pub quoted_output: U256,
    /// Least output the quote states.
    pub min_output: U256,
}

/// Decodes the calldata of `offered` and compares it with `request`; the facts are returned when
/// every comparison holds.
///
/// # Errors
///
/// The [`Refusal`] that names the first comparison that does not hold.
pub fn bind(
    offered: &Offered<'_>,
    request: &SwapRequest,
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
    if offered.from != request.user {
        return Err(Refusal::SenderMismatch {
            expected: request.user,
            observed: offered.from,
        });
    }
    let facts = decode(offered.data)?;
    if !reviewed.selectors.contains(&facts.selector) {
        return Err(Refusal::SelectorUnreviewed {
            observed: facts.selector,
        });
    }
    // A receiver that is the sender is the user: the sender was compared above. The router also
    // takes the zero address for the sender, but nobody who means the user writes it.
    match facts.receiver {
        Receiver::Address(receiver) if receiver != request.user => {
            return Err(Refusal::ReceiverMismatch {
                expected: request.user,
                observed: receiver,
            });
        }
        _ => {}
    }
    match facts.input_token {
        Some(observed) if observed != request.from_token => {
            return Err(Refusal::InputTokenMismatch {
                expected: request.from_token,
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
        Some(observed) if observed != request.to_token => {
            return Err(Refusal::OutputTokenMismatch {
                expected: request.to_token,
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
    if facts.amount != request.amount {
        return Err(Refusal::AmountMismatch {
            expected: request.amount,
            observed: facts.amount,
        });
    }
    outputs(&facts, offered, request)?;
    deadline(&facts, reviewed, now)?;
    Ok(facts)
}

fn outputs(facts: &SwapFacts, offered: &Offered<'_>, request: &SwapRequest) -> Result<(), Refusal> {
    let floor = request
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

/// Checks that `data` is exactly `approve(spender, amount)`, without a byte before or after.
///
/// # Errors
///
/// [`Refusal::ApprovalCalldata`], [`Refusal::SpenderUnreviewed`] or [`Refusal::ApprovalAmount`].
pub fn bind_approval(data: &[u8], spender: Address, amount: U256) -> Result<(), Refusal> {
    let call = data
        .strip_prefix(&approveCall::SELECTOR)
        .and_then(|arguments| approveCall::abi_decode_raw(arguments).ok())
        .filter(|call| call.abi_encode() == data)
        .ok_or(Refusal::ApprovalCalldata)?;
    if call.spender != spender {
        return Err(Refusal::SpenderUnreviewed {
            expected: spender,
            observed: call.spender,
        });
    }
    if call.amount != amount {
        return Err(Refusal::ApprovalAmount {
            expected: amount,
            observed: call.amount,
        });
    }
    Ok(())
}
