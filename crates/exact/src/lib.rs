#![doc = include_str!("../README.md")]

mod decimal;
mod time;
mod uint;

pub use self::{
    decimal::{Decimal, DecimalError, DecimalText, format_units},
    time::{Rfc3339Error, TimeError, UtcSeconds, parse_rfc3339},
    uint::{MAX_UINT_DIGITS, parse_digits, parse_uint},
};
