//! The minimum that a plan has to promise at market prices.

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, Decimal};

use super::Admitted;
use crate::{Refusal, Rule};

/// Decimals that a price is computed with.
const PRICE_DECIMALS: u8 = 18;

/// The present prices of a plan's two tokens, with the decimals of their smallest units.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use delegation_fence::Rates;
/// use calldata_checks::BasisPoints;
///
/// let rates = Rates { input_usd: "1".parse()?, input_decimals: 6, output_usd: "2500".parse()?, output_decimals: 18 };
/// let two_percent = BasisPoints::new(200).unwrap();
/// // 1,000 dollars buy 0.4 at that price; two percent less are accepted.
/// let least = rates.least_output(U256::from(1_000_000_000), two_percent);
/// assert_eq!(least, Some(U256::from(392_000_000_000_000_000_u64)));
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// US dollars for a whole input token.
    pub input_usd: Decimal,
    /// Decimals of the input token.
    pub input_decimals: u8,
    /// US dollars for a whole output token.
    pub output_usd: Decimal,
    /// Decimals of the output token.
    pub output_decimals: u8,
}

impl Rates {
    /// The least output that a plan has to promise for an input: its value at these prices, less
    /// the deviation. `None` when the prices give no figure: one of them is zero, or the value does
    /// not fit.
    #[must_use]
    pub fn least_output(&self, input: U256, max_deviation: BasisPoints) -> Option<U256> {
        let unit = |decimals: u8| U256::from(10).checked_pow(U256::from(decimals));
        let value = input
            .checked_mul(self.input_usd.atoms(PRICE_DECIMALS)?)?
            .checked_mul(unit(self.output_decimals)?)?;
        let price = self
            .output_usd
            .atoms(PRICE_DECIMALS)?
            .checked_mul(unit(self.input_decimals)?)?;
        let fair = value.checked_div(price)?;
        if fair.is_zero() {
            return None;
        }
        max_deviation.floor_of_rest(fair)
    }
}

/// What a plan is worth, by its minimum and the prices on which independent sources agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanWorth {
    /// The plan's tokens have no such prices.
    Unknown {
        /// The reason. It contains no secret.
        reason: String,
    },
    /// The plan was judged.
    Judged {
        /// The present prices of the plan's two tokens.
        rates: Rates,
        /// Whether the minimum is worth the input, within the operator's limit for any swap.
        holds: Result<(), WorthTooLow>,
    },
}

/// The loss of a plan that is worth too little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorthTooLow {
    /// The limit.
    pub expected: String,
    /// The loss.
    pub observed: String,
}

impl Admitted {
    /// Checks what the plan is worth: its minimum is within `max_deviation` of the present prices,
    /// and within the operator's limit for any swap.
    ///
    /// # Errors
    /// `worth_unknown`; `fence_price`, also for prices without a usable figure;
    /// `price_impact_too_high`.
    pub fn require_worth(
        &self,
        worth: &PlanWorth,
        max_deviation: BasisPoints,
    ) -> Result<(), Refusal> {
        match worth {
            PlanWorth::Unknown { reason } => Err(Refusal::new(
                Rule::WorthUnknown,
                "nobody can tell what the plan is worth",
                "prices of both tokens on which independent sources agree",
                reason,
            )),
            PlanWorth::Judged { rates, holds } => {
                self.require_price(rates, max_deviation)?;
                holds.as_ref().map_err(|too_low| {
                    let message = "the plan's minimum is worth too little";
                    let WorthTooLow { expected, observed } = too_low;
                    Refusal::new(Rule::PriceImpactTooHigh, message, expected, observed)
                })?;
                Ok(())
            }
        }
    }

    /// Checks that the minimum is worth the input at these prices, less the deviation.
    fn require_price(&self, rates: &Rates, max_deviation: BasisPoints) -> Result<(), Refusal> {
        // A deviation of 100 % limits nothing.
        if max_deviation == BasisPoints::MAX {
            return Ok(());
        }
        let least = rates.least_output(self.amount, max_deviation);
        if least.is_some_and(|least| self.landing.at_least >= least) {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::FencePrice,
            "the plan promises less than its input is worth at the present prices",
            least.map_or("prices that give a figure".to_owned(), |least| {
                format!("at least {least}")
            }),
            self.landing.at_least,
        ))
    }
}
