//! Aave on chain 196.
