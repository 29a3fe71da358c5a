//! Transfers and approvals, as logs state them. A contract can log anything, so a log is only a
//! claim of its contract.

mod executions;

use std::collections::BTreeSet;

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolEvent, sol};

pub use self::executions::{Executions, executions};
use super::{abi::Signature, builtin::PERMIT2, network::Network, record::Log};

mod declared {
    #![allow(missing_docs, reason = "the standards describe their events")]
    use super::sol;

    sol! {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
        event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
        event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
        event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);
        event Deposit(address indexed account, uint256 amount);
        event Withdrawal(address indexed account, uint256 amount);
    }

    pub(super) mod permit2 {
        use super::sol;
        sol! {
            event Approval(address indexed owner, address indexed token, address indexed spender, uint160 amount, uint48 expiration);
            event Permit(address indexed owner, address indexed token, address indexed spender, uint160 amount, uint48 expiration, uint48 nonce);
        }
    }
}

/// The kind of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standard {
    /// The chain's own coin.
    Native,
    /// A fungible token.
    Erc20,
    /// A token that exists once.
    Erc721,
    /// One of several tokens of one contract.
    Erc1155,
}

impl Standard {
    /// `native`, `erc20`, `erc721` or `erc1155`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Erc20 => "erc20",
            Self::Erc721 => "erc721",
            Self::Erc1155 => "erc1155",
        }
    }
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The kind of asset.
    pub standard: Standard,
    /// The token's contract. `None` for the native coin.
    pub token: Option<Address>,
    /// The sender. The zero address when the asset was minted.
    pub from: Address,
    /// The receiver. The zero address when the asset was burned.
    pub to: Address,
    /// The amount in atoms. One for an NFT.
    pub amount: U256,
    /// The id of an NFT.
    pub token_id: Option<U256>,
    /// The index of its log. `None` for the value that the transaction itself carries.
    pub log_index: Option<u64>,
}

/// A permission to spend the tokens of another account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The permission.
    pub grant: Grant,
    /// The token's contract.
    pub token: Address,
    /// The owner of the tokens.
    pub owner: Address,
    /// The account that may spend.
    pub spender: Address,
    /// The index of its log.
    pub log_index: u64,
}

/// The permission that an approval gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Spending up to an amount in atoms. Zero revokes the approval.
    Allowance(U256),
    /// Spending up to an amount through Permit2, until a Unix time in seconds.
    Permit2(U256, u64),
    /// Moving one NFT.
    Nft(U256),
    /// Moving all tokens of a collection. `false` revokes that.
    All(bool),
}

impl Grant {
    /// Whether the amount exceeds any supply. Then the approval is practically unlimited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        let bits = match self {
            Self::Allowance(amount) | Self::Permit2(amount, _) => amount.bit_len(),
            Self::Nft(_) => return false,
            Self::All(all) => return *all,
        };
        bits >= 96
    }
}

impl Approval {
    /// Whether it revokes an approval. Only one account is approved for an NFT at a time, and the
    /// zero address means none.
    #[must_use]
    pub fn is_revocation(&self) -> bool {
        match self.grant {
            Grant::Allowance(amount) | Grant::Permit2(amount, _) => amount.is_zero(),
            Grant::Nft(_) => self.spender.is_zero(),
            Grant::All(all) => !all,
        }
    }
}

/// The movements and approvals that the logs of a transaction state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Movements, in the order of the logs.
    pub transfers: Vec<Transfer>,
    /// Approvals, in the order of the logs.
    pub approvals: Vec<Approval>,
    /// Native coin that the wrapping contract took from an account or gave to one.
    pub native: Vec<Transfer>,
    /// The contract of each log that has the topic of a transfer and a form of no standard.
    pub unreadable: Vec<Address>,
}

/// Reads the logs of a transaction.
#[must_use]
pub fn read(network: &Network, logs: &[Log]) -> Events {
    let mut events = Events::default();
    for log in logs {
        one(network, log, &mut events);
    }
    events
}

/// Returns the contracts that logged a transfer or an approval of a token, each once, in the order
/// of their first log.
#[must_use]
pub fn tokens(network: &Network, logs: &[Log]) -> Vec<Address> {
    let events = read(network, logs);
    let mut seen = BTreeSet::new();
    let moved = events
        .transfers
        .iter()
        .filter_map(|transfer| transfer.token);
    let approved = events.approvals.iter().map(|approval| approval.token);
    moved
        .chain(approved)
        .filter(|token| seen.insert(*token))
        .collect()
}

fn one(network: &Network, log: &Log, events: &mut Events) {
    use declared as d;
    let Some(kind) = log.topics.first() else {
        return;
    };
    let words = |count: usize| log.topics.get(1..).filter(|rest| rest.len() == count);
    let (two, three) = (words(2), words(3));
    match *kind {
        d::Transfer::SIGNATURE_HASH => match transfer(network, log) {
            Some(transfer) => events.transfers.push(transfer),
            None => events.unreadable.push(log.address),
        },
        d::Approval::SIGNATURE_HASH => events.approvals.extend(approval(log)),
        d::ApprovalForAll::SIGNATURE_HASH => {
            let read = || {
                let [owner, operator] = addresses(two?)?;
                let all = number(&log.data)?;
                (all <= U256::ONE)
                    .then(|| approved(log, Grant::All(!all.is_zero()), owner, operator))
            };
            events.approvals.extend(read());
        }
        d::TransferSingle::SIGNATURE_HASH | d::TransferBatch::SIGNATURE_HASH => {
            match multi(log, three) {
                Some(transfers) => events.transfers.extend(transfers),
                None => events.unreadable.push(log.address),
            }
        }
        d::permit2::Approval::SIGNATURE_HASH | d::permit2::Permit::SIGNATURE_HASH
            if log.address == PERMIT2 =>
        {
            let read = || {
                let [owner, token, spender] = addresses(three?)?;
                let amount = number(log.data.get(..32)?)?;
                let expiration = u64::try_from(number(log.data.get(32..64)?)?).ok()?;
                let grant = Grant::Permit2(amount, expiration);
                Some(Approval {
                    token,
                    ..approved(log, grant, owner, spender)
                })
            };
            events.approvals.extend(read());
        }
        d::Deposit::SIGNATURE_HASH | d::Withdrawal::SIGNATURE_HASH
            if log.address == network.wrapped_native =>
        {
            wrapped(log, *kind == d::Deposit::SIGNATURE_HASH, events);
        }
        _ => {}
    }
}

