//! The port to turns on accounts. A turn lets one work submit for an account, and keeps other works
//! out.

use std::time::Duration;

use alloy_primitives::Address;

use super::StoreFuture;

/// The right to submit for an account that several processes send for. A later holder has a higher
/// token, and [`Store::insert_in_turn`](super::Store::insert_in_turn) refuses a lower one. So a
/// process that was suspended for longer than its lease cannot submit under it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnFence {
    /// The account whose turn it is. It may differ from the account that signs.
    pub account: Address,
    /// A number that rises each time the turn is taken.
    pub token: u64,
}

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The work is finished. Any work may follow.
    Finished,
    /// The work continues later. For a while only the same work may follow.
    Interrupted,
}

/// Durable turns on accounts. Between two transactions of one work that belong together, no other
/// work submits for the account, in any process.
///
/// A turn is a lease. It ends with [`Self::end_turn`], or when it is not renewed in time. A work
/// whose turn has ended without [`TurnEnd::Finished`] comes first: other works wait for the length
/// of one more lease. So the unfinished work of a dead process continues before any other work
/// begins.
pub trait TurnStore: Send + Sync + 'static {
    /// Takes the account's turn for the work with this name. `None` while the turn is not free for
    /// it.
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>>;

    /// Extends the lease, even when it is over, as long as nobody has taken the turn since. Returns
    /// whether the turn is still this one.
    fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool>;

    /// Ends the turn. Does nothing when another holder has it.
    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()>;
}
