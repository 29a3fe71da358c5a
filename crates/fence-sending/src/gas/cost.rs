//! What a plan's gas has cost.

use std::collections::BTreeSet;

use alloy_primitives::U256;
use delegation_fence::{Block, Event};
use fence_server::KeptSubmission;
use gas_funding::{MOST_TOP_UPS, arrived};
use tx_sender::Record;

use crate::key::Purpose;
use crate::{Fault, Shared, key};

impl Shared {
    /// What the plan's gas has cost so far, in micro US dollars, by the receipts of everything that
    /// stands in a sealed block: its transactions, and what was given for them. `None` where a
    /// receipt or the price of the chain's coin cannot be read.
    pub(crate) async fn cost_so_far(&self, kept: &KeptSubmission) -> Result<Option<u64>, Fault> {
        let admitted = &kept.admitted;
        let mut paid = U256::ZERO;
        let ordered = kept.events.iter().filter_map(|event| match event {
            Event::Ordered(transaction) => Some(*transaction),
            _ => None,
        });
        for transaction in ordered.collect::<BTreeSet<_>>() {
            let key = key::of(admitted, transaction, &kept.events);
            let Some(record) = self.sender.find(&key).await? else {
                continue;
            };
            match self.fee(&record).await? {
                Some(fee) => paid = paid.saturating_add(fee),
                None => return Ok(None),
            }
        }
        let (mut given, mut fees) = (U256::ZERO, U256::ZERO);
        for purpose in [Purpose::Steps, Purpose::Clearing] {
            for number in 0..MOST_TOP_UPS {
                let key = key::top_up(admitted, purpose, number);
                let Some(record) = self.sender.find(&key).await? else {
                    break;
                };
                given = given.saturating_add(arrived(&record));
                match self.fee(&record).await? {
                    Some(fee) => fees = fees.saturating_add(fee),
                    None => return Ok(None),
                }
            }
        }
        // The account pays out of what it was given, and keeps the rest.
        let wei = paid.max(given).saturating_add(fees);
        Ok(self.delegations.micro_usd(wei).await)
    }

    /// The fee of the transaction that a record has in a block; `None` while no node has the
    /// receipt.
    async fn fee(&self, record: &Record) -> Result<Option<U256>, Fault> {
        let own = |hash| record.attempts.iter().any(|attempt| attempt.hash == hash);
        // The nonce may have been used by somebody else, who pays for that.
        let Some(inclusion) = record.state.inclusion().filter(|at| own(at.hash)) else {
            return Ok(Some(U256::ZERO));
        };
        let block = Block {
            number: inclusion.number,
            hash: inclusion.block,
        };
        Ok(self.chain.cost(inclusion.hash, block).await?)
    }
}
