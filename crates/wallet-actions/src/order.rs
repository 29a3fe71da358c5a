//! The order: a paid request for one action.

use alloy_primitives::{Address, B256, Bytes, U256};
use custody::Owner;
use storage::postgres::Condition;

/// A paid request for one action of an owner's wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The owner of the wallet. The owner is also the payer.
    pub owner: Owner,
    /// Whether the owner's own key has signed. Otherwise the owner is a contract, which another
    /// chain may not have at this address.
    pub owner_is_key: bool,
    /// The digest of the payment's authorization. It buys one intent.
    pub payment: B256,
    /// The condition that the payment is still claimed for this call. The intent is stored only
    /// while the condition holds. `None` when no other server shares the database.
    pub claim: Option<Condition>,
    /// The Unix second after which the payment can no longer be settled. No action begins later. An
    /// action that has begun continues.
    pub begin_by: Option<u64>,
    /// The paid call, in a form by which the caller of this crate finds it after a restart. Answers
    /// never show it.
    pub call: String,
    /// The digest of the owner's purchase: the same for every payment with which the owner wants
    /// this action once. While an action of it may still be charged, another one is refused. `None`
    /// when only the payment counts.
    pub purchase: Option<B256>,
    /// The price of the call, in micro US dollars. The payment is verified already, and counts
    /// towards the owner's payments.
    pub price_micro_usd: u64,
    /// The transfer that pays for the call after the action. The principal must leave it to the
    /// owner. `None` when the call has no payment.
    pub charge: Option<Charge>,
    /// The requested action.
    pub action: Action,
    /// The authorization that moves the missing tokens to the wallet. `None` when the caller sends
    /// none.
    pub principal: Option<Principal>,
    /// From this Unix second on, no transaction is ordered, except those that complete or clear an
    /// effect.
    pub deadline: Option<u64>,
    /// The most slippage of a deposit or of its withdrawal, in basis points. It can only narrow the
    /// general limits. A swap has its own slippage.
    pub max_slippage_bps: Option<u64>,
    /// The most of a swap's or deposit's worth that may be lost, in basis points. It tightens the
    /// operator's limit, or loosens it up to the operator's ceiling. `None` means the operator's.
    pub max_price_impact_bps: Option<u32>,
}

/// A transfer from the owner's account that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The chain of the token.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// The amount, in the token's smallest unit.
    pub amount: U256,
}

/// The requested action. Amounts are in whole tokens, as the caller wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Swaps a token for another one on the same chain.
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
    /// How far the output may fall below the quote, in percent.
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
    /// The wallet or its owner. `None` means the wallet.
    pub recipient: Option<Address>,
}

/// A withdrawal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawOrder {
    /// The chain.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// The amount. `None` means the whole balance.
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
    /// The product. `None` when the protocol has only one for the asset.
    pub product_id: Option<String>,
    /// The fewest shares to accept. `None` when the caller sets no minimum.
    pub min_shares: Option<String>,
}

/// The withdrawal of a whole deposit, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivestOrder {
    /// The id of the product, or of its position in `/yield-farming-active`.
    pub product: String,
    /// The part to withdraw.
    pub size: Size,
}

/// A part of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// An amount of the asset.
    Amount(String),
    /// A fraction of the position, above 0 and at most 1.
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
    /// The authorization is valid after this Unix second.
    pub valid_after: U256,
    /// The authorization is valid before this Unix second.
    pub valid_before: U256,
    /// 32 random bytes.
    pub nonce: B256,
}
