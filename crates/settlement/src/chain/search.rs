//! Finding the transaction that has used an authorization.

use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::Filter;
use alloy_sol_types::SolEvent;
use x402_wire::AuthorizationKey;

use super::abi::Eip3009::{AuthorizationCanceled, AuthorizationUsed};
use super::rpc::{Rpc, RpcFault};
use crate::Cause;

/// How far back a transaction is searched for (`eth_getLogs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSearch {
    /// Blocks in one request. A node that refuses as many is asked for fewer.
    pub blocks_per_request: u64,
    /// Blocks in all, counted back from the newest one.
    pub max_blocks: u64,
}

impl Default for LogSearch {
    /// A day of one-second blocks, which is the longest life of an accepted authorization.
    fn default() -> Self {
        Self {
            blocks_per_request: 2_000,
            max_blocks: 90_000,
        }
    }
}

/// The fewest blocks that a node is asked for before its refusal is taken as one.
const MIN_BLOCKS: u64 = 16;

impl LogSearch {
    /// The newest transaction that used or cancelled the authorization, searched back from `head`.
    /// `Ok(None)` when there is none in the searched blocks.
    pub(crate) async fn find(
        self,
        rpc: &Rpc,
        key: &AuthorizationKey,
        head: u64,
    ) -> Result<Option<B256>, Cause> {
        let base = Filter::new()
            .address(key.asset)
            .event_signature(vec![
                AuthorizationUsed::SIGNATURE_HASH,
                AuthorizationCanceled::SIGNATURE_HASH,
            ])
            .topic1(word(key.payer))
            .topic2(key.nonce);
        let oldest = head.saturating_sub(self.max_blocks.saturating_sub(1));
        let mut width = self.blocks_per_request.max(1);
        let mut to = head;
        loop {
            let from = to.saturating_sub(width.saturating_sub(1)).max(oldest);
            match rpc.logs(&base.clone().from_block(from).to_block(to)).await {
                Ok(logs) => {
                    // Nodes that ignore a filter exist: whatever is found is judged by its receipt later.
                    if let Some(hash) = logs.iter().rev().find_map(|log| log.transaction_hash) {
                        return Ok(Some(hash));
                    }
                    if from <= oldest {
                        return Ok(None);
                    }
                    to = from.saturating_sub(1);
                }
                Err(RpcFault::Refused(_)) if width > MIN_BLOCKS => {
                    width = (width / 4).max(MIN_BLOCKS)
                }
                Err(fault) => return Err(fault.cause()),
            }
        }
    }
}

/// An address as a log topic.
fn word(address: Address) -> B256 {
    address.into_word()
}
