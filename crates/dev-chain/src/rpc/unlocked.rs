//! `eth_sendTransaction`: transactions of the accounts with public keys, which this chain signs
//! for, as development nodes do.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEnvelope, TxLegacy};
use alloy_primitives::{Address, B256, Signature, U256};
use alloy_rpc_types_eth::TransactionRequest;
use revm::context::TxEnv;
use serde_json::{Value, json};

use super::{calls, error::RpcError, fees::PRIORITY_FEE};
use crate::{DEV_ACCOUNTS, admission::Refusal, node::Node};

/// `eth_accounts`: the accounts that need no signature.
pub(super) fn accounts() -> Value {
    json!(DEV_ACCOUNTS.map(|account| account.address))
}

/// `eth_sendTransaction`: missing members are filled in as a wallet would.
pub(super) fn send(node: &mut Node, mut request: TransactionRequest) -> Result<Value, RpcError> {
    let known = |from: &Address| DEV_ACCOUNTS.iter().any(|account| account.address == *from);
    let sender = request
        .from
        .filter(known)
        .ok_or_else(|| RpcError::server("unknown account"))?;
    if request.blob_versioned_hashes.is_some() || request.authorization_list.is_some() {
        return Err(Refusal::TypeNotSupported.into());
    }
    let view = node
        .view(alloy_eips::BlockId::pending())
        .ok_or_else(RpcError::header_not_found)?;
    if request.gas_price.is_none() {
        let tip = request.max_priority_fee_per_gas.unwrap_or_else(|| {
            let tip = u128::from(PRIORITY_FEE);
            request.max_fee_per_gas.map_or(tip, |cap| tip.min(cap))
        });
        let twice = u128::from(view.context.base_fee).saturating_mul(2);
        request.max_priority_fee_per_gas = Some(tip);
        request
            .max_fee_per_gas
            .get_or_insert(twice.saturating_add(tip));
    }
    let gas = match request.gas {
        Some(gas) => gas,
        None => calls::estimate(view, request.clone())?,
    };
    let nonce = request.nonce.unwrap_or_else(|| {
        let mined = view.state.nonce(sender);
        node.pool.pending_nonce(sender, mined)
    });
    let legacy = request.gas_price.is_some();
    let tx = calls::to_env(request, view.context.chain_id, u64::MAX)?;
    let tx = TxEnv {
        gas_limit: gas,
        nonce,
        ..tx
    };
    let transaction = unsigned(tx, view.context.chain_id, legacy, sender);
    let hash: B256 = node.send_unlocked(sender, transaction)?;
    Ok(json!(hash))
}

/// The transaction, with its sender in place of a signature: equal transactions of two senders have
/// different hashes.
fn unsigned(tx: TxEnv, chain_id: u64, legacy: bool, sender: Address) -> TxEnvelope {
    let mark = Signature::new(U256::from_be_slice(sender.as_slice()), U256::ONE, false);
    let TxEnv {
        gas_limit,
        gas_price,
        gas_priority_fee,
        kind: to,
        value,
        data: input,
        nonce,
        access_list,
        ..
    } = tx;
    if !legacy {
        let transaction = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: gas_price,
            max_priority_fee_per_gas: gas_priority_fee.unwrap_or_default(),
            to,
            value,
            access_list,
            input,
        };
        return transaction.into_signed(mark).into();
    }
    if access_list.is_empty() {
        let transaction = TxLegacy {
            chain_id: Some(chain_id),
            nonce,
            gas_price,
            gas_limit,
            to,
            value,
            input,
        };
        return transaction.into_signed(mark).into();
    }
    let transaction = TxEip2930 {
        chain_id,
        nonce,
        gas_price,
        gas_limit,
        to,
        value,
        access_list,
        input,
    };
    transaction.into_signed(mark).into()
}
