//! The admission of raw transactions to the pool, with the error messages of go-ethereum.
//!
//! It judges a transaction against the state of its sender. The [`Pool`](crate::pool::Pool) judges
//! it against other waiting transactions.

use alloy_consensus::{
    Transaction as _, TxEnvelope, Typed2718, crypto::SECP256K1N_HALF, transaction::Recovered,
};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, U256};
use revm::{context::TxEnv, context_interface::cfg::GasParams};

use crate::{
    evm::{BlockContext, SPEC},
    rollup::RollupFees,
    state::StateAt,
};

/// The reason why a raw transaction was refused. The messages are those that clients of go-ethereum
/// look for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("rlp: {0}")]
    Undecodable(String),
    #[error("transaction type not supported")]
    TypeNotSupported,
    #[error("only replay-protected (EIP-155) transactions allowed over RPC")]
    NotReplayProtected,
    #[error("invalid sender: invalid chain id for signer: have {have} want {want}")]
    WrongChain { have: u64, want: u64 },
    #[error("invalid sender: invalid transaction v, r, s values")]
    InvalidSignature,
    #[error("exceeds block gas limit")]
    ExceedsBlockGasLimit,
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    #[error(
        "max fee per gas less than block base fee: address {sender}, maxFeePerGas: {fee_cap}, baseFee: {base_fee}"
    )]
    FeeCapBelowBaseFee {
        sender: Address,
        fee_cap: u128,
        base_fee: u64,
    },
    #[error("intrinsic gas too low: gas {gas}, minimum needed {needed}")]
    IntrinsicGas { gas: u64, needed: u64 },
    #[error("insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}")]
    FloorGas { gas: u64, needed: u64 },
    #[error("max initcode size exceeded")]
    InitCodeTooLarge,
    #[error("sender not an eoa: address {sender}")]
    SenderHasCode { sender: Address },
    #[error("nonce too low: next nonce {next}, tx nonce {nonce}")]
    NonceTooLow { next: u64, nonce: u64 },
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {overshot}"
    )]
    InsufficientFunds {
        balance: U256,
        cost: U256,
        overshot: U256,
    },
    #[error("already known")]
    AlreadyKnown,
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
    #[error("transaction underpriced: gas tip cap {tip}, minimum needed {least}")]
    TipTooLow { tip: u128, least: u128 },
}

/// Longest code that a creating transaction may carry (EIP-3860).
const MAX_INITCODE_BYTES: usize = 49_152;

/// Decodes a raw transaction, recovers its sender and makes all checks that do not depend on other
/// transactions in the pool. `block` is the block that would include it.
pub(crate) fn admit(
    raw: &[u8],
    state: StateAt<'_>,
    block: BlockContext,
) -> Result<Recovered<TxEnvelope>, Refusal> {
    let transaction = TxEnvelope::decode_2718_exact(raw)
        .map_err(|error| Refusal::Undecodable(error.to_string()))?;
    check_type(&transaction, block)?;
    let sender = recover(&transaction)?;
    admit_from(sender, transaction, state, block)
}

/// [`admit`] for a transaction whose sender is known without a signature.
pub(crate) fn admit_unlocked(
    sender: Address,
    transaction: TxEnvelope,
    state: StateAt<'_>,
    block: BlockContext,
) -> Result<Recovered<TxEnvelope>, Refusal> {
    check_type(&transaction, block)?;
    admit_from(sender, transaction, state, block)
}

fn check_type(transaction: &TxEnvelope, block: BlockContext) -> Result<(), Refusal> {
    if transaction.is_eip4844() || transaction.is_eip7702() {
        return Err(Refusal::TypeNotSupported);
    }
    let chain_id = transaction.chain_id().ok_or(Refusal::NotReplayProtected)?;
    if chain_id != block.chain_id {
        return Err(Refusal::WrongChain {
            have: chain_id,
            want: block.chain_id,
        });
    }
    Ok(())
}

