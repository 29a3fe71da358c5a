//! The reason why a key does not sign.

use alloy_primitives::{Address, Selector, U256};
use thiserror::Error;

use crate::Purpose;

/// The reason why a wallet's key does not sign. The wallet is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyRefusal {
    /// The contract is no target on the chain.
    #[error("expected a reviewed contract of chain {chain_id}, observed {observed}")]
    TargetUnreviewed {
        /// The transaction's chain.
        chain_id: u64,
        /// The called contract.
        observed: Address,
    },
    /// The function is not on the target's list.
    #[error("expected a reviewed function of {contract}, observed {observed}")]
    SelectorUnreviewed {
        /// The target.
        contract: Address,
        /// The function.
        observed: Selector,
    },
    /// The transaction carries coins.
    #[error("expected no coins, observed {observed} wei")]
    ValueNotZero {
        /// The amount, in wei.
        observed: U256,
    },
    /// The calldata is shorter than a selector, or its arguments are not in canonical form.
    #[error("expected canonical calldata for {contract}, observed another form of {length} bytes")]
    CalldataMalformed {
        /// The target.
        contract: Address,
        /// The calldata's length in bytes.
        length: usize,
    },
    /// The spender of an approval is not another target of the chain.
    #[error("expected a reviewed spender of {token}, observed {observed}")]
    SpenderUnreviewed {
        /// The token.
        token: Address,
        /// The spender.
        observed: Address,
    },
    /// The approval is practically unlimited.
    #[error("expected an approval of an exact amount of {token}, observed {observed}")]
    ApprovalUnlimited {
        /// The token.
        token: Address,
        /// The amount, in the token's smallest unit.
        observed: U256,
    },
    /// The recipient is not the wallet's owner. Positions of the wallet may also go to the wallet
    /// itself.
    #[error("expected the owner {expected} as the recipient, observed {observed}")]
    RecipientNotOwner {
        /// The owner.
        expected: Address,
        /// The recipient.
        observed: Address,
    },
    /// The authorization does not move tokens from the owner to the wallet.
    #[error("expected tokens from {owner} to {wallet}, observed from {from} to {recipient}")]
    PrincipalElsewhere {
        /// The wallet's owner.
        owner: Address,
        /// The wallet.
        wallet: Address,
        /// The account whose tokens move.
        from: Address,
        /// The recipient.
        recipient: Address,
    },
    /// Typed data is signed for no purpose.
    #[error("expected a transaction for {}, observed typed data", .purpose.as_str())]
    TypedData {
        /// The purpose.
        purpose: Purpose,
    },
}

impl PolicyRefusal {
    /// The stable machine-readable name of the refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TargetUnreviewed { .. } => "wallet_target_unreviewed",
            Self::SelectorUnreviewed { .. } => "wallet_selector_unreviewed",
            Self::ValueNotZero { .. } => "wallet_value_not_zero",
            Self::CalldataMalformed { .. } => "wallet_calldata_malformed",
            Self::SpenderUnreviewed { .. } => "wallet_spender_unreviewed",
            Self::ApprovalUnlimited { .. } => "wallet_approval_unlimited",
            Self::RecipientNotOwner { .. } => "wallet_recipient_not_owner",
            Self::PrincipalElsewhere { .. } => "wallet_principal_elsewhere",
            Self::TypedData { .. } => "wallet_typed_data",
        }
    }
}
