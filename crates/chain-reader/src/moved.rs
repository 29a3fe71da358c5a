//! Sums the transfers of a token in the logs of a transaction.

use alloy_primitives::{Address, B256, U256, b256};

use crate::wire::WireLog;

/// `Transfer(address,address,uint256)`
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// The amounts of a token that a transaction moved to and from an account, in the token's smallest
/// unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// The amount that the account received.
    pub received: U256,
    /// The amount that the account sent.
    pub given: U256,
}

impl Moved {
    pub(crate) fn by(logs: &[WireLog], token: Address, account: Address) -> Self {
        let mut moved = Self::default();
        for log in logs {
            let [event, from, to] = log.topics.as_slice() else {
                continue;
            };
            if log.address != token || *event != TRANSFER || log.data.len() != 32 {
                continue;
            }
            let amount = U256::from_be_slice(&log.data);
            if Address::from_word(*to) == account {
                moved.received = moved.received.saturating_add(amount);
            }
            if Address::from_word(*from) == account {
                moved.given = moved.given.saturating_add(amount);
            }
        }
        moved
    }
}
