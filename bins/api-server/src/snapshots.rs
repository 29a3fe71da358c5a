//! Datasets that are refreshed on a schedule and read from memory: the news, and the yields.
//!
//! Each dataset has one job. When several servers share a store, one of them gathers at a time and
//! the others load what it publishes. A dataset whose refresh fails keeps its last edition, which
//! ages. A restart begins with the edition in the store. Ages are computed on request and never
//! stored.

mod current;
mod dataset;
mod edition;
mod job;
mod news;
mod pace;
mod running;
pub(crate) mod yield_pools;

pub(crate) use self::current::{Absent, Current};
pub(crate) use self::dataset::{Dataset, Gathered};
pub(crate) use self::edition::Snapshot;
pub(crate) use self::job::Job;
pub(crate) use self::news::NewsDigest;
pub(crate) use self::pace::Pace;
pub(crate) use self::running::{Running, Snapshots, holder};
pub(crate) use self::yield_pools::YieldPools;
