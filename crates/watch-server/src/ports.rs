//! What checks need of others: the time, the yields, and whoever moves the money of mandates that
//! act.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use readings::defi::market::Market;
use thiserror::Error;
use yield_watch::{Mandate, MoveKey, MoveOutcome, Position, Proposal, Snapshot};

/// The server's clock. It may be set back.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The yields that are gathered.
pub trait Yields: Send + Sync + 'static {
    /// The newest edition, of any age; `None` when there is none.
    fn latest(&self) -> EditionFuture<'_>;
}

/// The answer of [`Yields`].
pub type EditionFuture<'a> = Pin<Box<dyn Future<Output = Option<Edition>> + Send + 'a>>;

/// One edition of the yields.
#[derive(Clone, Debug)]
pub struct Edition {
    /// Its name, its time, and its bound of age.
    pub snapshot: Snapshot,
    /// Its markets.
    pub markets: Arc<Vec<Market>>,
}

/// The answer of a mover.
pub type MoverFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, MoverError>> + Send + 'a>>;

/// Moves the money of mandates that act, from their owners' sub-wallets and through the same
/// actions and policy as every other action of a wallet.
///
/// A move has a key, which is in the mandate's audit before the mover hears of it. Whatever is
/// asked under one key is about one move: it happens at most once, also when the process ends in
/// between. Dropping a future takes nothing back. Of several moves of one wallet the mover makes
/// one at a time.
pub trait Mover: Send + Sync + 'static {
    /// Where the money of the mandate's owner is, and which of `markets` the wallet could move
    /// into.
    ///
    /// # Errors
    /// The wallet cannot be read now. The check decides nothing then.
    fn held<'a>(&'a self, mandate: &'a Mandate, markets: &'a [Market])
    -> MoverFuture<'a, Holdings>;

    /// Begins a move, or gives the state of the one that was begun under the key. At most
    /// `max_move_usd` leave the present product or the idle money, with at most `max_slippage_bps`.
    /// Nothing is signed after `valid_until`, and nothing for a key that was cancelled.
    ///
    /// # Errors
    /// Whether the move has begun is not known. The state is asked for later.
    fn propose<'a>(
        &'a self,
        mandate: &'a Mandate,
        proposal: &'a Proposal,
    ) -> MoverFuture<'a, MoveState>;

    /// Where a move stands; `None` when it was never begun nor cancelled.
    ///
    /// # Errors
    /// It is not known now.
    fn state<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Option<MoveState>>;

    /// Stops a move that nothing was signed for. A key that was never proposed is stopped as well,
    /// for ever: a proposal that comes later begins nothing. The same key again gives the same
    /// answer.
    ///
    /// # Errors
    /// Whether it was stopped is not known now.
    fn cancel<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Stop>;
}

/// What a wallet holds and can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Where its money is. Of several products the one that yields the least, among those that
    /// something better is within reach of: what a bounded move has left behind is moved next. Its
    /// `pool` is named as the markets are.
    pub position: Position,
    /// The ids of the markets that it could move into.
    pub reachable: BTreeSet<String>,
}

/// Where a move stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveState {
    /// It goes on.
    UnderWay,
    /// It has ended, for good.
    Ended(MoveOutcome),
}

/// Whether a move was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing was signed, and nothing will be.
    Stopped,
    /// Something was signed: the move goes on to its end, or has come to it.
    TooLate,
}

/// Why a mover does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the wallet cannot be asked: {reason}")]
pub struct MoverError {
    /// The stable machine-readable name of the cause.
    pub reason: String,
}
