//! The limits of a settlement's cost.

/// The limits of a settlement's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GasPolicy {
    /// The most gas that one settlement may use. A payment that needs more is refused before the
    /// work.
    pub gas_cap: u64,
    /// Whether payers with code are accepted: contract wallets, and accounts that have delegated
    /// (EIP-7702). Their own code runs in the settlement. Our account pays its gas, up to the cap.
    pub contract_wallets: bool,
    /// The highest price of a unit of gas, in wei. While the market is above it, no new transaction
    /// is sent.
    pub max_fee_per_gas: u128,
}

impl Default for GasPolicy {
    /// A transfer with an authorization takes 60,000 to 100,000 gas. A wallet with several owners
    /// takes more.
    fn default() -> Self {
        Self {
            gas_cap: 200_000,
            contract_wallets: true,
            max_fee_per_gas: 100_000_000_000,
        }
    }
}
