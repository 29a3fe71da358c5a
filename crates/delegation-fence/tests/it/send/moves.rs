//! The possible events of a world.

use delegation_fence::{Action, State, Transaction};

use super::{Effect, STEPS, Time, World};

/// A possible next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Move {
    /// The process does its next action.
    Act(OutputReading),
    /// It is killed: everything in memory only is lost.
    Crash,
    /// It notices that a block is not canonical any more.
    Notice(Transaction),
    Mine(Effect),
    Displace(Transaction),
    Reorganise(u8),
    Revoke,
    Pass,
    /// Clearing becomes possible or impossible.
    ToggleClear,
    /// The installed policy changes, or changes back.
    TogglePolicy,
    /// The user clears the allowance.
    UserClears,
}

/// The process's reading of the received output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OutputReading {
    Something,
    Nothing,
}

impl World {
    /// All possible next events.
    pub(crate) fn moves(&self) -> Vec<Move> {
        let mut moves = vec![Move::Act(OutputReading::Something)];
        if self.send.next(&self.view()) == Action::ReadLanding && self.handing.is_none() {
            moves.push(Move::Act(OutputReading::Nothing));
        }
        if self.handing.is_some() {
            moves.push(Move::Crash);
        }
        for (at, mined) in &self.believed {
            if self.chain.get(*at) != Some(mined) {
                moves.push(Move::Notice(mined.transaction));
            }
        }
        if let Some(next) = self.next_to_mine() {
            moves.push(Move::Mine(Effect::Full));
            if self.failures > 0 {
                moves.push(Move::Mine(Effect::Reverted));
                if next == STEPS[2] || next == Transaction::Swap {
                    moves.push(Move::Mine(Effect::Partial));
                }
            }
            if self.displacements > 0 {
                moves.push(Move::Displace(next));
            }
        }
        if self.reorganisations > 0 {
            let most = self.chain.len().min(3);
            moves.extend(
                (1..=most)
                    .filter_map(|depth| u8::try_from(depth).ok())
                    .map(Move::Reorganise),
            );
        }
        if !self.revoked {
            moves.push(Move::Revoke);
        }
        if self.time != Time::Over {
            moves.push(Move::Pass);
        }
        if self.toggles > 0 {
            moves.extend([Move::ToggleClear, Move::TogglePolicy]);
        }
        if self.send.state() == State::HaltedDirty && self.allowance() > 0 {
            moves.push(Move::UserClears);
        }
        moves
    }
}
