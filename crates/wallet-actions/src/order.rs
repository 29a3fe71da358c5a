//! The request for an action.

use alloy_primitives::{Address, B256, Bytes, U256};
use custody::Owner;
use storage::postgres::Condition;

/// A paid request for one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The owner of the wallet: the payer.
    pub owner: Owner,
    /// The digest of the payment's authorization: one payment buys one intent.
    pub payment: B256,
    /// The condition that the payment is still claimed for this call, where servers share a
    /// database. The intent is stored under it, or not at all.
    pub claim: Option<Condition>,
    /// The Unix second after which the payment can no longer be settled. Nothing begins later; what
    /// has begun goes on.
    pub begin_by: Option<u64>,
    /// The paid call, in the form in which its receiver can find it after a restart. It is never
    /// shown.
    pub call: String,
    /// The price of the call, in micro US dollars. The payment is verified and counts towards the
    /// owner's payments.
    pub price_micro_usd: u64,
    /// The requested action.
    pub action: Action,
    /// The authorization that moves the principal to the wallet, if the wallet lacks it.
    pub principal: Option<Principal>,
    /// The Unix second from which on nothing may be sent.
    pub deadline: Option<u64>,
    /// The most slippage of a deposit or of its withdrawal, in basis points. It only narrows the
    /// general limits. A swap has its own slippage.
    pub max_slippage_bps: Option<u64>,
}

/// The requested action. Amounts are in whole tokens, as the caller wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Swaps a token for another one of the same chain.
    Swap(SwapOrder),
    /// Moves native USDC to another chain.
    Bridge(BridgeOrder),
    /// Sends a token to the owner.
    Withdraw(WithdrawOrder),
    /// Deposits into a reviewed product.
    Invest(InvestOrder),
    /// Withdraws a deposit to the wallet.
    Divest(DivestOrder),
}

/// A swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapOrder {
    /// The chain.
    pub chain_id: u64,
    /// The token to sell.
    pub from_token: Address,
    /// The token to buy.
    pub to_token: Address,
    /// The amount to sell.
    pub amount: String,
    /// The most that the output may fall below the quote, in percent.
    pub slippage_pct: String,
}

/// A bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeOrder {
    /// The source chain.
    pub from_chain: u64,
    /// The destination chain.
    pub to_chain: u64,
    /// USDC on the source chain.
    pub token: Address,
    /// The amount to move.
    pub amount: String,
    /// The wallet or its owner. The wallet when absent.
    pub recipient: Option<Address>,
}

/// A withdrawal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawOrder {
    /// The chain.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// The amount. The whole balance when absent.
    pub amount: Option<String>,
}

/// A deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvestOrder {
    /// The chain.
    pub chain_id: u64,
    /// The protocol (`aave-v3`, `erc4626`).
    pub protocol: String,
    /// The asset's symbol or address.
    pub asset: String,
    /// The amount of the asset.
    pub amount: String,
    /// The product, when the protocol has several for the asset.
    pub product_id: Option<String>,
    /// The least shares to accept.
    pub min_shares: Option<String>,
}

/// The withdrawal of a deposit, whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivestOrder {
    /// The product's id, or the position's id in `/yield-farming-active`.
    pub product: String,
    /// The part to withdraw.
    pub size: Size,
}

/// A part of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// This amount of the asset.
    Amount(String),
    /// This fraction of the position, above 0 and at most 1.
    Ratio(String),
}

/// The owner's authorization to move tokens to the wallet (EIP-3009 `TransferWithAuthorization`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The owner's signature: 65 bytes, or the bytes that a contract wallet accepts.
    pub signature: Bytes,
    /// The owner.
    pub from: Address,
    /// The wallet.
    pub to: Address,
    /// The amount, in the token's smallest unit.
    pub value: U256,
    /// The Unix second from which on it is valid.
    pub valid_after: U256,
    /// The Unix second from which on it is not valid any more.
    pub valid_before: U256,
    /// 32 random bytes.
    pub nonce: B256,
}
