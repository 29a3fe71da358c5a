//! A verified plan as typed values: exactly what [`verify`](crate::verify) judged.
//!
//! Every value here is decoded from the bytes that the checks judged, or a check has compared it
//! with the request's own value. The exceptions are readings that only the plan states. Their
//! documentation says so. A signer of these values signs exactly what was verified, and does not
//! read the envelope's JSON again.

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{
    BasisPoints, CheckReport, Rail, Step, UtcSeconds,
    bridge::{TransferSpeed, account::DestinationControl},
    perp_order,
    pm_order::{DecodedApproval, Domain, Order, PmBuilder},
    swap::{Distribution, ExchangeLeg},
};

use crate::{AccountKind, Judgement};

/// Readings that the verifier made itself, to be judged instead of those that a plan states. They
/// must have been made at the time of the verification.
///
/// # Example
/// [`verify_with`](crate::verify_with) has one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnReadings {
    /// The reading of who controls the receiving address of a bridge. `None` when that was not
    /// read. Plans of other rails have no such reading.
    pub control: Option<DestinationControl>,
}

impl OwnReadings {
    /// No own readings.
    pub const NONE: Self = Self { control: None };

    /// Makes readings from what [`bridge::read_control`](crate::bridge::read_control) returns: who
    /// controls the receiving address of a bridge.
    #[must_use]
    pub const fn of_control(control: DestinationControl) -> Self {
        Self {
            control: Some(control),
        }
    }
}

/// A plan that holds for a request at a given time. Only [`verify`](crate::verify) and
/// [`verify_with`](crate::verify_with) create one.
///
/// The crate's documentation has a complete example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub(crate) payload_digest: B256,
    pub(crate) intent_digest: B256,
    pub(crate) valid_until: UtcSeconds,
    pub(crate) account: Address,
    pub(crate) account_kind: AccountKind,
    pub(crate) chain_id: u64,
    pub(crate) report: CheckReport,
    pub(crate) plan_report: CheckReport,
    pub(crate) judgements: Vec<Judgement>,
    pub(crate) plan: VerifiedPlan,
}

impl Verified {
    /// The plan's rail.
    #[must_use]
    pub const fn rail(&self) -> Rail {
        self.report.rail()
    }

    /// `submission.payload_digest`, recomputed.
    #[must_use]
    pub const fn payload_digest(&self) -> B256 {
        self.payload_digest
    }

    /// `intent_digest`, recomputed.
    #[must_use]
    pub const fn intent_digest(&self) -> B256 {
        self.intent_digest
    }

    /// When the plan ends. A signer must not sign anything of it later.
    #[must_use]
    pub const fn valid_until(&self) -> UtcSeconds {
        self.valid_until
    }

    /// The account that signs.
    #[must_use]
    pub const fn account(&self) -> Address {
        self.account
    }

    /// The kind of that account.
    #[must_use]
    pub const fn account_kind(&self) -> AccountKind {
        self.account_kind
    }

    /// The chain on which the account signs.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Returns the report of every check, run again, for a reader who got the plan from a stranger.
    ///
    /// Some checks hold only by readings that the plan states (a quote, an account's code, a
    /// market). They are in [`CheckReport::not_established`], because a forger can state readings
    /// by which they hold. [`OwnReadings`] of the verifier establish such a check.
    #[must_use]
    pub const fn report(&self) -> &CheckReport {
        &self.report
    }

    /// Returns the report that the plan itself contains. It is right for a reader who made the
    /// plan's readings: checks that hold by them are assertions.
    #[must_use]
    pub const fn plan_report(&self) -> &CheckReport {
        &self.plan_report
    }

    /// Returns what the plan says that its maker judged beyond the checks. These are the plan's own
    /// statements: nothing here was verified but their form, and a forger may state others.
    #[must_use]
    pub fn judgements(&self) -> &[Judgement] {
        &self.judgements
    }

    /// The content, by rail.
    #[must_use]
    pub const fn plan(&self) -> &VerifiedPlan {
        &self.plan
    }

    /// Returns the content, and takes the plan.
    #[must_use]
    pub fn into_plan(self) -> VerifiedPlan {
        self.plan
    }

    /// The transactions, in the order in which they must be sent. An order has none.
    #[must_use]
    pub const fn steps(&self) -> &[Step] {
        match &self.plan {
            VerifiedPlan::Swap(swap) => &swap.steps,
            VerifiedPlan::Bridge(bridge) => &bridge.steps,
            VerifiedPlan::PmOrder(_) | VerifiedPlan::PerpOrder(_) => &[],
        }
    }
}

/// The content of a verified plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifiedPlan {
    /// A swap.
    Swap(VerifiedSwap),
    /// A transfer of USDC to another chain.
    Bridge(VerifiedBridge),
    /// A prediction-market order.
    PmOrder(VerifiedPmOrder),
    /// A perpetuals order.
    PerpOrder(VerifiedPerpOrder),
}

