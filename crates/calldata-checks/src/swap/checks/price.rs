//! The worth of the output.

use std::fmt::{self, Display, Formatter};

use crate::{
    BasisPoints, Observed, Verdict, Violation,
    swap::{MAX_PRICE_AGE_SECONDS, SwapFacts},
};

/// Judges the values that are both known and configured. Without any of them the check has nothing
/// to judge, and is no assertion.
pub(super) fn output_price_bound(facts: &SwapFacts) -> Verdict {
    let (quoted, demanded) = (&facts.quoted, &facts.reviewed.price);
    if let Some(price) = &quoted.price {
        let apart = price.as_of.unix().abs_diff(quoted.read_at.unix());
        if apart > MAX_PRICE_AGE_SECONDS {
            return Err(Violation::new(
                "the independent price is not of the quote's time",
                format_args!(
                    "at most {MAX_PRICE_AGE_SECONDS} seconds from {}",
                    quoted.read_at
                ),
                price.as_of,
            ));
        }
    }
    let impact = facts.price_impact();
    let deviation = facts.price_deviation(quoted.to_amount);
    if demanded.price_required && deviation.is_none() {
        return Err(Violation::new(
            "there is no independent price of both tokens",
            "the prices of another source",
            "none",
        ));
    }
    let by_the_quote = held(
        "the quoted output is worth too much less than the input, by the quote's own values",
        impact,
        demanded.max_price_impact,
    )?;
    let by_a_price = held(
        "the quoted output is worth too much less than the input, by an independent price",
        deviation,
        demanded.max_price_deviation,
    )?;
    let text = format!(
        "below the input's value, by the quote's own values: {by_the_quote}; by an independent price: {by_a_price}"
    );
    Ok(match (by_the_quote, by_a_price) {
        (Side::Held { .. }, _) | (_, Side::Held { .. }) => {
            Observed::from(text).by_readings("the quoted output and the prices")
        }
        _ => Observed::nothing_to_judge(text),
    })
}

/// The judgement of one source of values about the output.
enum Side {
    /// The value is within the configured limit.
    Held {
        found: BasisPoints,
        most: BasisPoints,
    },
    /// The value is known, and no limit is configured.
    Unbounded { found: BasisPoints },
    /// The source has no values.
    Unknown,
}

fn held(
    message: &'static str,
    found: Option<BasisPoints>,
    most: Option<BasisPoints>,
) -> Result<Side, Violation> {
    Ok(match (found, most) {
        (Some(found), Some(most)) if found > most => {
            return Err(Violation::new(
                message,
                format_args!("at most {} basis points", most.get()),
                format_args!("{} basis points", found.get()),
            ));
        }
        (Some(found), Some(most)) => Side::Held { found, most },
        (Some(found), None) => Side::Unbounded { found },
        (None, _) => Side::Unknown,
    })
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { found, most } => write!(f, "{} <= {} bps", found.get(), most.get()),
            Self::Unbounded { found } => write!(f, "{} bps, no limit configured", found.get()),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
