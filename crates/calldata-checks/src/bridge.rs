//! The bridge rail: native USDC burned on one chain and minted on another (CCTP V2).
//!
//! - [`chains`]: what is reviewed: five chains, their protocol domains and their native USDC.
//! - [`calldata`]: the burn, decoded strictly from the call step and encoded for it.
//! - [`fees`]: the protocol's rule for the highest fee, in integers.
//! - [`account`]: who holds the receiving address on the destination chain.
//! - [`checks`]: the table of named judgements over [`BridgeFacts`].

pub mod account;
pub mod calldata;
pub mod chains;
pub mod checks;
pub mod fees;
mod kinds;

use alloy_primitives::{Address, B256, U256};

pub use self::kinds::{AccountKind, TransferSpeed};
use self::{
    account::DestinationControl,
    calldata::{Burn, FORWARD_HOOK},
    chains::{BURN_LIMIT, BridgeChain},
    fees::RouteFees,
};
use crate::{Commitment, Failure, Observed, Step, Steps, Verdict, Violation, fees::BridgeCaps};

/// Everything that the checks of a bridge plan look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeFacts {
    /// The context of the bytes.
    pub context: Context,
    /// The steps.
    pub steps: Steps,
    /// The burn in the call step's bytes.
    pub burn: Burn,
}

/// The context of a bridge plan's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The request.
    pub asked: Asked,
    /// The fees of the route, as they were read.
    pub fees: RouteFees,
    /// The rest of the protocol's global allowance for fast transfers, in the smallest unit of
    /// USDC, when it was read.
    pub fast_allowance: Option<U256>,
    /// The holder of the receiving address on the destination chain, as far as it was read.
    pub control: DestinationControl,
    /// The most a bridge may cost.
    pub caps: BridgeCaps,
    /// Whether an account with a key may go unread on the source chain.
    pub allow_unread_accounts: bool,
    /// The chain that the steps are for: `payload.chain_id`.
    pub chain_id: u64,
    /// The commitments of the plan about itself.
    pub commitment: Commitment,
}

impl BridgeFacts {
    /// Decodes the steps of a plan within its context.
    ///
    /// # Errors
    /// - those of [`Asked::judge`]
    /// - `erc20_allowance_reset_ordered`: other steps than the three, or an approval that is not
    ///   canonical
    /// - `bridge_targets_value_bound`: the call is not a canonical burn
    pub fn decode(context: Context, steps: &[Step]) -> Result<Self, Failure> {
        context.asked.judge()?;
        let steps = Steps::decode(steps)?;
        let burn = Burn::decode(&steps.call.data)
            .map_err(|violation| Failure::new(checks::TARGETS_VALUE, violation))?;
        Ok(Self {
            context,
            steps,
            burn,
        })
    }
}

/// The transfer that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The caller's account: who pays on the source chain and who receives on the destination
    /// chain.
    pub account: Address,
    /// The kind of the account.
    pub account_kind: AccountKind,
    /// The chain that the account was named on.
    pub account_chain_id: u64,
    /// The chain that USDC leaves.
    pub source_chain_id: u64,
    /// The chain that USDC reaches.
    pub destination_chain_id: u64,
    /// The token, by its address on the source chain.
    pub token: Address,
    /// The amount that leaves, in the smallest unit of USDC.
    pub amount: U256,
    /// The finality that the burn needs before it is attested.
    pub speed: TransferSpeed,
    /// The caller's own limit of the fee, in the smallest unit of USDC.
    pub max_fee: Option<U256>,
    /// The least that has to be minted, in the smallest unit of USDC.
    pub min_amount_out: Option<U256>,
    /// Whether the protocol's relayer submits the mint.
    pub forward: bool,
}

impl Asked {
    /// The reviewed source chain.
    ///
    /// # Errors
    /// The chain is not one of the five.
    pub fn source(&self) -> Result<&'static BridgeChain, Violation> {
        chains::reviewed(self.source_chain_id)
    }

    /// The reviewed destination chain.
    ///
    /// # Errors
    /// The chain is not one of the five.
    pub fn destination(&self) -> Result<&'static BridgeChain, Violation> {
        chains::reviewed(self.destination_chain_id)
    }

    /// Judges everything that needs no reading and no plan.
    ///
    /// # Errors
    /// `bridge_route_enumerated`, `bridge_amount_bound`, or `bridge_finality_exact` for a fast
    /// transfer from a chain that has none (and therefore no fee for one).
    pub fn judge(&self) -> Result<(), Failure> {
        let speed = |asked: &Self| asked.source()?.judge_speed(asked.speed);
        for (check, judged) in [
            (checks::ROUTE, self.judge_route().map(drop)),
            (checks::AMOUNT, self.judge_amount()),
            (checks::FINALITY, speed(self)),
        ] {
            judged.map_err(|violation| Failure::new(check, violation))?;
        }
        Ok(())
    }

    /// Source, destination and token are one of the twenty routes, and the account is named on the
    /// source chain.
    ///
    /// # Errors
    /// What is not.
    pub(crate) fn judge_route(&self) -> Verdict {
        let (source, destination) = (self.source()?, self.destination()?);
        if source.chain_id == destination.chain_id {
            return Err(Violation::new(
                "a bridge does not end where it begins",
                "two different chains",
                source.chain_id,
            ));
        }
        source.judge_token(self.token)?;
        if self.account_chain_id != source.chain_id {
            return Err(Violation::new(
                "the account is not named on the source chain",
                source.chain_id,
                self.account_chain_id,
            ));
        }
        Ok(Observed::from(format!(
            "{} to {}, USDC",
            source.name, destination.name
        )))
    }

    /// A single burn may move the amount.
    ///
    /// # Errors
    /// Nothing, or more than the burn limit.
    pub(crate) fn judge_amount(&self) -> Result<(), Violation> {
        if self.amount.is_zero() || self.amount > BURN_LIMIT {
            return Err(Violation::new(
                "the amount is not one that a single burn may move",
                format_args!("1 to {BURN_LIMIT}"),
                self.amount,
            ));
        }
        Ok(())
    }

    /// The highest fee that the burn has to carry: the caller's own, or that of the protocol's
    /// rule.
    ///
    /// # Errors
    /// [`fees::FeeError`]
    pub fn max_fee_from(&self, fees: &RouteFees) -> Result<U256, fees::FeeError> {
        match self.max_fee {
            Some(max_fee) => Ok(max_fee),
            None => fees.by_rule(self.amount, self.speed, self.forward),
        }
    }

    /// The burn that does what was asked, for this highest fee.
    ///
    /// # Errors
    /// A chain is not one of the five.
    pub fn burn(&self, max_fee: U256) -> Result<Burn, Violation> {
        Ok(Burn {
            amount: self.amount,
            destination_domain: self.destination()?.domain,
            mint_recipient: self.account.into_word(),
            burn_token: self.source()?.usdc,
            destination_caller: B256::ZERO,
            max_fee,
            min_finality_threshold: self.speed.finality_threshold(),
            hook: self.forward.then(|| FORWARD_HOOK.into()),
        })
    }
}
