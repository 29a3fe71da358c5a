//! Indices, volatility, the dollar, treasury yields, commodities and currencies: one form for all
//! of them, and a calendar that knows when a market is closed, so that a quiet weekend is not taken
//! for stale data.

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
