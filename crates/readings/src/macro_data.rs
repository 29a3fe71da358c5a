//! Indices, volatility, the dollar, treasury yields, commodities and currencies, in one form. A
//! calendar of the markets' hours ensures that values do not count as stale because a weekend has
//! passed.

mod calendar;
mod catalysts;
mod dollar;
mod instrument;
mod reading;
mod set;

pub use self::{
    calendar::{Market, MarketState, chicago_time, new_york_date},
    catalysts::{CalendarReach, Catalyst, CatalystKind, reach, upcoming},
    dollar::{DollarRates, derived_index},
    instrument::{Basis, Instrument, Unit, instruments},
    reading::{CrossCheck, Implausible, Observation, Reading},
    set::{Dollar, MacroData, Volatility, Yields, spread_bp},
};
