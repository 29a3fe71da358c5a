//! The comparisons that an answer of the aggregator can fail, each with a stable code.

use alloy_primitives::{Address, FixedBytes, U256};

/// The comparison that an answer of the aggregator fails. A caller must not pass such an answer on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The calldata cannot be read.
    #[error("calldata cannot be read: {reason}")]
    CalldataMalformed {
        /// The fault.
        reason: &'static str,
    },
    /// The arguments decode, but their canonical encoding has other bytes.
    #[error("calldata arguments are not in canonical encoding")]
    CalldataNotCanonical,
    /// The function is not in the reviewed set.
    #[error("function {observed} is not reviewed")]
    SelectorUnreviewed {
        /// Selector observed.
        observed: FixedBytes<4>,
    },
    /// The bytes after the arguments are none of the documented suffixes.
    #[error("{bytes} bytes after the arguments are not understood")]
    TrailingUnrecognised {
        /// The number of these bytes.
        bytes: usize,
    },
    /// The arguments contain a fee marker. The router finds it there, and no honest encoder writes
    /// it there.
    #[error("a fee marker is hidden inside the arguments")]
    FeeMarkerInArguments,
    /// The calldata pays a commission to a third party.
    #[error("calldata pays a commission out of the {side} token")]
    CommissionPresent {
        /// `input` (on top of the amount) or `output`.
        side: &'static str,
    },
    /// The aggregator would keep part of an output below the quote.
    #[error("trim starts at {observed} although the quote is {quoted}")]
    TrimBelowQuote {
        /// Quoted output.
        quoted: U256,
        /// Output from which the trim takes its share.
        observed: U256,
    },
    /// The share kept of a better-than-quoted output is above the router's own limit.
    #[error("trim of {observed} per mille, at most {max} is allowed")]
    TrimRate {
        /// Largest share, per mille.
        max: u64,
        /// Share observed, per mille.
        observed: u64,
    },
    /// The transaction goes to a contract that is not a reviewed router.
    #[error("call target {observed} is not a reviewed router")]
    RouterUnreviewed {
        /// Target observed.
        observed: Address,
    },
    /// The transaction sends native coin along.
    #[error("call sends {observed} wei of native coin, none is expected")]
    ValueNotZero {
        /// Value observed.
        observed: U256,
    },
    /// The transaction was built for another sender.
    #[error("call is built for sender {observed} instead of {expected}")]
    SenderMismatch {
        /// The caller's wallet.
        expected: Address,
        /// Sender observed.
        observed: Address,
    },
    /// The output goes to another account.
    #[error("output goes to {observed} instead of {expected}")]
    ReceiverMismatch {
        /// The caller's wallet.
        expected: Address,
        /// Receiver observed.
        observed: Address,
    },
    /// Another token is spent.
    #[error("call spends token {observed} instead of {expected}")]
    InputTokenMismatch {
        /// Token of the request.
        expected: Address,
        /// Token observed.
        observed: Address,
    },
    /// The calldata names pools only, so that the token spent cannot be proven from it.
    #[error("{function} does not name the token it spends")]
    InputTokenUnproven {
        /// The function.
        function: &'static str,
    },
    /// Another token is received.
    #[error("call buys token {observed} instead of {expected}")]
    OutputTokenMismatch {
        /// Token of the request.
        expected: Address,
        /// Token observed.
        observed: Address,
    },
    /// The calldata names pools only, so that the token received cannot be proven from it.
    #[error("{function} does not name the token it buys")]
    OutputTokenUnproven {
        /// The function.
        function: &'static str,
    },
    /// Another amount is spent.
    #[error("call spends {observed} instead of {expected}")]
    AmountMismatch {
        /// Amount of the request.
        expected: U256,
        /// Amount observed.
        observed: U256,
    },
    /// The least output is lower than the caller's slippage allows.
    #[error("least output {observed} is below the floor of {floor}")]
    MinOutputBelowFloor {
        /// Quoted output less the slippage.
        floor: U256,
        /// Least output observed.
        observed: U256,
    },
    /// The least output in the calldata is not the one the quote states.
    #[error("least output {observed} in calldata, {stated} in the quote")]
    MinOutputMismatch {
        /// Least output stated.
        stated: U256,
        /// Least output observed.
        observed: U256,
    },
    /// The deadline has passed.
    #[error("deadline {observed} is not after {now}")]
    DeadlinePast {
        /// Now, unix seconds.
        now: u64,
        /// Deadline observed, unix seconds.
        observed: U256,
    },
    /// The deadline is too far away to protect the caller.
    #[error("deadline {observed} is after {latest}")]
    DeadlineAbsurd {
        /// Latest deadline accepted, unix seconds.
        latest: u64,
        /// Deadline observed, unix seconds.
        observed: U256,
    },
    /// The quote is for another slippage, for example one in another unit.
    #[error("quote is for a slippage of {observed} percent instead of {expected}")]
    SlippageMismatch {
        /// Slippage of the request, percent.
        expected: String,
        /// Slippage observed.
        observed: String,
    },
    /// The quote may spend more than the amount.
    #[error("quote may spend up to {observed}, the amount is {expected}")]
    MaxSpendAboveAmount {
        /// Amount of the request.
        expected: U256,
        /// Largest spend observed.
        observed: U256,
    },
    /// The quote is for another chain.
    #[error("quote is for chain {observed} instead of {expected}")]
    QuoteChain {
        /// The expected chain.
        expected: u64,
        /// Chain observed, visible ASCII, shortened.
        observed: String,
    },
    /// The quote describes another token than the request.
    #[error("quote is for {side} token {observed} instead of {expected}")]
    QuoteToken {
        /// `input` or `output`.
        side: &'static str,
        /// Token of the request.
        expected: Address,
        /// Token observed.
        observed: Address,
    },
    /// The quote is for another amount.
    #[error("quote is for an amount of {observed} instead of {expected}")]
    QuoteAmount {
        /// Amount of the request.
        expected: U256,
        /// Amount observed.
        observed: U256,
    },
    /// The quote counts the input token in another unit.
    #[error("quote gives the input token {observed} decimals instead of {expected}")]
    QuoteDecimals {
        /// Decimals of the reviewed token.
        expected: u8,
        /// Decimals observed.
        observed: U256,
    },
    /// The quoted output is zero or beyond any real amount.
    #[error("quoted output {observed} is not usable")]
    QuoteOutput {
        /// Output observed.
        observed: U256,
    },
    /// The upstream answered for another token or chain than the requested one.
    #[error("price is for {observed} instead of {expected}")]
    PriceSubject {
        /// The request, `chain:token`.
        expected: String,
        /// The answer, visible ASCII, shortened.
        observed: String,
    },
    /// An approval names a spender that is not the reviewed one.
    #[error("approval is for spender {observed} instead of {expected}")]
    SpenderUnreviewed {
        /// The reviewed spender.
        expected: Address,
        /// Spender observed.
        observed: Address,
    },
    /// An approval is for another amount.
    #[error("approval is for {observed} instead of {expected}")]
    ApprovalAmount {
        /// Amount of the request.
        expected: U256,
        /// Amount observed.
        observed: U256,
    },
    /// An approval's calldata is not a canonical `approve(address,uint256)`.
    #[error("approval calldata is not exactly an approve call")]
    ApprovalCalldata,
}

