//! Real-world assets as perpetuals: which class each one is of, what its price says and what it
//! does not while the market behind it is closed.

mod class;
mod pulse;

pub use self::{
    class::{AssetClass, Classification, classify},
    pulse::{MacroCore, Omitted, OracleState, RwaRow, Tokenized, tokenized},
};
