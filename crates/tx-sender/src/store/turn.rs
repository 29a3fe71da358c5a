//! The port to turns on accounts.

use std::time::Duration;

use alloy_primitives::Address;

use super::StoreFuture;

/// The right to submit for an account that several processes send for. A later holder's token is
/// higher, and [`Store::insert_in_turn`](super::Store::insert_in_turn) refuses a lower one: a
/// process that was suspended for longer than its lease cannot submit under it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnFence {
    /// The account whose turn it is. It may differ from the account that signs.
    pub account: Address,
    /// It rises each time the turn is taken.
    pub token: u64,
}

/// The end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The work is finished: any work may follow.
    Finished,
    /// The work continues later: for a while, only the same work may follow.
    Interrupted,
}

/// Durable turns on accounts: between two related transactions of one work, no other work submits
/// for the account, in any process.
///
/// A turn is a lease. It ends with [`Self::end_turn`], or when it is not renewed in time. A work
/// whose turn has ended without [`TurnEnd::Finished`] comes first: other works wait for the length
/// of one more lease. So the half-done work of a dead process continues before any other work
/// begins.
pub trait TurnStore: Send + Sync + 'static {
    /// Takes the account's turn for the work with this name; `None` while it is not free for it.
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>>;

    /// Extends the lease, even one that is over, as long as nobody has taken the turn since.
    /// Returns whether the turn is still this one.
    fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool>;

    /// Ends the turn. Does nothing when another holder has it.
    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()>;
}