/// A verified swap. Amounts are in the token's smallest unit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSwap {
    /// The reset of the allowance, the approval, and the call. Send each one when the one before is
    /// in a block.
    pub steps: [Step; 3],
    /// The gas that each step used in a simulation, as the plan claims. `None` when it claims none.
    /// It is no gas limit, and nothing proves that the simulation was run.
    pub simulated_gas: Option<[u64; 3]>,
    /// The input token.
    pub from_token: Address,
    /// The output token.
    pub to_token: Address,
    /// The gross input, fees included.
    pub from_amount: U256,
    /// The output that the quote expects, as the plan claims. No calldata contains it, and a forger
    /// may state another one.
    pub quoted_amount_out: U256,
    /// By how much that output is worth less than the input by the quote's own values, as the plan
    /// claims. `None` when it claims no values.
    pub quoted_price_impact: Option<BasisPoints>,
    /// The least output. The router reverts below it. Only a request with `minAmountOut` limits it:
    /// a verified plan is the requested plan, not a good price.
    pub min_amount_out: U256,
    /// The recipient of the output.
    pub receiver: Address,
    /// The contract that may spend the input.
    pub spender: Address,
    /// The name of the integrator in the calldata.
    pub integrator: String,
    /// Every recipient of the fee leg, with its amount of the input token.
    pub fees: Vec<Distribution>,
    /// The legs that exchange tokens.
    pub legs: Vec<ExchangeLeg>,
}

/// A verified transfer of USDC. Amounts are in the smallest unit of USDC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedBridge {
    /// The reset of the allowance, the approval, and the burn. Send each one when the one before is
    /// in a block.
    pub steps: [Step; 3],
    /// The gas that each step used in a simulation, as the plan claims. `None` when it claims none.
    /// It is no gas limit, and nothing proves that the simulation was run.
    pub simulated_gas: Option<[u64; 3]>,
    /// USDC on the source chain.
    pub token: Address,
    /// The amount that is burned.
    pub amount: U256,
    /// The most that the protocol deducts at the mint. The mint gives at least the amount without
    /// this.
    pub max_fee: U256,
    /// The contract that may spend the amount.
    pub spender: Address,
    /// The protocol's number of the source chain.
    pub source_domain: u32,
    /// The protocol's number of the chain of the mint.
    pub destination_domain: u32,
    /// The chain of the mint.
    pub destination_chain_id: u64,
    /// USDC on that chain.
    pub destination_token: Address,
    /// The recipient of the mint.
    pub recipient: Address,
    /// The finality for which the transfer waits.
    pub speed: TransferSpeed,
    /// Whether the protocol's relayer submits the mint.
    pub forward: bool,
}

impl VerifiedBridge {
    /// Returns the least amount that is minted.
    #[must_use]
    pub const fn minted_at_least(&self) -> U256 {
        self.amount.saturating_sub(self.max_fee)
    }
}

/// A verified prediction-market order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedPmOrder {
    /// The message to sign: token, side, amounts, maker, builder.
    pub order: Order,
    /// The signing domain of the exchange.
    pub domain: Domain,
    /// The EIP-712 digest of the message in the domain. The caller signs it, and the venue names
    /// the order by it.
    pub order_hash: B256,
    /// Whether the venue must reject the order if it would match at once.
    pub post_only: bool,
    /// The approval that the exchange needs to settle the order. It is not part of the plan.
    pub approval: DecodedApproval,
    /// The configured builder code. Its `fee` is the plan's claim of what the venue takes. The
    /// order does not contain it.
    pub builder: PmBuilder,
    /// The argument of `eth_signTypedData_v4`, as the plan contains it.
    pub typed_data: String,
}

/// A verified perpetuals order. The signer chooses the nonce. Everything else is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedPerpOrder {
    /// The decoded action, with entry, triggers and builder fee.
    pub action: perp_order::Action,
    /// The action's bytes.
    pub action_msgpack: Bytes,
    /// The requested perpetual.
    pub coin: String,
    /// The vault or sub-account that the order trades for.
    pub vault: Option<Address>,
    /// Unix milliseconds after which the venue refuses the order.
    pub expires_after: Option<u64>,
}

impl VerifiedPerpOrder {
    /// Computes `connectionId` of the signed `Agent` message for a nonce (Unix milliseconds).
    #[must_use]
    pub fn connection_id(&self, nonce: u64) -> B256 {
        perp_order::hash::connection_id(&self.action_msgpack, nonce, self.vault, self.expires_after)
    }

    /// Computes the EIP-712 digest to sign for a nonce, on the venue's main network.
    #[must_use]
    pub fn signing_digest(&self, nonce: u64) -> B256 {
        let source = perp_order::hash::MAINNET_SOURCE;
        perp_order::hash::agent_digest(source, self.connection_id(nonce))
    }
}
