//! Tests of every data route: paid for, and answered from recordings through the real adapters.

mod ai;
mod attacks_liar;
mod attacks_surroundings;
mod attacks_upstreams;
mod chain;
mod composites;
mod deep_dive;
mod defi;
mod figures;
mod freshness;
mod long_lists;
mod markets;
mod news;
mod pages;
mod prices;
mod probed;
mod provenance;
mod published;
mod security;
mod shop;
mod sub_wallet;
mod tokens;
mod vetting;
mod wallet_history;
mod yield_copilot;
mod yield_watch;
