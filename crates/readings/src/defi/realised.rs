//! The gains of closed positions, where they are exact.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::Figure;

/// How a gain is computed, for an answer.
pub const RULE: &str = "gain is withdrawals less deposits, in the asset, over positions that were opened and closed; no gain is stated for a position that is open or that has a part that is not known exactly";

/// One move of a position. Moves must be in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The product, with its chain.
    pub product: (u64, String),
    /// The kind of the move, with its amount.
    pub kind: MoveKind,
}

/// A deposit or a withdrawal, in whole tokens of the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    /// A deposit.
    Deposit {
        /// The deposited amount. `None` when it is not known exactly.
        amount: Option<Decimal>,
        /// Whether the wallet is known to have had no shares before.
        opens: bool,
    },
    /// A withdrawal.
    Withdrawal {
        /// The withdrawn amount. `None` when it is not known exactly.
        amount: Option<Decimal>,
        /// Whether no shares were left.
        closes: bool,
    },
}

/// The gain in one product, over all of its closed positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The product, with its chain.
    pub product: (u64, String),
    /// The withdrawals less the deposits, over closed positions. `None` when no position was
    /// closed, or when a move of a closed position is not known exactly.
    pub gain: Option<Figure>,
}

#[derive(Default)]
struct Position {
    /// The withdrawals less the deposits since the wallet had nothing. `None` when that is unknown.
    open: Option<Decimal>,
    closed: Option<Option<Decimal>>,
}

/// Computes the gains by product. States a gain only for a position that these moves opened and
/// closed.
#[must_use]
pub fn gains(moves: &[Move]) -> Vec<Gain> {
    let mut positions: BTreeMap<&(u64, String), Position> = BTreeMap::new();
    for one in moves {
        positions.entry(&one.product).or_default().take(one.kind);
    }
    let gain = |(product, position): (&(u64, String), Position)| Gain {
        product: product.clone(),
        gain: position
            .closed
            .flatten()
            .map(|gain| Figure(gain.normalize())),
    };
    positions.into_iter().map(gain).collect()
}

impl Position {
    fn take(&mut self, kind: MoveKind) {
        match kind {
            MoveKind::Deposit { amount, opens } => {
                let before = if opens {
                    Some(Decimal::ZERO)
                } else {
                    self.open
                };
                self.open = before
                    .zip(amount)
                    .and_then(|(before, amount)| before.checked_sub(amount));
            }
            MoveKind::Withdrawal { amount, closes } => {
                let now = self
                    .open
                    .zip(amount)
                    .and_then(|(before, amount)| before.checked_add(amount));
                self.open = now;
                if closes {
                    // One unknown part makes the whole gain unknown.
                    self.closed = Some(match (self.closed, now) {
                        (None, now) => now,
                        (Some(before), now) => before
                            .zip(now)
                            .and_then(|(before, now)| before.checked_add(now)),
                    });
                    self.open = Some(Decimal::ZERO);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(text: &str) -> Vec<Move> {
        let one = |word: &str| {
            let (sign, rest) = word.split_at(1);
            let (amount, flag) = match rest.strip_suffix('!') {
                Some(amount) => (amount, true),
                None => (rest, false),
            };
            let amount = amount.parse().ok();
            let kind = match sign {
                "+" => MoveKind::Deposit {
                    amount,
                    opens: flag,
                },
                _ => MoveKind::Withdrawal {
                    amount,
                    closes: flag,
                },
            };
            Move {
                product: (196, "p".to_owned()),
                kind,
            }
        };
        text.split_whitespace().map(one).collect()
    }

    fn gain(text: &str) -> Option<String> {
        let gains = gains(&moves(text));
        assert_eq!(gains.len(), 1, "{text}");
        gains[0].gain.map(|gain| gain.to_string())
    }

    #[test]
    fn a_gain_is_stated_only_for_positions_that_were_opened_and_closed() {
        for (text, expected) in [
            ("+100! -101.5!", Some("1.5")),
            ("+100! -99.2!", Some("-0.8")),
            ("+100! +50 -20 -131!", Some("1")),
            // Two positions follow each other.
            ("+100! -101! +10! -10.5!", Some("1.5")),
            // The second position is still open.
            ("+100! -101! +10!", Some("1")),
            ("+100! -101! +10! -5", Some("1")),
            // These positions are still open, or were opened before the first move.
            ("+100!", None),
            ("+100! -101", None),
            ("+100 -101!", None),
            ("-101!", None),
            // The wallet is known to have nothing only after this close.
            ("-101! +10 -11!", None),
            // The amount is unknown.
            ("+100! -?!", None),
            ("+?! -100!", None),
            ("+100! -101! +?! -7!", None),
        ] {
            assert_eq!(gain(text).as_deref(), expected, "{text}");
        }
        assert_eq!(gains(&[]), []);
    }
}
