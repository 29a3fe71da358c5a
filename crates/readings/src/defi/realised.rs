//! What closed positions have brought, where it can be said exactly.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::Figure;

/// The rule of a gain, for answers.
pub const RULE: &str = "gain is what came out less what went in, in the asset, over positions that were opened and closed; of a position that is open, or of which a part is not known exactly, none is claimed";

/// What was done to a position, in the order in which it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The product, with its chain.
    pub product: (u64, String),
    /// What went in or came out.
    pub kind: MoveKind,
}

/// What went in or came out, in whole tokens of the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    /// A deposit. `opens` when the wallet had no shares before.
    Deposit {
        /// What went in; `None` where it is not known exactly.
        amount: Option<Decimal>,
        /// Whether the wallet is known to have had no shares before.
        opens: bool,
    },
    /// A withdrawal.
    Withdrawal {
        /// What came out; `None` where it is not known exactly.
        amount: Option<Decimal>,
        /// Whether no shares were left.
        closes: bool,
    },
}

/// What a product has brought since the last time that the wallet had nothing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gain {
    /// The product, with its chain.
    pub product: (u64, String),
    /// What came out less what went in, over closed positions; `None` where nothing was closed, or
    /// where not every move of a closed position is known exactly.
    pub gain: Option<Figure>,
}

#[derive(Default)]
struct Position {
    /// What came out less what went in since the wallet had nothing; `None` where that is not
    /// known.
    open: Option<Decimal>,
    closed: Option<Option<Decimal>>,
}

/// The gains, by product. A gain is claimed only of a position that was opened and closed by the
/// moves.
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
                    // One part that is not known makes the whole unknown.
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
    fn a_gain_is_claimed_of_positions_that_were_opened_and_closed() {
        for (text, expected) in [
            ("+100! -101.5!", Some("1.5")),
            ("+100! -99.2!", Some("-0.8")),
            ("+100! +50 -20 -131!", Some("1")),
            // Two positions, one after the other.
            ("+100! -101! +10! -10.5!", Some("1.5")),
            // The second one is open.
            ("+100! -101! +10!", Some("1")),
            ("+100! -101! +10! -5", Some("1")),
            // Still open, or opened before.
            ("+100!", None),
            ("+100! -101", None),
            ("+100 -101!", None),
            ("-101!", None),
            // After it was closed, the wallet is known to have nothing.
            ("-101! +10 -11!", None),
            // An amount that is not known.
            ("+100! -?!", None),
            ("+?! -100!", None),
            ("+100! -101! +?! -7!", None),
        ] {
            assert_eq!(gain(text).as_deref(), expected, "{text}");
        }
        assert_eq!(gains(&[]), []);
    }
}
