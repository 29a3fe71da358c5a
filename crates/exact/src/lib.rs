#![doc = include_str!("../README.md")]

pub mod address;
mod decimal;
mod hex;
mod json;
mod text;
mod time;
mod uint;

pub use self::{
    decimal::{Decimal, DecimalError, DecimalText, format_units},
    hex::{parse_hex, parse_hex_array, parse_lower_hex, parse_lower_hex_array},
    json::{JsonDefect, parse_json},
    text::{is_plain, shortened},
    time::{Rfc3339Error, TimeError, UtcSeconds, parse_rfc3339},
    uint::{MAX_UINT_DIGITS, parse_digits, parse_uint},
};