impl Refusal {
    /// Returns the stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CalldataMalformed { .. } => "calldata_malformed",
            Self::CalldataNotCanonical => "calldata_not_canonical",
            Self::SelectorUnreviewed { .. } => "selector_unreviewed",
            Self::TrailingUnrecognised { .. } => "trailing_unrecognised",
            Self::FeeMarkerInArguments => "fee_marker_in_arguments",
            Self::CommissionPresent { .. } => "commission_present",
            Self::TrimBelowQuote { .. } => "trim_below_quote",
            Self::TrimRate { .. } => "trim_rate",
            Self::RouterUnreviewed { .. } => "router_unreviewed",
            Self::ValueNotZero { .. } => "value_not_zero",
            Self::SenderMismatch { .. } => "sender_mismatch",
            Self::ReceiverMismatch { .. } => "receiver_mismatch",
            Self::InputTokenMismatch { .. } => "input_token_mismatch",
            Self::InputTokenUnproven { .. } => "input_token_unproven",
            Self::OutputTokenMismatch { .. } => "output_token_mismatch",
            Self::OutputTokenUnproven { .. } => "output_token_unproven",
            Self::AmountMismatch { .. } => "amount_mismatch",
            Self::MinOutputBelowFloor { .. } => "min_output_below_floor",
            Self::MinOutputMismatch { .. } => "min_output_mismatch",
            Self::DeadlinePast { .. } => "deadline_past",
            Self::DeadlineAbsurd { .. } => "deadline_absurd",
            Self::SlippageMismatch { .. } => "slippage_mismatch",
            Self::MaxSpendAboveAmount { .. } => "max_spend_above_amount",
            Self::QuoteChain { .. } => "quote_chain",
            Self::QuoteToken { .. } => "quote_token",
            Self::QuoteAmount { .. } => "quote_amount",
            Self::QuoteDecimals { .. } => "quote_decimals",
            Self::QuoteOutput { .. } => "quote_output",
            Self::PriceSubject { .. } => "price_subject",
            Self::SpenderUnreviewed { .. } => "spender_unreviewed",
            Self::ApprovalAmount { .. } => "approval_amount",
            Self::ApprovalCalldata => "approval_calldata",
        }
    }
}
