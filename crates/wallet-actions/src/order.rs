//! What is asked.

use alloy_primitives::{Address, B256, Bytes, U256};
use custody::Owner;

/// An action that was paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Whose wallet acts: who pays.
    pub owner: Owner,
    /// The digest of the payment's authorization: one payment buys one intent.
    pub payment: B256,
    /// The call that was paid for, as whoever took it wants to find it again after a restart. It is
    /// never shown.
    pub call: String,
    /// What the call costs, in micro US dollars: the payment is verified, and counts to what the
    /// owner has paid.
    pub price_micro_usd: u64,
    /// What is to be done.
    pub action: Action,
    /// What brings the principal to the wallet, if it is not there yet.
    pub principal: Option<Principal>,
    /// The Unix second from which on nothing is to be sent.
    pub deadline: Option<u64>,
    /// How far what a deposit or its end brings may fall below what goes in, in basis points. It
    /// only narrows the limits that hold for everybody; a swap has a slippage of its own.
    pub max_slippage_bps: Option<u64>,
}

/// What is to be done. Amounts are as the caller wrote them, in whole tokens.
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
    /// Takes a deposit back to the wallet.
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
    /// How much is sold.
    pub amount: String,
    /// The most that the output may fall below the quoted one, in percent.
    pub slippage_pct: String,
}

/// A bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeOrder {
    /// The chain that the token leaves.
    pub from_chain: u64,
    /// The chain that it reaches.
    pub to_chain: u64,
    /// USDC on the source chain.
    pub token: Address,
    /// How much leaves.
    pub amount: String,
    /// The wallet or its owner; the wallet when absent.
    pub recipient: Option<Address>,
}

/// A withdrawal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawOrder {
    /// The chain.
    pub chain_id: u64,
    /// The token.
    pub token: Address,
    /// How much; all of it when absent.
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
    /// How much of the asset.
    pub amount: String,
    /// The product, where the protocol has several of the asset.
    pub product_id: Option<String>,
    /// The least shares to accept.
    pub min_shares: Option<String>,
}

/// The end of a deposit, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DivestOrder {
    /// The product, or the position as `/yield-farming-active` names it.
    pub product: String,
    /// How much.
    pub size: Size,
}

/// How much of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// So much of the asset.
    Amount(String),
    /// This share of the position, above 0 and at most 1.
    Ratio(String),
}

/// An authorization of the owner to move tokens to its wallet (EIP-3009
/// `TransferWithAuthorization`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The owner's signature: 65 bytes, or what a contract wallet takes.
    pub signature: Bytes,
    /// The owner.
    pub from: Address,
    /// The wallet.
    pub to: Address,
    /// How much, in the token's smallest unit.
    pub value: U256,
    /// The Unix second from which on it is valid.
    pub valid_after: U256,
    /// The Unix second from which on it is not valid any more.
    pub valid_before: U256,
    /// 32 random bytes.
    pub nonce: B256,
}
