#![doc = include_str!("../README.md")]

pub mod calldata;
mod decimal;
mod error;
mod node;
pub mod okx;
mod ports;
mod provenance;
mod reviewed;
mod text;
pub mod transport;

pub use self::{
    calldata::Refusal,
    decimal::{Decimal, DecimalError, SlippagePercent},
    error::{Error, RequestError, SourceError, SourceErrorKind},
    ports::{
        Approval, Approvals, RouteHop, SwapQuote, SwapRequest, Swaps, Token, TokenList, TokenPrice,
        TokenPrices, TokenSnapshot, TokenStanding,
    },
    provenance::{Clock, Mode, Provenance, SourceStatus, Sourced, SystemClock},
    reviewed::{CHAIN_ID, NATIVE_COIN, ReviewedContracts, SourceToken},
};
