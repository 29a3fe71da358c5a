//! Real-world assets as perpetuals: the class of each, and which statements its price allows while
//! the market behind it is closed.

mod class;
mod pulse;

pub use self::{
    class::{AssetClass, Classification, classify},
    pulse::{MacroCore, Omitted, OracleState, RwaRow, Tokenized, tokenized},
};
