//! Arguments that select payments for a command.

use std::iter;

use alloy_primitives::Address;
use clap::{Args, builder::PossibleValuesParser};
use jiff::Timestamp;
use ledger::{Filter, State};

/// The selection of payments.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Payments in this state. May be repeated.
    #[arg(long = "state", value_name = "STATE", value_parser = state_names())]
    states: Vec<String>,
    /// Payments that were reserved at this time or later: Unix seconds, or 2026-11-01T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    since: Option<u64>,
    /// Payments that were reserved before this time.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    until: Option<u64>,
    /// Payments of this payer.
    #[arg(long, value_name = "ADDRESS")]
    payer: Option<Address>,
}

impl Selection {
    /// Returns the filter. Without a state it selects `otherwise`; an empty list selects every
    /// state.
    pub(super) fn filter(&self, otherwise: &[State]) -> Filter {
        let is_named = |state: &State| {
            let mut names = self.states.iter();
            names.any(|name| name == ALL || name == state.as_str())
        };
        let states = match &self.states[..] {
            [] => otherwise.to_vec(),
            _ => State::ALL.into_iter().filter(is_named).collect(),
        };
        Filter {
            states,
            since: self.since,
            until: self.until,
            payer: self.payer,
            ..Filter::default()
        }
    }
}

/// The name that selects every state.
const ALL: &str = "all";

fn state_names() -> PossibleValuesParser {
    let states = State::ALL.iter().map(|state| state.as_str());
    iter::once(ALL).chain(states).into()
}

/// Reads a time: Unix seconds, or a date and time with an offset.
fn seconds(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let time: Timestamp = text
        .parse()
        .map_err(|_| "neither Unix seconds nor a time like 2026-11-01T00:00:00Z".to_owned())?;
    u64::try_from(time.as_second()).map_err(|_| "the time is before 1970".to_owned())
}
