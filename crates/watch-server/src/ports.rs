//! The ports of checks: the clock, the yields, and the mover of money.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use readings::defi::market::Market;
use thiserror::Error;
use yield_watch::{Mandate, MoveKey, MoveOutcome, Position, Proposal, Snapshot};

/// The server's clock. It may be set back.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The source of yields.
pub trait Yields: Send + Sync + 'static {
    /// The newest edition, of any age; `None` when there is none.
    fn latest(&self) -> EditionFuture<'_>;
}

/// The future that [`Yields`] returns.
pub type EditionFuture<'a> = Pin<Box<dyn Future<Output = Option<Edition>> + Send + 'a>>;

/// One edition of the yields.
#[derive(Clone, Debug)]
pub struct Edition {
    /// Its id, its time, and its maximum age.
    pub snapshot: Snapshot,
    /// Its markets.
    pub markets: Arc<Vec<Market>>,
}

/// The future that a mover returns.
pub type MoverFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, MoverError>> + Send + 'a>>;

/// Moves the money of mandates that act, from their owners' sub-wallets. It uses the same actions
/// and signing policy as every other action of a wallet.
///
/// A move has a key, which is in the mandate's audit before the mover gets it. All calls with one
/// key concern one move, which happens at most once, also across restarts. Dropping a future undoes
/// nothing. The mover makes the moves of one wallet one at a time.
pub trait Mover: Send + Sync + 'static {
    /// The position of the owner's money, and the `markets` that the wallet could move into.
    ///
    /// # Errors
    /// The wallet cannot be read now. The check then decides nothing.
    fn held<'a>(&'a self, mandate: &'a Mandate, markets: &'a [Market])
    -> MoverFuture<'a, Holdings>;

    /// Begins a move, or returns the state of the move with this key. It moves at most
    /// `max_move_usd` out of the present product or the idle money, with at most
    /// `max_slippage_bps`. It signs nothing after `valid_until`, and nothing for a cancelled key.
    ///
    /// # Errors
    /// The move may or may not have begun. The caller asks for its state later.
    fn propose<'a>(
        &'a self,
        mandate: &'a Mandate,
        proposal: &'a Proposal,
    ) -> MoverFuture<'a, MoveState>;

    /// The state of a move. `None` when the key was never proposed nor cancelled.
    ///
    /// # Errors
    /// The state is unknown now.
    fn state<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Option<MoveState>>;

    /// Stops a move if nothing was signed for it. A key that was never proposed is cancelled too,
    /// for ever: a later proposal begins nothing. The same key always gets the same answer.
    ///
    /// # Errors
    /// The move may or may not be stopped.
    fn cancel<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Stop>;
}

/// The position of a wallet's money, and the markets in reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// The position of its money. With several products, it is the one with the lowest yield among
    /// those for which a better market is in reach, so that the rest of a bounded move is moved
    /// next. Its `pool` has the same id as the market.
    pub position: Position,
    /// The ids of the markets that it could move into.
    pub reachable: BTreeSet<String>,
}

/// The state of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveState {
    /// It is under way.
    UnderWay,
    /// It has ended, finally.
    Ended(MoveOutcome),
}

/// The result of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing was signed, and nothing will be.
    Stopped,
    /// Something was signed. The move continues to its end, or has reached it.
    TooLate,
}

/// A mover has no answer now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the wallet cannot be asked: {reason}")]
pub struct MoverError {
    /// The stable code of the cause.
    pub reason: String,
}