fn admit_from(
    sender: Address,
    transaction: TxEnvelope,
    state: StateAt<'_>,
    block: BlockContext,
) -> Result<Recovered<TxEnvelope>, Refusal> {
    check_gas(&transaction, sender, block)?;
    let code = state.code(sender);
    if !code.is_empty() && !code.starts_with(&[0xef, 0x01, 0x00]) {
        return Err(Refusal::SenderHasCode { sender });
    }
    let next = state.nonce(sender);
    if transaction.nonce() < next {
        return Err(Refusal::NonceTooLow {
            next,
            nonce: transaction.nonce(),
        });
    }
    let cost = cost(&transaction).saturating_add(RollupFees::of(state).total());
    let balance = state.balance(sender);
    if let Some(overshot) = cost
        .checked_sub(balance)
        .filter(|overshot| !overshot.is_zero())
    {
        return Err(Refusal::InsufficientFunds {
            balance,
            cost,
            overshot,
        });
    }
    Ok(Recovered::new_unchecked(transaction, sender))
}

/// The transaction in the EVM's form.
pub(crate) fn to_env(transaction: &Recovered<TxEnvelope>) -> TxEnv {
    TxEnv {
        tx_type: transaction.ty(),
        caller: transaction.signer(),
        gas_limit: transaction.gas_limit(),
        gas_price: transaction.max_fee_per_gas(),
        kind: transaction.kind(),
        value: transaction.value(),
        data: transaction.input().clone(),
        nonce: transaction.nonce(),
        chain_id: transaction.chain_id(),
        access_list: transaction.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: transaction.max_priority_fee_per_gas(),
        ..TxEnv::default()
    }
}

/// Checks that the transaction offers at least this tip.
pub(crate) fn check_tip(transaction: &TxEnvelope, least: u128) -> Result<(), Refusal> {
    let tip = transaction.max_priority_fee_per_gas();
    let tip = tip.unwrap_or_else(|| transaction.max_fee_per_gas());
    match tip < least {
        true => Err(Refusal::TipTooLow { tip, least }),
        false => Ok(()),
    }
}

/// The most that the gas and the value of the transaction can take from its sender, in wei.
fn cost(transaction: &TxEnvelope) -> U256 {
    U256::from(transaction.gas_limit())
        .saturating_mul(U256::from(transaction.max_fee_per_gas()))
        .saturating_add(transaction.value())
}

fn recover(transaction: &TxEnvelope) -> Result<Address, Refusal> {
    let signature = transaction.signature();
    if signature.s() > SECP256K1N_HALF {
        return Err(Refusal::InvalidSignature);
    }
    signature
        .recover_address_from_prehash(&transaction.signature_hash())
        .map_err(|_| Refusal::InvalidSignature)
}

fn check_gas(
    transaction: &TxEnvelope,
    sender: Address,
    block: BlockContext,
) -> Result<(), Refusal> {
    let gas = transaction.gas_limit();
    if gas > block.gas_limit {
        return Err(Refusal::ExceedsBlockGasLimit);
    }
    let fee_cap = transaction.max_fee_per_gas();
    if transaction
        .max_priority_fee_per_gas()
        .is_some_and(|tip| tip > fee_cap)
    {
        return Err(Refusal::TipAboveFeeCap);
    }
    if fee_cap < u128::from(block.base_fee) {
        return Err(Refusal::FeeCapBelowBaseFee {
            sender,
            fee_cap,
            base_fee: block.base_fee,
        });
    }
    if transaction.is_create() && transaction.input().len() > MAX_INITCODE_BYTES {
        return Err(Refusal::InitCodeTooLarge);
    }
    let env = to_env(&Recovered::new_unchecked(transaction.clone(), sender));
    let needed = GasParams::new_spec(SPEC).initial_tx_gas_for_tx(env, None);
    let intrinsic = needed
        .initial_regular_gas
        .saturating_add(needed.initial_state_gas);
    if gas < intrinsic {
        return Err(Refusal::IntrinsicGas {
            gas,
            needed: intrinsic,
        });
    }
    if gas < needed.floor_gas {
        return Err(Refusal::FloorGas {
            gas,
            needed: needed.floor_gas,
        });
    }
    Ok(())
}
