//! A world in which a plan is sent: a chain, a sender of transactions with its records, a process
//! that may be killed at any point, and all events that may happen to them.

#[path = "moves.rs"]
mod moves;

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{Step, StepKind, UtcSeconds};
use delegation_fence::{
    Action, Admitted, Block, ClearObstacle, Event, Landing, MOST_CLEARS, Now, Rule, Sending,
    Transaction, View,
};

pub(crate) const AMOUNT: u64 = 7;
const VALID_UNTIL: u64 = 1_000;
const STEPS: [Transaction; 3] = [
    Transaction::Step(StepKind::ApproveReset),
    Transaction::Step(StepKind::Approve),
    Transaction::Step(StepKind::Call),
];

pub(crate) use self::moves::{Move, OutputReading};

/// The number of possible accidents of each kind. Kills, the revocation and the plan's end happen
/// in every world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accidents {
    pub(crate) reorganisations: u8,
    pub(crate) displacements: u8,
    /// Toggles of the installed policy, and of the possibility to clear.
    pub(crate) toggles: u8,
    /// Transactions that revert, and calls that leave a rest of the allowance.
    pub(crate) failures: u8,
}

impl Accidents {
    pub(crate) const NONE: Self = Self {
        reorganisations: 0,
        displacements: 0,
        toggles: 0,
        failures: 6,
    };
}

/// The effect of a transaction in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    Full,
    /// For the call: the router leaves a rest of the allowance.
    Partial,
    Reverted,
}

/// A transaction in a block. After a reorganisation it is mined again in another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mined {
    transaction: Transaction,
    effect: Effect,
    fork: u8,
}

/// The sender's own record of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sent {
    Never,
    Signed,
    Void,
}

/// The plan's remaining time: enough to begin, enough to continue, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Time {
    Early,
    Late,
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// Whether the three steps are one transaction.
    pub(crate) as_one: bool,
    pub(crate) send: Sending,
    /// The process's state in memory only: an order that is written, and not submitted yet.
    handing: Option<Transaction>,
    sent: [Sent; 4 + MOST_CLEARS as usize],
    chain: Vec<Mined>,
    /// The blocks of transactions, according to the events.
    believed: Vec<(usize, Mined)>,
    allowance_before: u64,
    revoked: bool,
    /// Another policy than the pinned one is installed, or none can be read; that may change back.
    other_policy: bool,
    time: Time,
    can_clear: bool,
    reorganisations: u8,
    toggles: u8,
    displacements: u8,
    failures: u8,
    halted: bool,
}

pub(crate) fn admitted() -> Admitted {
    admitted_as(false)
}

pub(crate) fn admitted_as(as_one: bool) -> Admitted {
    let step = |kind| Step {
        kind,
        to: Address::repeat_byte(1),
        value: U256::ZERO,
        data: Bytes::from_static(&[1]),
    };
    Admitted {
        account: Address::repeat_byte(2),
        grant_id: B256::repeat_byte(3),
        order_digest: B256::repeat_byte(4),
        payload_digest: B256::repeat_byte(5),
        chain_id: 8453,
        steps: StepKind::ALL.map(step),
        as_one,
        token: Address::repeat_byte(6),
        spender: Address::repeat_byte(7),
        amount: U256::from(AMOUNT),
        valid_until: UtcSeconds::from_unix(VALID_UNTIL),
        deadline: UtcSeconds::from_unix(VALID_UNTIL),
        landing: Landing {
            token: Address::repeat_byte(8),
            account: Address::repeat_byte(2),
            at_least: U256::from(1),
        },
    }
}

impl World {
    /// A world in which the three steps are one transaction, or three. `allowance_before` is the
    /// router's allowance before the plan.
    pub(crate) fn sent_as(as_one: bool, allowance_before: u64, accidents: Accidents) -> Self {
        Self {
            as_one,
            send: Sending::new(&admitted_as(as_one)),
            handing: None,
            sent: [Sent::Never; 4 + MOST_CLEARS as usize],
            chain: Vec::new(),
            believed: Vec::new(),
            allowance_before,
            revoked: false,
            other_policy: false,
            time: Time::Early,
            can_clear: true,
            reorganisations: accidents.reorganisations,
            toggles: accidents.toggles,
            displacements: accidents.displacements,
            failures: accidents.failures,
            halted: false,
        }
    }