/// Reads a transfer. ERC-20 has the amount in the data, and ERC-721 has the token id in a fourth
/// topic.
fn transfer(network: &Network, log: &Log) -> Option<Transfer> {
    let (standard, amount, token_id) = match log.topics.len() {
        3 => (Standard::Erc20, number(&log.data)?, None),
        4 if log.data.is_empty() => {
            let id = U256::from_be_bytes(log.topics.get(3)?.0);
            (Standard::Erc721, U256::ONE, Some(id))
        }
        _ => return None,
    };
    let [from, to] = addresses(log.topics.get(1..3)?)?;
    let native = network.native_ledger == Some(log.address);
    Some(Transfer {
        standard: if native { Standard::Native } else { standard },
        token: (!native).then_some(log.address),
        from,
        to,
        amount,
        token_id,
        log_index: Some(log.index),
    })
}

fn approval(log: &Log) -> Option<Approval> {
    let [owner, spender] = addresses(log.topics.get(1..3)?)?;
    let grant = match log.topics.len() {
        3 => Grant::Allowance(number(&log.data)?),
        4 if log.data.is_empty() => Grant::Nft(U256::from_be_bytes(log.topics.get(3)?.0)),
        _ => return None,
    };
    Some(approved(log, grant, owner, spender))
}

fn approved(log: &Log, grant: Grant, owner: Address, spender: Address) -> Approval {
    Approval {
        grant,
        token: log.address,
        owner,
        spender,
        log_index: log.index,
    }
}

/// Reads a transfer of ERC-1155: the operator, the sender and the receiver are topics, the ids and
/// the amounts are data.
fn multi(log: &Log, words: Option<&[B256]>) -> Option<Vec<Transfer>> {
    let [_, from, to] = addresses(words?)?;
    let transfer = |id: U256, amount: U256| Transfer {
        standard: Standard::Erc1155,
        token: Some(log.address),
        from,
        to,
        amount,
        token_id: Some(id),
        log_index: Some(log.index),
    };
    if log.topics.first() == Some(&declared::TransferSingle::SIGNATURE_HASH) {
        let [id, amount] = [number(log.data.get(..32)?)?, number(log.data.get(32..)?)?];
        return Some(vec![transfer(id, amount)]);
    }
    let lists = Signature::parse("batch(uint256[],uint256[])")?;
    let data = [lists.selector().as_slice(), &log.data].concat();
    let decoded = lists
        .decode(&data)
        .filter(|decoded| decoded.trailing == 0)?;
    let [DynSolValue::Array(ids), DynSolValue::Array(amounts)] = decoded.values.as_slice() else {
        return None;
    };
    if ids.len() != amounts.len() {
        return None;
    }
    let pairs = ids.iter().zip(amounts);
    pairs
        .map(|(id, amount)| Some(transfer(id.as_uint()?.0, amount.as_uint()?.0)))
        .collect()
}

/// Reads a wrapping or an unwrapping. The contract mints a token for each coin that it takes, and
/// burns one for each coin that it returns.
fn wrapped(log: &Log, deposit: bool, events: &mut Events) {
    let read = || {
        let [account] = addresses(log.topics.get(1..).filter(|words| words.len() == 1)?)?;
        Some((account, number(&log.data)?))
    };
    let Some((account, amount)) = read() else {
        return;
    };
    let moved = |standard, token, from, to| Transfer {
        standard,
        token,
        from,
        to,
        amount,
        token_id: None,
        log_index: Some(log.index),
    };
    let (token, zero) = (Some(log.address), Address::ZERO);
    let (wrapped, native) = if deposit {
        (
            moved(Standard::Erc20, token, zero, account),
            moved(Standard::Native, None, account, log.address),
        )
    } else {
        (
            moved(Standard::Erc20, token, account, zero),
            moved(Standard::Native, None, log.address, account),
        )
    };
    // Some wrapping contracts also log a transfer, which must not count twice.
    let twice = |known: &Transfer| {
        Transfer {
            log_index: None,
            ..known.clone()
        } == Transfer {
            log_index: None,
            ..wrapped.clone()
        } && known
            .log_index
            .is_some_and(|index| index.abs_diff(log.index) == 1)
    };
    if !events.transfers.iter().any(twice) {
        events.transfers.push(wrapped.clone());
    }
    events.native.push(native);
}

fn addresses<const N: usize>(words: &[B256]) -> Option<[Address; N]> {
    let address = |word: &B256| {
        let padding = word.get(..12)?.iter().all(|byte| *byte == 0);
        padding.then(|| Address::from_word(*word))
    };
    let read: Vec<Address> = words.iter().map(address).collect::<Option<_>>()?;
    read.try_into().ok()
}

fn number(data: &[u8]) -> Option<U256> {
    (data.len() == 32).then(|| U256::from_be_slice(data))
}

#[cfg(test)]
mod tests;
