//! Real-world assets as perpetuals: which class each belongs to, and what its price shows while the
//! market behind it is closed.

mod class;
mod pulse;

pub use self::{
    class::{AssetClass, Classification, classify},
    pulse::{MacroCore, Omitted, OracleState, RwaRow, Tokenized, tokenized},
};
