//! Perpetual futures: what venues state about funding, open interest and positions, in common
//! units.
//!
//! Venues differ in nearly every unit. Funding is for an hour or for an interval, open interest is
//! in coins, contracts or dollars, one contract may be a thousand coins, and long/short ratios
//! count different things. Each type here has one unit. A value that a venue does not state stays
//! absent.

mod account;
mod book;
mod contract;
mod depth;
mod funding;
mod history;
mod levels;
mod market;
mod perp;
mod venue;

pub use self::{
    account::{Account, MarginSummary, OpenOrder, Position, SpotBalance},
    book::{Book, Candle, Crossed, Impossible, Level},
    contract::{Contract, coin_of, coin_of_contract, contract_for},
    depth::{Band, BookImpact, Depth, depth},
    funding::{Funding, FundingInterval, Unbelievable},
    history::{
        Cursor, CursorError, Fill, FundingPayment, HistoryItem, HistoryKind, HistoryKinds,
        LedgerUpdate, Page, Window, page,
    },
    levels::{PriceLevel, Structure, structure},
    market::{Aggregate, RankedBy, SymbolMarket, top_by_open_interest},
    perp::{PerpContext, PerpMarket},
    venue::{CoinReading, LongShort, Missing, OpenInterest, Part, Venue, VenueReading},
};
