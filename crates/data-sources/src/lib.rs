#![doc = include_str!("../README.md")]

mod adapter;
pub mod calldata;
pub mod circle;
mod decimal;
mod error;
pub mod hyperliquid;
mod json;
mod kept;
pub mod lifi;
mod node;
pub mod okx;
pub mod polymarket;
mod ports;
mod provenance;
mod reviewed;
pub mod rpc;
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
