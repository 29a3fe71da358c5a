//! The bridge rail: native USDC burned on one chain and minted on another (CCTP V2).
//!
//! - [`chains`]: the reviewed chains: five of them, with their protocol domains and their native
//!   USDC.
//! - [`calldata`]: the burn, decoded strictly from the call step and encoded for it.
//! - [`fees`]: the protocol's rule for the highest fee, in integers.
//! - [`account`]: the holder of the receiving address on the destination chain.
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

/// The facts that the checks of a bridge plan judge. Only [`Self::decode`] makes them, and nothing
/// changes them.
///
/// # Example
/// ```
/// use alloy_primitives::{U256, address};
/// use calldata_checks::bridge::{
///     AccountKind, Asked, BridgeFacts, Context, TransferSpeed,
///     account::{AccountCode, DestinationControl},
///     fees::RouteFees,
/// };
/// use calldata_checks::{Commitment, DigestStanding, UtcSeconds, fees::BridgeCaps, judge};
///
/// let asked = Asked {
///     account: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
///     account_kind: AccountKind::Eoa,
///     account_chain_id: 8453,
///     source_chain_id: 8453,
///     destination_chain_id: 42161,
///     token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
///     amount: U256::from(1_234_567_890),
///     speed: TransferSpeed::Fast,
///     max_fee: None,
///     min_amount_out: None,
///     forward: false,
/// };
/// let fees = RouteFees {
///     fast_bps: Some("1.3".parse()?),
///     standard_bps: "0".parse()?,
///     forward_fee: None,
///     chain_min_fee: None,
/// };
/// let context = Context {
///     asked,
///     fees,
///     fast_allowance: Some(U256::from(52_000_000_000_000_u64)),
///     control: DestinationControl::Eoa { source_code: Some(AccountCode::Empty) },
///     caps: BridgeCaps::DEFAULT,
///     allow_unread_accounts: false,
///     chain_id: 8453,
///     commitment: Commitment {
///         valid_until: UtcSeconds::from_unix(1_800_000_300),
///         now: UtcSeconds::from_unix(1_800_000_000),
///         digest: DigestStanding::Sealing,
///     },
/// };
/// let mut burn = asked.burn(asked.max_fee_from(&fees)?).map_err(|refused| refused.message)?;
/// let report = judge(&BridgeFacts::decode(context.clone(), &burn.steps())?)?;
/// assert_eq!(report.assertions()[0].name, "bridge_route_enumerated");
///
/// // The same burn for somebody else.
/// burn.mint_recipient = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC").into_word();
/// let failure = judge(&BridgeFacts::decode(context, &burn.steps())?).unwrap_err();
/// assert_eq!(failure.check, "bridge_recipient_account_bound");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeFacts {
    context: Context,
    steps: Steps,
    burn: Burn,
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
    /// The most that a bridge may cost.
    pub caps: BridgeCaps,
    /// Whether a plan may hold although nobody read the code of an account with a key on the source
    /// chain.
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

    /// The context of the bytes.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The steps.
    #[must_use]
    pub const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// The burn in the call step's bytes.
    #[must_use]
    pub const fn burn(&self) -> &Burn {
        &self.burn
    }
}

/// The requested transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asked {
    /// The caller's account: it pays on the source chain and receives on the destination chain.
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
    /// The least amount that must be minted, in the smallest unit of USDC.
    pub min_amount_out: Option<U256>,
    /// Whether the protocol's relayer submits the mint.
    pub forward: bool,
}

impl Asked {
    /// Returns the reviewed source chain.
    ///
    /// # Errors
    /// The chain is not one of the five.
    pub fn source(&self) -> Result<&'static BridgeChain, Violation> {
        chains::reviewed(self.source_chain_id)
    }

    /// Returns the reviewed destination chain.
    ///
    /// # Errors
    /// The chain is not one of the five.
    pub fn destination(&self) -> Result<&'static BridgeChain, Violation> {
        chains::reviewed(self.destination_chain_id)
    }

    /// Judges the request alone, without readings and without a plan.
    ///
    /// # Errors
    /// `bridge_route_enumerated`, `bridge_amount_bound`, or `bridge_finality_exact` for a fast
    /// transfer from a chain that has none (and therefore no fee for one).
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{U256, address};
    /// use calldata_checks::bridge::{AccountKind, Asked, TransferSpeed};
    ///
    /// # let asked = Asked {
    /// #     account: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    /// #     account_kind: AccountKind::Eoa,
    /// #     account_chain_id: 8453,
    /// #     source_chain_id: 8453,
    /// #     destination_chain_id: 42161,
    /// #     token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    /// #     amount: U256::from(1_234_567_890),
    /// #     speed: TransferSpeed::Fast,
    /// #     max_fee: None,
    /// #     min_amount_out: None,
    /// #     forward: false,
    /// # };
    /// assert_eq!(asked.judge(), Ok(()));
    /// assert_eq!((asked.source()?.name, asked.destination()?.name), ("Base", "Arbitrum"));
    ///
    /// let back = Asked { destination_chain_id: asked.source_chain_id, ..asked };
    /// assert_eq!(back.judge().unwrap_err().check, "bridge_route_enumerated");
    /// # Ok::<(), calldata_checks::Violation>(())
    /// ```
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

    /// Checks that source, destination and token are one of the twenty routes, and that the account
    /// is named on the source chain.
    ///
    /// # Errors
    /// The part that differs.
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

    /// Checks that a single burn may move the amount.
    ///
    /// # Errors
    /// The amount is zero or above the burn limit.
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

    /// Returns the highest fee that the burn must carry: the caller's own, or that of the
    /// protocol's rule.
    ///
    /// # Errors
    /// [`fees::FeeError`]
    pub fn max_fee_from(&self, fees: &RouteFees) -> Result<U256, fees::FeeError> {
        match self.max_fee {
            Some(max_fee) => Ok(max_fee),
            None => fees.by_rule(self.amount, self.speed, self.forward),
        }
    }

    /// Makes the burn of the requested transfer, for this highest fee.
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
