//! Many calls in one: `aggregate3` of the deployed multicall contract. Each call may fail
//! separately.
//!
//! The calls of one request run on one block; more than 200 calls take several requests. The caller
//! decodes the returned bytes.

use std::time::Duration;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use jiff::Timestamp;
use serde_json::json;

use super::{CALL, CallOutcome, EvmReader, endpoints};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    provenance::{Provenance, Sourced},
};

/// Most calls in one.
const MAX_LEGS: usize = 200;
/// How far a block's time may be ahead of our clock.
const MAX_AHEAD: Duration = Duration::from_secs(600);

sol! {
    struct Call3 { address target; bool allowFailure; bytes callData; }
    #[derive(Debug)]
    struct Outcome3 { bool success; bytes returnData; }
    function aggregate3(Call3[] calls) external payable returns (Outcome3[] returnData);
    function getBlockNumber() external view returns (uint256 blockNumber);
    function getCurrentBlockTimestamp() external view returns (uint256 timestamp);
    function getEthBalance(address addr) external view returns (uint256 balance);
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The contract.
    pub to: Address,
    /// The calldata.
    pub data: Bytes,
}

/// The results of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The height of the block as contracts see it; on some rollups that is a block of layer 1.
    pub block: u64,
    /// The chain's own time of the block; the oldest one when several batches were sent.
    pub time: Timestamp,
    /// The data that each call returned; `None`, which is not zero, for a call that failed or
    /// returned nothing.
    pub results: Vec<Option<Bytes>>,
}

impl EvmReader {
    /// Makes all calls on the newest block, in batches.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers, or the chain's multicall contract does
    /// not.
    pub async fn multicall(&self, chain_id: u64, legs: &[Leg]) -> Result<Sourced<Batch>, Error> {
        let mut whole: Option<Batch> = None;
        let mut sources: Vec<Provenance> = Vec::new();
        // A batch without calls still reads the time of the block.
        let none: &[Leg] = &[];
        let parts = if legs.is_empty() {
            vec![none]
        } else {
            legs.chunks(MAX_LEGS).collect()
        };
        for part in parts {
            let Sourced {
                value,
                sources: from,
            } = self.batch(chain_id, part).await?;
            match &mut whole {
                None => whole = Some(value),
                Some(whole) => {
                    whole.block = whole.block.min(value.block);
                    whole.time = whole.time.min(value.time);
                    whole.results.extend(value.results);
                }
            }
            sources.extend(from);
        }
        let value = whole.ok_or_else(|| self.unusable(chain_id, "a batch", String::new()))?;
        sources.truncate(1);
        let time = value.time;
        Ok(Sourced { value, sources }.as_of(Some(time)))
    }

    /// The native balance of an account, as a call of a batch. The call returns one word.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] for a chain without nodes.
    pub fn native_balance_leg(&self, chain_id: u64, account: Address) -> Result<Leg, Error> {
        let to = self.chain(chain_id)?.network.multicall3;
        let data = getEthBalanceCall { addr: account }.abi_encode().into();
        Ok(Leg { to, data })
    }

    async fn batch(&self, chain_id: u64, legs: &[Leg]) -> Result<Sourced<Batch>, SourceError> {
        let multicall = self.chain(chain_id)?.network.multicall3;
        let own = |data: Vec<u8>| Call3 {
            target: multicall,
            allowFailure: false,
            callData: data.into(),
        };
        let asked = legs.iter().map(|leg| Call3 {
            target: leg.to,
            allowFailure: true,
            callData: leg.data.clone(),
        });
        let clock = [
            own(getBlockNumberCall {}.abi_encode()),
            own(getCurrentBlockTimestampCall {}.abi_encode()),
        ];
        let calls: Vec<Call3> = clock.into_iter().chain(asked).collect();
        let data = Bytes::from(aggregate3Call { calls }.abi_encode());
        let params = json!([{"to": format!("{multicall:#x}"), "data": data}, "latest"]);
        let Sourced { value, sources } = self.eth_call(chain_id, &params).await?;
        let returned = match value {
            CallOutcome::Returned(returned) => returned,
            CallOutcome::Reverted { message, .. } => {
                return Err(self.unusable(chain_id, "the result of a batch", message));
            }
        };
        let batch = read(&returned, legs.len());
        let batch = batch.ok_or_else(|| {
            let observed = format!("{} bytes", returned.len());
            self.unusable(chain_id, "the outcome of every call", observed)
        })?;
        if Duration::try_from(batch.time.duration_since(self.now()))
            .is_ok_and(|ahead| ahead > MAX_AHEAD)
        {
            return Err(self.unusable(chain_id, "a block of the past", batch.time.to_string()));
        }
        Ok(Sourced {
            value: batch,
            sources,
        })
    }

    fn unusable(&self, chain_id: u64, expected: &'static str, observed: String) -> SourceError {
        tracing::warn!(
            chain_id,
            call = CALL,
            expected,
            "answers of a node are not usable"
        );
        SourceError {
            source: endpoints::source(chain_id),
            kind: SourceErrorKind::Malformed {
                path: "$.result".to_owned(),
                expected,
                observed,
            },
        }
    }
}

/// Block, time and the outcomes of exactly `expected` calls; `None` for any other form.
fn read(returned: &[u8], expected: usize) -> Option<Batch> {
    let outcomes = aggregate3Call::abi_decode_returns(returned).ok()?;
    // Only the canonical encoding is accepted.
    if aggregate3Call::abi_encode_returns(&outcomes) != returned {
        return None;
    }
    let mut outcomes = outcomes.into_iter();
    let block = word(outcomes.next()?)?;
    let time = word(outcomes.next()?)?;
    let results: Vec<Option<Bytes>> = outcomes
        .map(|outcome| {
            (outcome.success && !outcome.returnData.is_empty()).then_some(outcome.returnData)
        })
        .collect();
    (results.len() == expected).then_some(Batch {
        block: u64::try_from(block).ok()?,
        time: Timestamp::from_second(i64::try_from(time).ok()?).ok()?,
        results,
    })
}

fn word(outcome: Outcome3) -> Option<U256> {
    let fits = outcome.success && outcome.returnData.len() == 32;
    fits.then(|| U256::from_be_slice(&outcome.returnData))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(outcomes: &[(bool, &[u8])]) -> Vec<u8> {
        let outcomes: Vec<Outcome3> = outcomes
            .iter()
            .map(|(success, data)| Outcome3 {
                success: *success,
                returnData: Bytes::copy_from_slice(data),
            })
            .collect();
        aggregate3Call::abi_encode_returns(&outcomes)
    }

    #[test]
    fn a_failed_call_is_not_zero() {
        let word = |n: u64| U256::from(n).to_be_bytes::<32>();
        let (block, time, balance) = (word(9), word(1_795_222_920), word(0));
        let returned = encode(&[
            (true, &block),
            (true, &time),
            (true, &balance),
            (false, &[]),
            (true, &[]),
            (false, &balance),
        ]);
        let batch = read(&returned, 4).unwrap();
        assert_eq!((batch.block, batch.time.as_second()), (9, 1_795_222_920));
        assert_eq!(
            batch.results,
            [Some(Bytes::copy_from_slice(&balance)), None, None, None]
        );
        assert_eq!(read(&returned, 3), None);
        assert_eq!(read(&returned, 5), None);
        assert_eq!(read(&[], 0), None);
        let mut longer = returned.clone();
        longer.extend([0; 32]);
        assert_eq!(read(&longer, 4), None);
        let no_time = encode(&[(true, &block), (false, &[])]);
        assert_eq!(read(&no_time, 0), None);
    }
}
