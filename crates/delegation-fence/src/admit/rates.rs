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

impl Admitted {
    /// Checks that the plan's minimum is worth its input at these prices, less the deviation.
    ///
    /// # Errors
    /// `fence_price`; prices without a usable figure refuse as well.
    pub fn require_worth(&self, rates: &Rates, max_deviation: BasisPoints) -> Result<(), Refusal> {
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
