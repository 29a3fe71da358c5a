//! Checks by live quotes whether a token can be bought and sold.

use alloy_primitives::U256;
use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use super::{RiskLevel, Sign};
use crate::{Figure, percent_change};

/// A round trip that loses more than this, in percent, gives no price.
const AGREEMENT_PCT: Decimal = Decimal::TEN;

/// The direction of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TradeSide {
    /// From dollars to the token.
    Buy,
    /// From the token to dollars.
    Sell,
}

/// The result of asking for a quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traded {
    /// There is a route.
    Quoted(Quoted),
    /// The exchange answered that there is no route.
    NoRoute,
    /// Whether there is a route is unknown, for this reason.
    Unavailable(String),
}

/// A quote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quoted {
    /// The amount that is paid, in atoms of the token that pays.
    #[serde(serialize_with = "digits")]
    pub amount_in_atoms: U256,
    /// The amount that is received, in atoms of the token that is received.
    #[serde(serialize_with = "digits")]
    pub amount_out_atoms: U256,
    /// The effect on the price in percent, as the exchange states it. Negative for a loss.
    pub price_impact_pct: Option<Figure>,
    /// How many pools the route has, if that is stated.
    pub hops: Option<usize>,
    /// Whether the exchange itself calls the token a honeypot.
    #[serde(skip)]
    pub honeypot: Option<bool>,
    /// The decimals of the token that is received, if they are stated.
    #[serde(skip)]
    pub received_decimals: Option<u8>,
}

/// A purchase and a sale at one size. The sale is of the amount that the purchase gives. When the
/// token cannot be bought, the sale is of an amount that is worth about as much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The size in dollars.
    pub usd: u32,
    /// The purchase.
    pub buy: Traded,
    /// The sale.
    pub sell: Traded,
}

/// The probes of one token, the smallest first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Trades {
    /// The probes.
    pub probes: Vec<Probe>,
    /// How many atoms of the token that pays are worth one dollar.
    pub atoms_per_usd: u64,
}

impl Probe {
    /// The trade in one direction.
    #[must_use]
    pub fn side(&self, side: TradeSide) -> &Traded {
        match side {
            TradeSide::Buy => &self.buy,
            TradeSide::Sell => &self.sell,
        }
    }

    /// Returns how much buying and selling at once loses, in percent. Negative for a gain.
    #[must_use]
    pub fn round_trip_loss_pct(&self) -> Option<Decimal> {
        let (Traded::Quoted(buy), Traded::Quoted(sell)) = (&self.buy, &self.sell) else {
            return None;
        };
        // Only a sale of exactly the amount that was bought is a round trip.
        if sell.amount_in_atoms != buy.amount_out_atoms {
            return None;
        }
        let (spent, back) = (
            decimal(buy.amount_in_atoms)?,
            decimal(sell.amount_out_atoms)?,
        );
        percent_change(spent, back)?.checked_mul(Decimal::NEGATIVE_ONE)
    }
}

impl Trades {
    /// Whether the token can be traded in this direction. `Some(false)` only when the exchange
    /// answered at every size that it cannot.
    #[must_use]
    pub fn possible(&self, side: TradeSide) -> Option<bool> {
        let mut outcomes = self.probes.iter().map(|probe| probe.side(side));
        if outcomes
            .clone()
            .any(|outcome| matches!(outcome, Traded::Quoted(_)))
        {
            return Some(true);
        }
        let answered =
            !self.probes.is_empty() && outcomes.all(|outcome| *outcome == Traded::NoRoute);
        answered.then_some(false)
    }

    /// Returns the worst effect on the price of all quotes, in percent, as the exchange states it.
    #[must_use]
    pub fn price_impact_pct(&self) -> Option<Figure> {
        self.quotes()
            .filter_map(|(_, quote)| quote.price_impact_pct)
            .min()
    }

    /// Returns the most pools that any quote goes through, among the quotes that state them.
    #[must_use]
    pub fn most_hops(&self) -> Option<usize> {
        self.quotes().filter_map(|(_, quote)| quote.hops).max()
    }

    /// Returns the price of one token in dollars by the smallest purchase, if the token's decimals
    /// are stated.
    #[must_use]
    pub fn buy_price_usd(&self) -> Option<Decimal> {
        let (_, quote) = self.quotes().find(|(side, _)| *side == TradeSide::Buy)?;
        let decimals = quote.received_decimals?;
        let usd = decimal(quote.amount_in_atoms)?.checked_div(Decimal::from(self.atoms_per_usd))?;
        let unit = decimal(one_token(decimals)?)?;
        usd.checked_mul(unit)?
            .checked_div(decimal(quote.amount_out_atoms)?)
    }

