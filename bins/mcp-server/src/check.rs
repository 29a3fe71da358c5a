//! `check-config`: who will be paid for plans, in words that an operator can compare with what was meant.

use std::fmt::Write as _;

use plan_checks::FeePolicy;

use crate::config::Config;

/// Where it listens, and every recipient of a fee. Shows no secret.
pub(crate) fn report(config: &Config, fees: &FeePolicy) -> String {
    let mut text = format!(
        "the configuration can be used: listening on {}, tools named {}_…\n",
        config.listen(),
        config.brand()
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  fees         version {:?}, at most {} bps together",
        fees.version,
        fees.aggregate_cap.get()
    );
    for recipient in &fees.recipients {
        let _ = writeln!(
            text,
            "  recipient    {:?}: {} bps to {}",
            recipient.role,
            recipient.bps.get(),
            recipient.address
        );
    }
    if let Some(builder) = &fees.perp_builder {
        let _ = writeln!(
            text,
            "  builder      of perpetuals orders: {} tenths of a bp to {}",
            builder.fee_tenth_bps, builder.address
        );
    }
    text
}
