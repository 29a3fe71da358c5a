//! The named judgements of a bridge plan, in the order of its assertions. Each compares the decoded
//! burn with the request, the reviewed chains or the readings; none asks anybody.

use alloy_primitives::{Address, U256, hex};

use super::{BridgeFacts, Context, TransferSpeed, calldata::FORWARD_HOOK, chains::TOKEN_MESSENGER};
use crate::{
    Check, Facts, Observed, Rail, Verdict, Violation,
    commitment::{
        ARTIFACT_EXPIRY, ARTIFACT_EXPIRY_ESTABLISHES, PAYLOAD_DIGEST, PAYLOAD_DIGEST_ESTABLISHES,
    },
    step::RESET_ORDER,
};

/// Name of the check of the route.
pub const ROUTE: &str = "bridge_route_enumerated";
/// Name of the check of the token.
pub const TOKEN: &str = "bridge_token_native_usdc";
/// Name of the check of the destination's domain.
pub const DOMAIN: &str = "bridge_domain_bound";
/// Name of the check of the recipient.
pub const RECIPIENT: &str = "bridge_recipient_account_bound";
/// Name of the check of the recipient address's holder.
pub const CONTROL: &str = "bridge_recipient_controlled_on_destination";
/// Name of the check of the amount.
pub const AMOUNT: &str = "bridge_amount_bound";
/// Name of the check of the fee.
pub const FEE_CAP: &str = "bridge_fee_cap";
/// Name of the check of the finality threshold.
pub const FINALITY: &str = "bridge_finality_exact";
/// Name of the check of the destination caller.
pub const DESTINATION_CALLER: &str = "bridge_destination_caller_open";
/// Name of the check of the hook.
pub const HOOK: &str = "bridge_hook_exact";
/// Name of the check of targets, native value and canonical calldata.
pub const TARGETS_VALUE: &str = "bridge_targets_value_bound";

impl crate::engine::sealed::Sealed for BridgeFacts {}

impl Facts for BridgeFacts {
    const RAIL: Rail = Rail::Bridge;

    const CHECKS: &'static [Check<Self>] = &[
        Check {
            name: ROUTE,
            establishes: "source, destination and token are one of the 20 reviewed routes, from the account's own chain",
            judge: route,
        },
        Check {
            name: TOKEN,
            establishes: "the burned and approved token is the source chain's native USDC",
            judge: token,
        },
        Check {
            name: DOMAIN,
            establishes: "the destination domain in calldata is the reviewed one of the requested chain",
            judge: domain,
        },
        Check {
            name: RECIPIENT,
            establishes: "the mint recipient in calldata is the bound account, zero-padded",
            judge: recipient,
        },
        Check {
            name: CONTROL,
            establishes: "the bound account holds the recipient address on the destination chain",
            judge: |facts| {
                let Context {
                    control,
                    asked,
                    allow_unread_accounts,
                    ..
                } = &facts.context;
                control.judge(asked.account_kind, *allow_unread_accounts)
            },
        },
        Check {
            name: AMOUNT,
            establishes: "burned, approved and requested amount are equal, above zero, within the burn limit",
            judge: amount,
        },
        Check {
            name: FEE_CAP,
            establishes: "maxFee in calldata follows from the fees read, covers them, and is within every cap",
            judge: fee_cap,
        },
        Check {
            name: FINALITY,
            establishes: "the finality threshold is that of the requested speed, and the route has that speed",
            judge: finality,
        },
        Check {
            name: DESTINATION_CALLER,
            establishes: "anyone may submit the mint",
            judge: destination_caller,
        },
        Check {
            name: HOOK,
            establishes: "no hook, or exactly the forwarding frame when forwarding was requested",
            judge: hook,
        },
        Check {
            name: TARGETS_VALUE,
            establishes: "spender and call target are TokenMessengerV2; no native value; canonical calldata",
            judge: targets_value,
        },
        Check {
            name: PAYLOAD_DIGEST,
            establishes: PAYLOAD_DIGEST_ESTABLISHES,
            judge: |facts| facts.context.commitment.judge_digest(),
        },
        Check {
            name: RESET_ORDER,
            establishes: "the allowance is cleared to zero before the new one is set",
            judge: |facts| facts.steps.judge_reset_order(),
        },
        Check {
            name: ARTIFACT_EXPIRY,
            establishes: ARTIFACT_EXPIRY_ESTABLISHES,
            judge: |facts| facts.context.commitment.judge_expiry(),
        },
    ];
}

