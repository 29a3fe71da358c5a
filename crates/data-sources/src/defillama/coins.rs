//! Prices of tokens.
