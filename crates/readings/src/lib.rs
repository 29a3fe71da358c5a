#![doc = include_str!("../README.md")]

pub mod ai;
pub mod chain;
pub mod defi;
pub mod derivatives;
mod extent;
mod figure;
pub mod macro_data;
pub mod news;
pub mod portfolio;
pub mod rwa;
pub mod security;
pub mod social;
pub mod symbol;
pub mod text;
pub mod token;
pub mod unreadable;
pub mod worth;

pub use self::extent::Extent;
pub use self::figure::{
    Decimal, Figure, FigureError, mean, median, percent_change, share_pct, sum,
};
