//! One item of a history, in the form of an answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::Figure;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HistoryKind {
    /// A trade.
    Fill,
    /// A funding payment.
    Funding,
    /// A deposit, a withdrawal, a transfer, …
    Ledger,
}

/// One item of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HistoryItem {
    /// A trade.
    Fill(Fill),
    /// A funding payment.
    Funding(FundingPayment),
    /// A deposit, a withdrawal, a transfer, …
    Ledger(LedgerUpdate),
}

/// A trade of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fill {
    /// The number of the trade, or the hash of its transaction when the venue gives no number.
    pub id: String,
    /// When it happened.
    pub time: Timestamp,
    /// The coin.
    pub coin: String,
    /// `buy` or `sell`.
    pub side: &'static str,
    /// Its effect on the position, in the venue's words: `Open Long`.
    pub direction: String,
    /// The price, in dollars.
    pub px: Figure,
    /// The size, in coins.
    pub size: Figure,
    /// The position before it, in coins.
    pub position_before: Option<Figure>,
    /// The profit that it realised, in dollars.
    pub closed_pnl_usd: Option<Figure>,
    /// The fee in `fee_token`. Negative for a rebate.
    pub fee: Figure,
    /// The token of the fee.
    pub fee_token: Option<String>,
    /// Whether it took liquidity.
    pub taker: bool,
    /// The order's number.
    pub order_id: u64,
    /// The transaction.
    pub hash: String,
}

/// A funding payment of one position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FundingPayment {
    /// The venue's hash, which payments of one hour may share.
    pub id: String,
    /// When it happened.
    pub time: Timestamp,
    /// The coin.
    pub coin: String,
    /// The dollars that were received. Negative when paid.
    pub amount_usd: Figure,
    /// The position in coins. Negative when short.
    pub position: Figure,
    /// The rate per hour, as a fraction.
    pub rate: Figure,
}

/// A movement of funds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerUpdate {
    /// The transaction.
    pub id: String,
    /// When it happened.
    pub time: Timestamp,
    /// Its kind, in the venue's words: `deposit`, `withdraw`, `spotTransfer`, …
    #[serde(rename = "type")]
    pub what: String,
    /// The venue's other members, by the venue's names.
    pub details: BTreeMap<String, String>,
}

impl HistoryItem {
    /// When it happened.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Fill(fill) => fill.time,
            Self::Funding(payment) => payment.time,
            Self::Ledger(update) => update.time,
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> HistoryKind {
        match self {
            Self::Fill(_) => HistoryKind::Fill,
            Self::Funding(_) => HistoryKind::Funding,
            Self::Ledger(_) => HistoryKind::Ledger,
        }
    }

    /// Returns a sort key by which items of one moment always have the same order.
    pub(super) fn order(&self) -> (Timestamp, HistoryKind, &str, &str, u64, String) {
        let (id, name, number, rest) = match self {
            Self::Fill(fill) => (
                &fill.id,
                &fill.coin,
                fill.order_id,
                format!("{}@{}", fill.size, fill.px),
            ),
            Self::Funding(payment) => (
                &payment.id,
                &payment.coin,
                0,
                payment.amount_usd.to_string(),
            ),
            Self::Ledger(update) => (&update.id, &update.what, 0, format!("{:?}", update.details)),
        };
        (self.time(), self.kind(), id, name, number, rest)
    }
}
