//! Security scans and holders of tokens.
