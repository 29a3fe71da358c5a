//! Datasets that are gathered on a schedule and read from memory: the news every hour, the yields.
//!
//! One job per dataset. Of several servers that share a store one gathers at a time, the others
//! follow what it publishes. A dataset that cannot be gathered keeps its last edition, which ages;
//! a restart begins with what is on the store. Ages are computed when somebody asks, never stored.

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