    /// Returns the dollars that one token brings when the result of the smallest purchase is sold
    /// again, if the token's decimals are stated. `None` when the round trip loses more than ten
    /// percent, because the token's value is then unknown.
    #[must_use]
    pub fn traded_price_usd(&self) -> Option<Decimal> {
        let probe = self.probes.first()?;
        let (Traded::Quoted(buy), Traded::Quoted(sell)) = (&probe.buy, &probe.sell) else {
            return None;
        };
        if probe.round_trip_loss_pct()?.abs() > AGREEMENT_PCT {
            return None;
        }
        let unit = decimal(one_token(buy.received_decimals?)?)?;
        let usd = decimal(sell.amount_out_atoms)?.checked_div(Decimal::from(self.atoms_per_usd))?;
        usd.checked_mul(unit)?
            .checked_div(decimal(sell.amount_in_atoms)?)
    }

    /// The signs of trading against the token:
    ///
    /// | sign | when | level |
    /// |---|---|---|
    /// | `honeypot` | the exchange calls it one | critical |
    /// | `cannot_sell` | it can be bought, and there is no route to sell it | critical |
    /// | `not_traded` | there is no route to buy it and none to sell it | medium |
    /// | `round_trip_loss` | a round trip of $10 loses 3, 10, 50 % | medium, high, critical |
    /// | `thin_market` | a round trip of the largest size loses 10, 50 % | medium, high |
    /// | `thin_market` | a larger purchase, sale has no route, a smaller one has | medium, high |
    #[must_use]
    pub fn signs(&self) -> Vec<Sign> {
        let mut signs = Vec::new();
        let mut sign = |level, name| signs.push(Sign { level, name });
        if self.quotes().any(|(_, quote)| quote.honeypot == Some(true)) {
            sign(RiskLevel::Critical, "honeypot");
        }
        match (
            self.possible(TradeSide::Buy),
            self.possible(TradeSide::Sell),
        ) {
            (Some(true), Some(false)) => sign(RiskLevel::Critical, "cannot_sell"),
            (Some(false), Some(false)) => sign(RiskLevel::Medium, "not_traded"),
            _ => {}
        }
        let loss = |probe: Option<&Probe>| {
            probe
                .and_then(Probe::round_trip_loss_pct)
                .unwrap_or_default()
        };
        let small = loss(self.probes.first());
        let steps = [
            (50, RiskLevel::Critical),
            (10, RiskLevel::High),
            (3, RiskLevel::Medium),
        ];
        if let Some((_, level)) = steps
            .into_iter()
            .find(|(pct, _)| small >= Decimal::from(*pct))
        {
            sign(level, "round_trip_loss");
        }
        let large = loss(self.probes.last().filter(|_| self.probes.len() > 1));
        let steps = [(50, RiskLevel::High), (10, RiskLevel::Medium)];
        let by_loss = steps
            .into_iter()
            .find(|(pct, _)| large >= Decimal::from(*pct))
            .map(|(_, level)| level);
        let by_size = match (
            self.ends_below_the_largest(TradeSide::Buy),
            self.ends_below_the_largest(TradeSide::Sell),
        ) {
            (_, true) => Some(RiskLevel::High),
            (true, false) => Some(RiskLevel::Medium),
            (false, false) => None,
        };
        if let Some(level) = by_loss.max(by_size) {
            sign(level, "thin_market");
        }
        signs
    }

    /// Whether the exchange has a route for a small size, and answered that it has none for a
    /// larger one.
    fn ends_below_the_largest(&self, side: TradeSide) -> bool {
        let mut outcomes = self.probes.iter().map(|probe| probe.side(side));
        let quoted = outcomes.position(|outcome| matches!(outcome, Traded::Quoted(_)));
        quoted.is_some() && outcomes.any(|outcome| *outcome == Traded::NoRoute)
    }

    fn quotes(&self) -> impl Iterator<Item = (TradeSide, &Quoted)> {
        self.probes.iter().flat_map(|probe| {
            [TradeSide::Buy, TradeSide::Sell]
                .into_iter()
                .filter_map(|side| match probe.side(side) {
                    Traded::Quoted(quote) => Some((side, quote)),
                    _ => None,
                })
        })
    }
}

/// Returns how many atoms of a token with these decimals are worth `usd` dollars, at `price_usd`
/// for a whole token. Rounded down, but at least one.
#[must_use]
pub fn atoms_worth(usd: u32, price_usd: Decimal, decimals: u8) -> Option<U256> {
    let tokens = Decimal::from(usd).checked_div(price_usd)?;
    let mantissa = U256::try_from(tokens.mantissa()).ok()?;
    let scaled = mantissa.checked_mul(one_token(decimals)?)?;
    let atoms = scaled.checked_div(U256::from(10).checked_pow(U256::from(tokens.scale()))?)?;
    (!atoms.is_zero()).then_some(atoms)
}

/// Returns the atoms of one whole token.
#[must_use]
pub fn one_token(decimals: u8) -> Option<U256> {
    U256::from(10).checked_pow(U256::from(decimals))
}

/// Converts an amount to a decimal. An amount beyond 28 digits loses its last digits, so only
/// ratios may be computed from it.
fn decimal(atoms: U256) -> Option<Decimal> {
    atoms.to_string().parse().ok()
}

fn digits<S: Serializer>(atoms: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(atoms)
}

#[cfg(test)]
mod tests;
