//! Who has more and who has less after a transaction.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};

use super::{
    amount::Net,
    events::{Events, Standard, Transfer},
    fee::Fee,
    record::{Outcome, Record},
};

/// What somebody has more or less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// Whose.
    pub account: Address,
    /// Of what kind.
    pub standard: Standard,
    /// The token; `None` for the native coin.
    pub token: Option<Address>,
    /// Which one, of an NFT.
    pub token_id: Option<U256>,
}

/// A change of what somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Of what.
    pub holding: Holding,
    /// Whether it became less.
    pub negative: bool,
    /// By how many atoms.
    pub amount: U256,
}

/// The native coin that the transaction itself carries to its target.
#[must_use]
pub fn carried(record: &Record) -> Option<Transfer> {
    let created = record.receipt.as_ref().and_then(|receipt| receipt.created);
    let undone = record
        .receipt
        .as_ref()
        .is_some_and(|receipt| receipt.outcome == Outcome::Reverted);
    let to = record.transaction.to.or(created)?;
    (!undone && !record.transaction.value.is_zero()).then_some(Transfer {
        standard: Standard::Native,
        token: None,
        from: record.transaction.from,
        to,
        amount: record.transaction.value,
        token_id: None,
        log_index: None,
    })
}

/// The changes, as the logs, the carried coin and the fee tell them; accounts whose gains and losses cancel out are left
/// out. The second number counts holdings whose sums are beyond any real amount.
#[must_use]
pub fn changes(record: &Record, events: &Events, fee: Option<&Fee>) -> (Vec<Change>, usize) {
    let mut nets: BTreeMap<Holding, Net> = BTreeMap::new();
    let mut apply = |transfer: &Transfer| {
        let holding = |account| Holding {
            account,
            standard: transfer.standard,
            token: transfer.token,
            token_id: transfer.token_id,
        };
        // What is made comes from nobody, what is destroyed goes to nobody; wrapped coins stay with their contract.
        if !transfer.from.is_zero() {
            nets.entry(holding(transfer.from))
                .or_default()
                .lose(transfer.amount);
        }
        if !transfer.to.is_zero() {
            nets.entry(holding(transfer.to))
                .or_default()
                .gain(transfer.amount);
        }
    };
    for transfer in &events.transfers {
        apply(transfer);
    }
    // Where the chain logs every movement of its coin, the fee and the carried coin are among them.
    let logged = record.network.native_ledger.is_some()
        && events
            .transfers
            .iter()
            .any(|transfer| transfer.standard == Standard::Native);
    if !logged {
        for transfer in &events.native {
            apply(transfer);
        }
        if let Some(transfer) = carried(record) {
            apply(&transfer);
        }
        if let Some(fee) = fee {
            let holding = Holding {
                account: record.transaction.from,
                standard: Standard::Native,
                token: None,
                token_id: None,
            };
            nets.entry(holding).or_default().lose(fee.total);
        }
    }
    let mut unknown = 0_usize;
    let mut changes = Vec::new();
    for (holding, net) in nets {
        match net.signed() {
            Some((_, amount)) if amount.is_zero() => {}
            Some((negative, amount)) => changes.push(Change {
                holding,
                negative,
                amount,
            }),
            None => unknown = unknown.saturating_add(1),
        }
    }
    (changes, unknown)
}
