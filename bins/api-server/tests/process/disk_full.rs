//! A ledger without room.
