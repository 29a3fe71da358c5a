//! The questions of each adapter. A test checks that they cover every source of the adapter.

mod chain;
mod defi;
mod markets;
mod nodes;
mod okx;
mod rails;
mod social;
mod tokens;
mod tradfi;

use std::time::Duration;

use alloy_primitives::{Address, address};
use readings::symbol::SymbolKey;

pub use self::rails::{Rail, Terms};

/// The age limit of a question, which no kept value can meet.
const NOW: Option<Duration> = Some(Duration::ZERO);

/// Tokens of the home chain.
const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");
const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
/// A token of Base that every scanner knows.
const WETH: Address = address!("4200000000000000000000000000000000000006");
/// The account whose balances and positions are asked for: the contract of a well-known token,
/// which is no wallet.
const ACCOUNT: Address = address!("1f9840a85d5aF5bf1D1762F925BDADdC4201F984");

fn btc() -> Option<SymbolKey> {
    SymbolKey::new("BTC")
}

/// Several questions of one upstream.
macro_rules! questions {
    ($upstream:expr; $($sources:expr => $ask:expr),* $(,)?) => {
        vec![$($crate::probe::Question::new($upstream, &$sources, $ask)),*]
    };
}
use questions;

/// The upstream of an adapter that has one.
macro_rules! probed {
    ($adapter:ty, |$this:ident| $questions:expr) => {
        impl $crate::probe::Probed for $adapter {
            fn source(&self) -> Option<&$crate::Source> {
                Some(<$adapter>::source(self))
            }

            fn questions(&self) -> Vec<$crate::probe::Question<'_>> {
                let $this = self;
                $questions
            }
        }
    };
}
use probed;
