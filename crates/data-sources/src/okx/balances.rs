//! Balances of an account across chains.
