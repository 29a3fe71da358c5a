//! Searches the logs of the chain for the transaction that used an authorization.

use alloy_primitives::{Address, B256, U256};
use alloy_rpc_types_eth::Filter;
use alloy_sol_types::SolEvent;
use x402_wire::{AuthorizationKey, MAX_WINDOW_SECONDS};

use super::abi::Eip3009::{AuthorizationCanceled, AuthorizationUsed};
use super::rpc::{Head, Rpc, RpcFault};
use crate::{Cause, Malformation, RemoteCall};

/// How a transaction that used an authorization is searched for (`eth_getLogs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSearch {
    /// The blocks in one request. When a node refuses so many, the request is repeated with fewer.
    pub blocks_per_request: u64,
    /// How far before the end of the authorization the search begins, in seconds. Blocks are found
    /// by their times, because chains have different block times.
    pub seconds: u64,
}

impl Default for LogSearch {
    /// The longest life of an accepted authorization, and ten minutes more for clocks that differ.
    fn default() -> Self {
        Self {
            blocks_per_request: 2_000,
            seconds: MAX_WINDOW_SECONDS + 600,
        }
    }
}

/// When a node refuses this many blocks or fewer, the search fails.
const MIN_BLOCKS: u64 = 16;

/// How exactly a block is found by its time, in blocks. The search reads up to that many blocks
/// more than necessary.
const PRECISION: u64 = 64;

impl LogSearch {
    /// Returns the newest transaction that used or cancelled the authorization, from the begin of
    /// the searched time to the block `head`. `Ok(None)` when there is none.
    pub(crate) async fn find(
        self,
        rpc: &Rpc,
        key: &AuthorizationKey,
        valid_before: U256,
        head: &Head,
    ) -> Result<Option<B256>, Cause> {
        let base = Filter::new()
            .address(key.asset)
            .event_signature(vec![
                AuthorizationUsed::SIGNATURE_HASH,
                AuthorizationCanceled::SIGNATURE_HASH,
            ])
            .topic1(word(key.payer))
            .topic2(key.nonce);
        let begin = valid_before
            .saturating_to::<u64>()
            .saturating_sub(self.seconds);
        // A cancellation has no end time, so the search ends with the newest block.
        let oldest = block_at(rpc, begin, head).await?;
        let mut width = self.blocks_per_request.max(1);
        let mut to = head.number();
        loop {
            let from = to.saturating_sub(width.saturating_sub(1)).max(oldest);
            match rpc.logs(&base.clone().from_block(from).to_block(to)).await {
                Ok(logs) => {
                    // Some nodes ignore a filter. So the receipt of every found transaction is
                    // judged later.
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

/// Returns the number of a block before `time` (Unix seconds), or of the first block. It is at most
/// [`PRECISION`] before the first block at or after that time.
async fn block_at(rpc: &Rpc, time: u64, head: &Head) -> Result<u64, Cause> {
    let is_before = async |number: u64| {
        let block = rpc.block(number).await.map_err(RpcFault::cause)?;
        let missing = Cause::Malformed {
            call: RemoteCall::Rpc("eth_getBlockByNumber"),
            detail: Malformation::RpcResult,
        };
        Ok::<_, Cause>(block.ok_or(missing)?.timestamp() < time)
    };
    if head.timestamp() < time {
        return Ok(head.number());
    }
    // Goes back in doubling steps. Then bisects between a block before the time and a block at or
    // after it.
    let (mut high, mut step) = (head.number(), PRECISION);
    let mut low = loop {
        let low = high.saturating_sub(step);
        if low == 0 || is_before(low).await? {
            break low;
        }
        high = low;
        step = step.saturating_mul(2);
    };
    while high.saturating_sub(low) > PRECISION {
        let middle = low.midpoint(high);
        if is_before(middle).await? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Returns an address as a topic of a log.
fn word(address: Address) -> B256 {
    address.into_word()
}
