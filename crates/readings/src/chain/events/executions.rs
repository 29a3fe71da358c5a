//! The outcomes of calls that a contract made for others. A transaction can succeed although such a
//! call failed.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolEvent, sol};

use super::number;
use crate::chain::record::Log;

mod declared {
    #![allow(missing_docs, reason = "the contracts describe their events")]
    use super::sol;

    sol! {
        event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed);
        event ExecutionSuccess(bytes32 txHash, uint256 payment);
        event ExecutionFailure(bytes32 txHash, uint256 payment);
        event ExecutionFailed(bytes32 txHash);
    }
}

/// How many calls for others succeeded and how many failed, as the contract that made them logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// Calls that took effect.
    pub succeeded: usize,
    /// Calls that failed.
    pub failed: usize,
}

/// Returns the executions that `contract` logged, for operations of ERC-4337 accounts and for
/// Safes.
#[must_use]
pub fn executions(logs: &[Log], contract: Address) -> Executions {
    let mut found = Executions::default();
    for log in logs.iter().filter(|log| log.address == contract) {
        match outcome(log) {
            Some(true) => found.succeeded = found.succeeded.saturating_add(1),
            Some(false) => found.failed = found.failed.saturating_add(1),
            None => {}
        }
    }
    found
}

fn outcome(log: &Log) -> Option<bool> {
    use declared as d;
    let kind = *log.topics.first()?;
    // Safes since 1.4 have the hash in the topics. Earlier ones have it in the data.
    let words = |count: usize| {
        let in_topics = log.topics.len().checked_sub(1)?;
        let in_data = log.data.len() / 32;
        let fits = log.data.len().is_multiple_of(32) && in_topics <= 1;
        (fits && in_topics.checked_add(in_data)? == count).then_some(())
    };
    match kind {
        d::UserOperationEvent::SIGNATURE_HASH => {
            let fits = log.topics.len() == 4 && log.data.len() == 128;
            let success = number(log.data.get(32..64).filter(|_| fits)?)?;
            (success <= U256::ONE).then(|| !success.is_zero())
        }
        d::ExecutionSuccess::SIGNATURE_HASH => words(2).map(|()| true),
        d::ExecutionFailure::SIGNATURE_HASH => words(2).map(|()| false),
        d::ExecutionFailed::SIGNATURE_HASH => words(1).map(|()| false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, Bytes, b256};

    use super::*;

    const SAFE: Address = Address::repeat_byte(0x5a);

    fn log(address: Address, topics: Vec<B256>, words: &[u64]) -> Log {
        let data: Vec<u8> = words
            .iter()
            .flat_map(|word| U256::from(*word).to_be_bytes::<32>())
            .collect();
        Log {
            address,
            topics,
            data: Bytes::from(data),
            index: 1,
        }
    }

    #[test]
    fn topics_are_the_published_ones() {
        use declared as d;
        assert_eq!(
            d::UserOperationEvent::SIGNATURE_HASH,
            b256!("49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f")
        );
        assert_eq!(
            d::ExecutionSuccess::SIGNATURE_HASH,
            b256!("442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e")
        );
        assert_eq!(
            d::ExecutionFailure::SIGNATURE_HASH,
            b256!("23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23")
        );
    }

    #[test]
    fn operations_say_whether_they_took_effect() {
        let topic = declared::UserOperationEvent::SIGNATURE_HASH;
        let topics = vec![topic, B256::ZERO, B256::ZERO, B256::ZERO];
        let logs = [
            log(SAFE, topics.clone(), &[1, 1, 5, 5]),
            log(SAFE, topics.clone(), &[1, 0, 5, 5]),
            // These logs are from another contract, have another form, or have a value that is
            // neither yes nor no.
            log(Address::ZERO, topics.clone(), &[1, 0, 5, 5]),
            log(SAFE, topics.clone(), &[1, 0, 5]),
            log(SAFE, topics, &[1, 2, 5, 5]),
        ];
        let expected = Executions {
            succeeded: 1,
            failed: 1,
        };
        assert_eq!(executions(&logs, SAFE), expected);
    }

    #[test]
    fn safes_of_every_version_say_that_they_failed() {
        let failure = declared::ExecutionFailure::SIGNATURE_HASH;
        let oldest = declared::ExecutionFailed::SIGNATURE_HASH;
        for failed in [
            log(SAFE, vec![failure], &[7, 0]),
            log(SAFE, vec![failure, B256::ZERO], &[0]),
            log(SAFE, vec![oldest], &[7]),
        ] {
            assert_eq!(executions(&[failed], SAFE).failed, 1);
        }
        let odd = log(SAFE, vec![failure], &[7, 0, 0]);
        assert_eq!(executions(&[odd], SAFE), Executions::default());
        let success = declared::ExecutionSuccess::SIGNATURE_HASH;
        let done = log(SAFE, vec![success, B256::ZERO], &[0]);
        assert_eq!(executions(&[done], SAFE).succeeded, 1);
    }
}
