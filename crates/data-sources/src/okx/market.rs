//! Market readings of tokens: prices with changes, search, trending.