fn route(facts: &BridgeFacts) -> Verdict {
    let observed = facts.context.asked.judge_route()?;
    let source = facts.context.asked.source_chain_id;
    if facts.context.chain_id != source {
        return Err(Violation::new(
            "the steps are not for the source chain",
            source,
            facts.context.chain_id,
        ));
    }
    Ok(observed)
}

fn token(facts: &BridgeFacts) -> Verdict {
    let source = facts.context.asked.source()?;
    source.judge_token(facts.burn.burn_token)?;
    for approved in [facts.steps.reset.token, facts.steps.approve.token] {
        if approved != facts.burn.burn_token {
            return Err(Violation::new(
                "an approval is for another token than the burn",
                facts.burn.burn_token,
                approved,
            ));
        }
    }
    Ok(Observed::fixed("native USDC"))
}

fn domain(facts: &BridgeFacts) -> Verdict {
    let destination = facts.context.asked.destination()?;
    if facts.burn.destination_domain != destination.domain {
        return Err(Violation::new(
            format!(
                "the burn is not for the protocol domain of {}",
                destination.name
            ),
            destination.domain,
            facts.burn.destination_domain,
        ));
    }
    Ok(Observed::from(destination.domain.to_string()))
}

fn recipient(facts: &BridgeFacts) -> Verdict {
    let account = facts.context.asked.account;
    if account == Address::ZERO {
        return Err(Violation::new(
            "the zero address receives nothing",
            "an account",
            account,
        ));
    }
    if facts.burn.mint_recipient != account.into_word() {
        return Err(Violation::new(
            "USDC would be minted to another recipient",
            account.into_word(),
            facts.burn.mint_recipient,
        ));
    }
    Ok(Observed::fixed("the bound account"))
}

fn amount(facts: &BridgeFacts) -> Verdict {
    facts.context.asked.judge_amount()?;
    let asked = facts.context.asked.amount;
    if facts.burn.amount != asked {
        return Err(Violation::new(
            "another amount is burned than was asked for",
            asked,
            facts.burn.amount,
        ));
    }
    if facts.steps.approve.amount != asked {
        return Err(Violation::new(
            "another amount is approved than is burned",
            asked,
            facts.steps.approve.amount,
        ));
    }
    Ok(Observed::from(asked.to_string()))
}

fn fee_cap(facts: &BridgeFacts) -> Verdict {
    let asked = &facts.context.asked;
    let (amount, max_fee) = (asked.amount, facts.burn.max_fee);
    let unknown = |error| Violation::new("the fee cannot be computed", "a fee", error);
    let computed = asked.max_fee_from(&facts.context.fees).map_err(unknown)?;
    if max_fee != computed {
        return Err(Violation::new(
            "maxFee is not the one that follows from the fees read",
            computed,
            max_fee,
        ));
    }
    let needed = facts
        .context
        .fees
        .needed(amount, asked.speed, asked.forward)
        .map_err(unknown)?;
    if max_fee < needed {
        let message = match (asked.speed, asked.forward) {
            (_, true) => "maxFee is below the fees of a forwarded transfer",
            (TransferSpeed::Fast, false) => {
                "maxFee is below the fast fee: the transfer would silently be a standard one"
            }
            (TransferSpeed::Standard, false) => "maxFee is below the fee of a standard transfer",
        };
        return Err(Violation::new(
            message,
            format_args!("at least {needed}"),
            max_fee,
        ));
    }
    if max_fee >= amount {
        return Err(Violation::new(
            "maxFee is not below the amount",
            format_args!("less than {amount}"),
            max_fee,
        ));
    }
    let overflow = || unknown(super::fees::FeeError::Overflow);
    let mut cap = protocol_cap(facts).ok_or_else(overflow)?;
    if asked.forward {
        let most = forward_cap(facts).ok_or_else(overflow)?;
        if let Some(fee) = facts.context.fees.forward_fee.filter(|fee| *fee > most) {
            return Err(Violation::new(
                "the forwarding fee is above the configured cap",
                format_args!("at most {most}"),
                fee,
            ));
        }
        cap = cap.checked_add(most).ok_or_else(overflow)?;
    }
    if max_fee > cap {
        return Err(Violation::new(
            "maxFee is above the configured cap",
            format_args!("at most {cap}"),
            max_fee,
        ));
    }
    let least = amount.saturating_sub(max_fee);
    if let Some(min_amount_out) = asked.min_amount_out
        && least < min_amount_out
    {
        return Err(Violation::new(
            "less than minAmountOut may be minted",
            format_args!("at least {min_amount_out}"),
            least,
        ));
    }
    Ok(Observed::from(format!(
        "maxFee {max_fee}, cap {cap}, at least {least} minted"
    )))
}

