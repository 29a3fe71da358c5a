//! The ports of checks: the clock, the yields, and the mover of money.
//!
//! The server supplies the implementations. The checks decide when to ask them.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use readings::Figure;
use readings::defi::market::Market;
use thiserror::Error;
use yield_watch::{Mandate, MoveKey, MoveOutcome, Position, Proposal, Snapshot};

/// The server's clock. It may be set back.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The source of yields.
pub trait Yields: Send + Sync + 'static {
    /// Returns the newest edition, of any age. `None` when there is none.
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
/// and the same signing policy as every other action of a wallet.
///
/// A move has a key. The key is in the mandate's audit before the mover gets it. All calls with one
/// key concern one move, and it happens at most once, also across restarts. Dropping a future
/// undoes nothing. The mover makes the moves of one wallet one after another.
pub trait Mover: Send + Sync + 'static {
    /// Returns the position of the owner's money, and those of the `markets` into which the wallet
    /// could move.
    ///
    /// # Errors
    /// The wallet cannot be read now. The check then decides nothing.
    fn held<'a>(&'a self, mandate: &'a Mandate, markets: &'a [Market])
    -> MoverFuture<'a, Holdings>;

    /// Begins a move, or returns the state of the move with this key. It moves at most
    /// `max_move_usd` out of the current product or out of the idle money, with at most
    /// `max_slippage_bps`. It signs nothing after `valid_until`, and nothing for a cancelled key.
    ///
    /// # Errors
    /// The move may or may not have begun. The caller asks for its state later.
    fn propose<'a>(
        &'a self,
        mandate: &'a Mandate,
        proposal: &'a Proposal,
    ) -> MoverFuture<'a, MoveState>;

    /// Returns the state of a move. `None` when the key was neither proposed nor cancelled.
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

/// The position of a wallet's money, and the markets in its reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// The position of the wallet's money. When a wallet has several products, a better market must
    /// be in reach of this one, and it has the lowest yield of those. The next move then moves the
    /// rest of a bounded move. Its `pool` has the same id as the market.
    pub position: Position,
    /// The ids of the markets into which the wallet could move.
    pub reachable: BTreeSet<String>,
    /// The estimated cost of a move, in dollars.
    pub cost_usd: Figure,
}

/// The state of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveState {
    /// The move is under way.
    UnderWay,
    /// The move has ended, and its outcome does not change.
    Ended(MoveOutcome),
}

/// The result of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The move is stopped: nothing was signed, and nothing will be.
    Stopped,
    /// Something was signed. The move continues to its end, or has ended.
    TooLate,
}

/// The mover has no answer now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the wallet cannot be asked: {reason}")]
pub struct MoverError {
    /// The stable code of the cause.
    pub reason: String,
}
