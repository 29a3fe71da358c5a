//! The balance changes of a transaction, from its logs, its value and its fee.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256, address};

use super::{
    amount::Net,
    events::{Events, Standard, Transfer},
    fee::Fee,
    record::{ExecutionOutcome, Record},
};

/// An account and an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// The account.
    pub account: Address,
    /// The kind of asset.
    pub standard: Standard,
    /// The token; `None` for the native coin.
    pub token: Option<Address>,
    /// The id of an NFT.
    pub token_id: Option<U256>,
}

/// A change of a balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The account and the asset.
    pub holding: Holding,
    /// Whether the balance decreased.
    pub negative: bool,
    /// The size of the change, in atoms.
    pub amount: U256,
}

/// The system account of zkSync. It takes the fee and returns the unused part.
const BOOTLOADER: Address = address!("0000000000000000000000000000000000008001");

/// Returns the movements of native coin that the transaction itself makes: a deposit's coins for
/// its sender, and the value for its target.
#[must_use]
pub fn own_moves(record: &Record) -> Vec<Transfer> {
    let minted = record.transaction.minted.filter(|minted| !minted.is_zero());
    // A deposit creates its coins before the call, and they stay when the call is undone.
    let minted = minted.map(|amount| Transfer {
        standard: Standard::Native,
        token: None,
        from: Address::ZERO,
        to: record.transaction.from,
        amount,
        token_id: None,
        log_index: None,
    });
    minted.into_iter().chain(carried(record)).collect()
}

/// Whether the logs show every movement of the native coin. Then they also show the fee and the
/// value.
#[must_use]
pub fn native_is_logged(record: &Record, events: &Events) -> bool {
    record.network.native_ledger.is_some()
        && events
            .transfers
            .iter()
            .any(|transfer| transfer.standard == Standard::Native)
}

fn carried(record: &Record) -> Option<Transfer> {
    let created = record.receipt.as_ref().and_then(|receipt| receipt.created);
    let undone = record
        .receipt
        .as_ref()
        .is_some_and(|receipt| receipt.outcome == ExecutionOutcome::Reverted);
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

/// Returns the changes by the logs, the value and the fee. Leaves out accounts whose gains and
/// losses cancel out. The second number counts accounts whose sums exceed any real amount.
#[must_use]
pub fn changes(record: &Record, events: &Events, fee: Option<&Fee>) -> (Vec<Change>, usize) {
    summed(record, events, Cost::Paid(fee))
}

/// Returns the same changes without the fee.
#[must_use]
pub fn changes_without_fee(record: &Record, events: &Events) -> Vec<Change> {
    summed(record, events, Cost::LeftOut).0
}

/// How the fee counts in a sum.
enum Cost<'a> {
    /// The sender loses it, if it is known.
    Paid(Option<&'a Fee>),
    /// It does not count.
    LeftOut,
}

fn summed(record: &Record, events: &Events, cost: Cost<'_>) -> (Vec<Change>, usize) {
    let logged = native_is_logged(record, events);
    let mut nets: BTreeMap<Holding, Net> = BTreeMap::new();
    let mut apply = |transfer: &Transfer| {
        let holding = |account| Holding {
            account,
            standard: transfer.standard,
            token: transfer.token,
            token_id: transfer.token_id,
        };
        // Minted assets come from no account, and burned ones go to none. Wrapped coins stay with
        // their contract.
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
    let is_of_fee = |transfer: &Transfer| {
        transfer.standard == Standard::Native
            && (transfer.from == BOOTLOADER || transfer.to == BOOTLOADER)
    };
    for transfer in &events.transfers {
        if logged && matches!(cost, Cost::LeftOut) && is_of_fee(transfer) {
            continue;
        }
        apply(transfer);
    }
    if !logged {
        for transfer in &events.native {
            apply(transfer);
        }
        for transfer in own_moves(record) {
            apply(&transfer);
        }
        if let Cost::Paid(Some(fee)) = cost {
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
