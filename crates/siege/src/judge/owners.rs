//! The judgements of the promises to the owners of sub-wallets.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};

use super::{Evidence, Finding, Purse, STRANGERS_REVOCATIONS};
use crate::bank::Token;
use crate::owner::{DELEGATE, OWNER, THIEF};
use crate::record::{Fate, Order};

pub(super) const MONEY: &str = "nobody has less than its own orders explain";
pub(super) const ONE_WALLET: &str = "a payer has one wallet, and a wallet one payer";
pub(super) const WALLETS_PAID: &str = "wallets are made for those who pay";
pub(super) const REVOCATIONS: &str = "an acknowledged revocation is kept";

/// The default charge for a wallet that stays although the call that made it ended uncharged. The
/// payer's credit pays it, or the pool for newcomers.
pub(super) const KEPT_MICRO_USD: u64 = 5_000;

/// Judges every owner's money: in each token at least what it had at first, less the charges for
/// its calls and what its orders took, more what they brought. An order of which nobody knows
/// whether it was carried out may have taken and need not have brought.
pub(super) fn money(evidence: &Evidence) -> Finding {
    let orders = &evidence.seen.orders;
    let mut broken = Vec::new();
    for purse in &evidence.purses {
        let own: Vec<&Order> = orders
            .iter()
            .filter(|order| order.owner == purse.owner)
            .collect();
        for (token, at_first) in &purse.at_first {
            let (taken, brought) = explained(&own, *token);
            let charged = charged(evidence, purse, *token);
            let least = at_first.saturating_add(brought);
            let least = least.saturating_sub(charged).saturating_sub(taken);
            let has = purse.at_end.get(token).copied().unwrap_or_default();
            if has < least {
                broken.push(format!(
                    "{} has {has} of {token}, and at least {least} are explained: {at_first} at first, \
                     {charged} charged, {taken} taken, {brought} brought",
                    purse.owner
                ));
            }
        }
    }
    for (token, amount) in evidence
        .stolen
        .iter()
        .filter(|(_, amount)| !amount.is_zero())
    {
        broken.push(format!("the thief has {amount} of {token}"));
    }
    let done = |by: &str| {
        let done = orders
            .iter()
            .filter(|order| order.by == by && order.fate == Fate::Done);
        done.count()
    };
    let (own, delegates, thiefs) = (done(OWNER), done(DELEGATE), done(THIEF));
    if evidence.purses.is_empty() || own == 0 || delegates == 0 {
        broken.push("no owner's or no delegate's order was carried out".to_owned());
    }
    let open = orders
        .iter()
        .filter(|order| !matches!(order.fate, Fate::Done | Fate::Undone));
    Finding {
        promise: MONEY,
        measured: format!(
            "{} owners; carried out: {own} orders of owners, {delegates} of delegates, {thiefs} with a \
             stolen key; {} of {} without an end",
            evidence.purses.len(),
            open.count(),
            orders.len()
        ),
        broken,
    }
}

/// What orders took of a token, and what they brought of it.
fn explained(orders: &[&Order], token: Token) -> (U256, U256) {
    let (mut taken, mut brought) = (U256::ZERO, U256::ZERO);
    for order in orders.iter().filter(|order| order.fate != Fate::Undone) {
        if order.gives.0 == token {
            taken = taken.saturating_add(order.gives.1);
        }
        if order.gets.0 == token && order.fate == Fate::Done {
            brought = brought.saturating_add(order.gets.1);
        }
    }
    (taken, brought)
}

/// What an owner was charged in a token.
fn charged(evidence: &Evidence, purse: &Purse, token: Token) -> U256 {
    let charges = evidence.charges.iter();
    let own = charges.filter(|charge| {
        charge.key.payer == purse.owner && Token::paid_with(charge.key.asset) == token
    });
    own.map(|charge| U256::from(charge.amount))
        .fold(U256::ZERO, U256::saturating_add)
}

/// Judges the wallets that payers were told.
pub(super) fn one_wallet(told: &BTreeSet<(Address, Address)>) -> Finding {
    let mut of: BTreeMap<Address, Address> = BTreeMap::new();
    let mut by: BTreeMap<Address, Address> = BTreeMap::new();
    let mut broken = Vec::new();
    for (payer, wallet) in told {
        let first = *of.entry(*payer).or_insert(*wallet);
        if first != *wallet {
            broken.push(format!("{payer} was told {first} and {wallet}"));
        }
        let first = *by.entry(*wallet).or_insert(*payer);
        if first != *payer {
            broken.push(format!("{first} and {payer} were told {wallet}"));
        }
    }
    if told.is_empty() {
        broken.push("nobody was told a wallet".to_owned());
    }
    Finding {
        promise: ONE_WALLET,
        measured: format!("{} payers, {} wallets", of.len(), by.len()),
        broken,
    }
}

/// Judges for whom wallets were made. The pools for newcomers pay for those of payers who were
/// never charged.
pub(super) fn wallets_paid(evidence: &Evidence) -> Finding {
    let payers: BTreeSet<Address> = evidence
        .charges
        .iter()
        .map(|charge| charge.key.payer)
        .collect();
    let unpaid = evidence
        .wallet_owners
        .iter()
        .filter(|owner| !payers.contains(*owner));
    let unpaid = u64::try_from(unpaid.count()).unwrap_or(u64::MAX);
    let servers = u64::try_from(evidence.testimonies.len()).unwrap_or(u64::MAX);
    let (cost, most) = (
        unpaid.saturating_mul(KEPT_MICRO_USD),
        evidence.pool.saturating_mul(servers),
    );
    let mut broken = Vec::new();
    if cost > most {
        broken.push(format!("{cost} are more than {most} micro-USD"));
    }
    Finding {
        promise: WALLETS_PAID,
        measured: format!(
            "{} wallets, {unpaid} of payers who were never charged; {cost} of at most {most} micro-USD",
            evidence.wallet_owners.len()
        ),
        broken,
    }
}

/// Judges the revocations of strangers that the servers have acknowledged.
pub(super) fn revocations(shown: &BTreeMap<String, String>) -> Finding {
    let lost = shown.iter().filter(|(_, state)| *state != "revoked");
    let mut broken: Vec<String> = lost
        .map(|(path, state)| format!("{path}: {state}"))
        .collect();
    if shown.len() > STRANGERS_REVOCATIONS {
        broken.push(format!(
            "{} of strangers are kept, and there is room for {STRANGERS_REVOCATIONS}",
            shown.len()
        ));
    }
    if shown.is_empty() {
        broken.push("none was acknowledged".to_owned());
    }
    Finding {
        promise: REVOCATIONS,
        measured: format!(
            "{} of at most {STRANGERS_REVOCATIONS} of strangers",
            shown.len()
        ),
        broken,
    }
}