    pub(crate) fn view(&self) -> View {
        let seconds = match self.time {
            Time::Early => VALID_UNTIL - 30,
            Time::Late => VALID_UNTIL - 29,
            Time::Over => VALID_UNTIL,
        };
        View {
            now: Now::offline(UtcSeconds::from_unix(seconds)),
            confirmation: match (self.other_policy, self.revoked) {
                (true, _) => Err(Rule::FenceDigestMismatch),
                (false, true) => Err(Rule::GrantRevoked),
                (false, false) => Ok(()),
            },
            clear: if self.can_clear {
                Ok(())
            } else {
                Err(ClearObstacle::NoGas)
            },
        }
    }

    /// The allowance after the first `blocks` blocks.
    fn allowance_at(&self, blocks: usize) -> u64 {
        self.chain
            .iter()
            .take(blocks)
            .fold(self.allowance_before, |allowance, mined| {
                match (mined.transaction, mined.effect) {
                    (_, Effect::Reverted) => allowance,
                    (Transaction::Step(StepKind::Approve), _) => AMOUNT,
                    (Transaction::Step(StepKind::Call) | Transaction::Swap, Effect::Partial) => 1,
                    _ => 0,
                }
            })
    }

    pub(crate) fn allowance(&self) -> u64 {
        self.allowance_at(self.chain.len())
    }

    pub(crate) fn executed(&self, kind: StepKind) -> usize {
        self.chain
            .iter()
            .filter(|mined| is_of(mined.transaction, kind) && mined.effect != Effect::Reverted)
            .count()
    }

    /// Whether the events and the chain agree.
    pub(crate) fn is_noticed(&self) -> bool {
        self.believed
            .iter()
            .all(|(at, mined)| self.chain.get(*at) == Some(mined))
    }

    /// The signed transaction with the lowest nonce that is not in a block.
    fn next_to_mine(&self) -> Option<Transaction> {
        every().find(|transaction| {
            self.sent[slot(*transaction)] == Sent::Signed
                && !self
                    .chain
                    .iter()
                    .any(|mined| mined.transaction == *transaction)
        })
    }

    /// Makes a move. Returns the appended event.
    pub(crate) fn make(&mut self, chosen: Move) -> Option<Event> {
        match chosen {
            Move::Act(reading) => return self.act(reading),
            Move::Crash => self.handing = None,
            Move::Notice(transaction) => return self.append(Event::Gone(transaction)),
            Move::Mine(effect) => {
                let transaction = self.next_to_mine().unwrap();
                // The router cannot take more than its allowance.
                let unpaid = transaction == STEPS[2] && self.allowance() < AMOUNT;
                if effect != Effect::Full {
                    self.failures -= 1;
                }
                let effect = if unpaid { Effect::Reverted } else { effect };
                self.mine(transaction, effect);
            }
            Move::Displace(transaction) => {
                self.displacements -= 1;
                self.sent[slot(transaction)] = Sent::Void;
            }
            Move::Reorganise(depth) => {
                self.reorganisations -= 1;
                let keep = self.chain.len() - usize::from(depth);
                self.chain.truncate(keep);
            }
            Move::Revoke => self.revoked = true,
            Move::TogglePolicy => {
                self.toggles -= 1;
                self.other_policy = !self.other_policy;
            }
            Move::Pass => {
                self.time = match self.time {
                    Time::Early => Time::Late,
                    Time::Late | Time::Over => Time::Over,
                };
            }
            Move::ToggleClear => {
                self.toggles -= 1;
                self.can_clear = !self.can_clear;
            }
            Move::UserClears => {
                // Like an own transaction of the user: every read of the allowance sees it.
                self.mine(Transaction::Clear(u8::MAX), Effect::Full);
                // Its block stays: only the plan's own transactions are watched.
                self.reorganisations = 0;
                return self.append(self.read_back());
            }
        }
        None
    }

    fn mine(&mut self, transaction: Transaction, effect: Effect) {
        self.chain.push(Mined {
            transaction,
            effect,
            fork: self.reorganisations,
        });
    }

