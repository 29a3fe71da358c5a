//! The cost of a plan's gas.

use std::collections::BTreeSet;

use alloy_primitives::U256;
use delegation_fence::{Block, Event};
use fence_server::KeptSubmission;
use gas_funding::{MOST_TOP_UPS, arrived};
use tx_sender::Record;

use crate::key::Purpose;
use crate::{SendingFault, Shared, key};

impl Shared {
    /// The cost of the plan's gas so far, in micro US dollars, from the receipts of its sealed
    /// transactions and of the top-ups for them. Returns `None` when a receipt or the price of the
    /// chain's coin cannot be read.
    pub(crate) async fn cost_so_far(
        &self,
        kept: &KeptSubmission,
    ) -> Result<Option<u64>, SendingFault> {
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
        // The account pays its fees from the top-ups and keeps the rest.
        let wei = paid.max(given).saturating_add(fees);
        Ok(self.delegations.micro_usd(wei).await)
    }

    /// The fee of the record's sealed transaction. Returns `None` while no node has the receipt.
    async fn fee(&self, record: &Record) -> Result<Option<U256>, SendingFault> {
        let own = |hash| record.attempts.iter().any(|attempt| attempt.hash == hash);
        // When a foreign transaction has used the nonce, its sender pays for it.
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