/// The most that the transfer itself may cost, in the smallest unit of USDC. Rounded up, like the
/// fees: a cap that is rounded down would refuse small amounts for a fraction of that unit.
fn protocol_cap(facts: &BridgeFacts) -> Option<U256> {
    let Context { asked, caps, .. } = &facts.context;
    let share = match asked.speed {
        TransferSpeed::Fast => caps.fast,
        TransferSpeed::Standard => caps.standard,
    };
    share.ceil_of(asked.amount)
}

/// The most that forwarding may cost, in the smallest unit of USDC.
fn forward_cap(facts: &BridgeFacts) -> Option<U256> {
    let Context { asked, caps, .. } = &facts.context;
    Some(caps.forward_share.ceil_of(asked.amount)?.min(caps.forward))
}

fn finality(facts: &BridgeFacts) -> Verdict {
    let asked = &facts.context.asked;
    asked.source()?.judge_speed(asked.speed)?;
    let threshold = asked.speed.finality_threshold();
    if facts.burn.min_finality_threshold != threshold {
        return Err(Violation::new(
            "the finality threshold is not that of the requested speed",
            threshold,
            facts.burn.min_finality_threshold,
        ));
    }
    if asked.speed == TransferSpeed::Fast {
        match facts.context.fast_allowance {
            Some(allowance) if allowance >= asked.amount => {}
            allowance => {
                return Err(Violation::new(
                    "the fast allowance does not cover the amount",
                    format_args!("at least {}", asked.amount),
                    allowance.map_or_else(|| "not_read".to_owned(), |left| left.to_string()),
                ));
            }
        }
    }
    Ok(Observed::fixed(match asked.speed {
        TransferSpeed::Fast => "1000, within the fast allowance",
        TransferSpeed::Standard => "2000",
    }))
}

fn destination_caller(facts: &BridgeFacts) -> Verdict {
    if !facts.burn.destination_caller.is_zero() {
        return Err(Violation::new(
            "only one caller could submit the mint",
            0,
            facts.burn.destination_caller,
        ));
    }
    Ok(Observed::fixed("open"))
}

fn hook(facts: &BridgeFacts) -> Verdict {
    let asked = &facts.context.asked;
    let frame = asked.forward.then_some(FORWARD_HOOK.as_slice());
    let observed = facts.burn.hook.as_ref().map(AsRef::as_ref);
    if observed != frame {
        return Err(Violation::new(
            if asked.forward {
                "the hook is not the forwarding frame"
            } else {
                "there is a hook that was not asked for"
            },
            hook_text(frame),
            hook_text(observed),
        ));
    }
    let destination = asked.destination()?;
    if asked.forward && !destination.forwarding {
        return Err(Violation::new(
            format!("the relayer does not forward to {}", destination.name),
            "no forwarding",
            "forwarding",
        ));
    }
    Ok(Observed::fixed(if asked.forward {
        "cctp-forward"
    } else {
        "none"
    }))
}

/// Shows a hook as text, or its beginning when it is long.
fn hook_text(hook: Option<&[u8]>) -> String {
    let Some(hook) = hook else {
        return "no hook".to_owned();
    };
    let shown = hook.get(..FORWARD_HOOK.len()).unwrap_or(hook);
    format!("{} bytes: {}", hook.len(), hex::encode_prefixed(shown))
}

fn targets_value(facts: &BridgeFacts) -> Verdict {
    let steps = &facts.steps;
    for (what, address) in [
        ("the cleared spender", steps.reset.spender),
        ("the approved spender", steps.approve.spender),
        ("the call target", steps.call.to),
    ] {
        if address != TOKEN_MESSENGER {
            return Err(Violation::new(
                format!("{what} is not TokenMessengerV2"),
                TOKEN_MESSENGER,
                address,
            ));
        }
    }
    for value in [steps.reset.value, steps.approve.value, steps.call.value] {
        if !value.is_zero() {
            return Err(Violation::new("a step carries native coin", 0, value));
        }
    }
    Ok(Observed::fixed("TokenMessengerV2, value 0"))
}
