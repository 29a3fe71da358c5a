//! Chains read over JSON-RPC: transactions, receipts, blocks, balances.