    fn act(&mut self, reading: OutputReading) -> Option<Event> {
        if let Some(transaction) = self.handing.take() {
            let record = &mut self.sent[slot(transaction)];
            if *record == Sent::Never {
                *record = Sent::Signed;
            }
            return None;
        }
        match self.send.next(&self.view()) {
            Action::Order(transaction) => {
                self.judge_order(transaction);
                self.handing = Some(transaction);
                self.append(Event::Ordered(transaction))
            }
            Action::Resolve(transaction) => self.resolve(transaction),
            Action::Cancel(transaction) => {
                assert!(self.halted, "cancelled without a halt: {transaction}");
                self.resolve(transaction)
            }
            Action::ReadLanding => {
                let amount = if reading == OutputReading::Something {
                    1
                } else {
                    0
                };
                self.append(Event::Landed(U256::from(amount)))
            }
            Action::ReadAllowance => self.append(self.read_back()),
            Action::Append(event) => self.append(event),
            Action::Rest(_) => None,
        }
    }

    /// The invariants of every order.
    fn judge_order(&self, transaction: Transaction) {
        let sealed = |kind| {
            self.believed
                .iter()
                .map(|(_, mined)| mined)
                .any(|m| is_of(m.transaction, kind) && m.effect != Effect::Reverted)
        };
        match transaction {
            Transaction::Swap => {
                assert!(self.as_one, "one transaction was ordered for three");
                assert!(!self.revoked && !self.other_policy && !self.halted);
                assert_eq!(self.time, Time::Early);
            }
            Transaction::Step(kind) => {
                assert!(!self.as_one, "three transactions were ordered for one");
                assert!(!self.revoked, "{kind:?} was ordered after the revocation");
                assert!(
                    !self.other_policy,
                    "{kind:?} was ordered under another policy"
                );
                assert!(!self.halted, "{kind:?} was ordered after a halt");
                let first = kind == StepKind::ApproveReset;
                let in_time = self.time == Time::Early || (!first && self.time == Time::Late);
                assert!(in_time, "{kind:?} was ordered when the plan was over");
                for before in StepKind::ALL.into_iter().filter(|before| *before < kind) {
                    assert!(
                        sealed(before),
                        "{kind:?} was ordered before {before:?} was sealed"
                    );
                }
            }
            Transaction::Clear(_) => {
                assert!(self.can_clear, "a clear that is impossible was ordered");
                assert!(
                    sealed(StepKind::Approve),
                    "nothing of this plan is to be cleared"
                );
            }
        }
    }

    fn resolve(&mut self, transaction: Transaction) -> Option<Event> {
        let at = self
            .chain
            .iter()
            .position(|mined| mined.transaction == transaction);
        let event = match (self.sent[slot(transaction)], at) {
            (Sent::Never, _) => Event::Unsent(transaction),
            (Sent::Void, _) => Event::Void(transaction),
            (Sent::Signed, None) => return None,
            (Sent::Signed, Some(at)) => {
                let mined = self.chain[at];
                Event::Sealed {
                    transaction,
                    hash: B256::with_last_byte(slot(transaction) as u8),
                    block: self.block(at + 1),
                    effective: mined.effect != Effect::Reverted,
                    allowance: U256::from(self.allowance_at(at + 1)),
                }
            }
        };
        self.append(event)
    }

    fn block(&self, number: usize) -> Block {
        let fork = self
            .chain
            .get(number.wrapping_sub(1))
            .map_or(0, |mined| mined.fork);
        Block {
            number: number as u64,
            hash: B256::with_last_byte(16 * fork + number as u8),
        }
    }

    fn read_back(&self) -> Event {
        Event::ReadBack {
            allowance: U256::from(self.allowance()),
            block: self.block(self.chain.len()),
        }
    }

    fn append(&mut self, event: Event) -> Option<Event> {
        self.send.apply(&event).unwrap();
        match event {
            Event::Sealed {
                transaction, block, ..
            } => {
                let at = usize::try_from(block.number).unwrap() - 1;
                assert_eq!(self.chain[at].transaction, transaction);
                self.believed.push((at, self.chain[at]));
            }
            Event::Gone(transaction) => self
                .believed
                .retain(|(_, mined)| mined.transaction != transaction),
            Event::Halting { .. } => self.halted = true,
            _ => {}
        }
        Some(event)
    }
}

/// Whether a transaction is this step, or all of them.
fn is_of(transaction: Transaction, kind: StepKind) -> bool {
    matches!(transaction, Transaction::Swap) || transaction == Transaction::Step(kind)
}

fn every() -> impl Iterator<Item = Transaction> {
    STEPS
        .into_iter()
        .chain([Transaction::Swap])
        .chain((0..MOST_CLEARS).map(Transaction::Clear))
}

fn slot(transaction: Transaction) -> usize {
    every().position(|known| known == transaction).unwrap()
}
