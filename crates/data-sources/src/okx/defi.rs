//! DeFi products and positions.
