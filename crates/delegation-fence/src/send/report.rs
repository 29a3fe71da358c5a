//! The report about a send, for the grant's holder: the state, the facts that were read back, and
//! the transaction that a person can send.

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{StepKind, step};

use super::{Block, ClearObstacle, Fate, Sending, Transaction};
use crate::Admitted;

/// The state on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The plan is accepted, and nothing was ordered yet.
    Accepted,
    /// Steps are being sent.
    Sending,
    /// All three steps took effect, and no allowance of the plan is left.
    Done,
    /// No further step is sent; open transactions are awaited, and the allowance is cleared.
    Halting,
    /// Halted, and no allowance of the plan is left.
    HaltedClean,
    /// An allowance is left that the service cannot clear.
    HaltedDirty,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Sending,
        Self::Done,
        Self::Halting,
        Self::HaltedClean,
        Self::HaltedDirty,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Sending => "sending",
            Self::Done => "done",
            Self::Halting => "halting",
            Self::HaltedClean => "halted_clean",
            Self::HaltedDirty => "halted_dirty",
        }
    }

    /// Whether the next plan of the account may begin.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::HaltedClean)
    }
}

/// The transaction that clears an allowance, for the account that can send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearTransaction {
    /// The chain.
    pub chain_id: u64,
    /// The input token.
    pub to: Address,
    /// Native coin, in wei: none.
    pub value: U256,
    /// `approve(router, 0)`
    pub data: Bytes,
}

/// The report about a send. It states only observed facts: a cleared allowance was read back as
/// zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The state.
    pub state: State,
    /// Each step's transaction and block, as far as it is sealed, and whether it took effect.
    pub steps: [Option<(B256, Block, bool)>; 3],
    /// The step before or during which it halted.
    pub halted_at: Option<StepKind>,
    /// The reason.
    pub reason: Option<&'static str>,
    /// The received amount of the output token, and whether it is at least the minimum.
    pub landed: Option<(U256, bool)>,
    /// The router's allowance by the last reading, and its block.
    pub allowance_read_back: Option<(U256, Block)>,
    /// The transaction that clears the remaining allowance.
    pub clear_transaction: Option<ClearTransaction>,
}

impl Report {
    /// Whether the last reading showed no allowance. `false` also when nothing was read.
    #[must_use]
    pub fn allowance_cleared(&self) -> bool {
        self.allowance_read_back
            .is_some_and(|(allowance, _)| allowance.is_zero())
    }
}

impl Sending {
    /// The state on the wire.
    #[must_use]
    pub fn state(&self) -> State {
        if self.finished {
            return if self.executed() {
                State::Done
            } else {
                State::HaltedClean
            };
        }
        if self.obstacle.is_some() {
            return State::HaltedDirty;
        }
        if self.halt.is_some() {
            return State::Halting;
        }
        if self.swap == Fate::None && self.steps.iter().all(|fate| *fate == Fate::None) {
            return State::Accepted;
        }
        State::Sending
    }

    /// The report.
    #[must_use]
    pub fn report(&self, admitted: &Admitted) -> Report {
        let sealed = |fate: Fate| match fate {
            Fate::Sealed {
                hash,
                block,
                effective,
                ..
            } => Some((hash, block, effective)),
            _ => None,
        };
        let state = self.state();
        Report {
            state,
            steps: StepKind::ALL.map(|kind| sealed(self.step(kind))),
            halted_at: self.halt.map(|(at, _)| at),
            reason: self.halt.map(|(_, reason)| reason.as_str()),
            landed: self.landed.map(|amount| (amount, amount >= self.at_least)),
            allowance_read_back: self.read_back.or_else(|| self.read_when_sealed()),
            clear_transaction: (state == State::HaltedDirty).then(|| clear(admitted)),
        }
    }

    /// The allowance at the newest block of a sealed transaction.
    fn read_when_sealed(&self) -> Option<(U256, Block)> {
        super::all()
            .filter_map(|transaction| match self.fate(transaction) {
                Fate::Sealed {
                    block, allowance, ..
                } => Some((allowance, block)),
                _ => None,
            })
            .max_by_key(|(_, block)| block.number)
    }

    /// The reason why the service cannot clear the allowance, by the last event.
    #[must_use]
    pub const fn obstacle(&self) -> Option<ClearObstacle> {
        self.obstacle
    }

    /// Whether a transaction is in a sealed block.
    #[must_use]
    pub fn is_sealed(&self, transaction: Transaction) -> bool {
        matches!(self.fate(transaction), Fate::Sealed { .. })
    }
}

impl Admitted {
    /// The transaction that clears the allowance of this plan.
    #[must_use]
    pub fn clear_transaction(&self) -> ClearTransaction {
        clear(self)
    }
}

fn clear(admitted: &Admitted) -> ClearTransaction {
    let step = step::approval(
        StepKind::ApproveReset,
        admitted.token,
        admitted.spender,
        U256::ZERO,
    );
    ClearTransaction {
        chain_id: admitted.chain_id,
        to: step.to,
        value: step.value,
        data: step.data,
    }
}
