//! What the output is worth.

use crate::{
    BasisPoints, Observed, Verdict, Violation,
    swap::{MAX_PRICE_AGE_SECONDS, SwapFacts},
};

/// Nothing is held that nobody configured; what was seen stands in the plan either way.
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
    let held = |message, found: Option<BasisPoints>, most: Option<BasisPoints>| match (found, most)
    {
        (Some(found), Some(most)) if found > most => Err(Violation::new(
            message,
            format_args!("at most {} basis points", most.get()),
            format_args!("{} basis points", found.get()),
        )),
        _ => Ok(()),
    };
    held(
        "the quoted output is worth too much less than the input, by the quote's own values",
        impact,
        demanded.max_price_impact,
    )?;
    held(
        "the quoted output is worth too much less than the input, by an independent price",
        deviation,
        demanded.max_price_deviation,
    )?;
    let shown = |found: Option<BasisPoints>| {
        found.map_or_else(|| "unknown".to_owned(), |bps| format!("{} bps", bps.get()))
    };
    Ok(Observed::from(format!(
        "below the input's value: {} by the quote, {} by an independent price",
        shown(impact),
        shown(deviation)
    )))
}
