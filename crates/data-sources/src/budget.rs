//! Limits how often upstreams are asked: budgets that are never exceeded, pauses on an upstream's
//! request, and quotas of days and months.
//!
//! - A **budget** ([`Rate`]) bounds the weight of the calls in any stretch of time of its length.
//!   It is a sliding window: there is no burst on top of it.
//! - A **family** ([`Families`]) is what one budget covers. A pause that the upstream asks for
//!   covers the same family and nothing else. With a [`QuotaStore`], the use of windows of a minute
//!   and longer survives a restart.
//! - A **reserve** is the part of budgets and quotas that is not for newcomers
//!   ([`Caller`](crate::Caller)).
//! - A **quota** ([`QuotaSpec`]) bounds the calls of a day or a month. It survives a restart
//!   through a [`QuotaStore`], and is paced: see [`QuotaSpec`].

mod gate;
mod kept;
mod quota;
mod rate;
mod store;
mod toll;
mod window;

use jiff::Timestamp;

pub(crate) use self::{
    gate::{Gate, Reported},
    store::Quotas,
    toll::Toll,
};
pub use self::{
    quota::QuotaSpec,
    rate::{Families, Family, Rate},
};
pub use credit::{QuotaStore, QuotaStoreError, Stored};

/// The remaining budget of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// The family: the upstream's name, with the family's own name when the upstream has several.
    pub family: String,
    /// Weight that calls may take now.
    pub left: u32,
    /// Weight that calls may take in any `window_seconds`.
    pub limit: u32,
    /// The part of `limit` that newcomers may take.
    pub common: u32,
    /// Length of the window.
    pub window_seconds: u32,
    /// Seconds until the family is asked again, while a pause holds.
    pub held_seconds: Option<u64>,
}

/// The remaining part of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaState {
    /// Calls that are left until `resets_at`.
    pub left: u64,
    /// Calls that the whole day or month allows.
    pub limit: u64,
    /// When the next day or month begins.
    pub resets_at: Timestamp,
}

/// The part of a limit that is left for newcomers when `reserved_percent` of it is reserved.
fn common<T>(limit: T, reserved_percent: u8) -> T
where
    T: Copy + Into<u64> + TryFrom<u64>,
{
    let reserved = limit
        .into()
        .saturating_mul(reserved_percent.min(100).into())
        / 100;
    // A part of a limit fits where the limit fits.
    T::try_from(limit.into().saturating_sub(reserved)).unwrap_or(limit)
}
