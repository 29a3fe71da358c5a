//! anvil, a local chain of the Foundry project.

use alloy_primitives::{Address, Bytes, U64, address};
use alloy_sol_types::SolCall;
use serde_json::json;
use test_support::process::Server;

use crate::{JudgeError, Rpc, Toolchain, TransactionReceipt, start};

/// An account that anvil funds and unlocks. Its key is public, and worth nothing on any other
/// chain.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// The address.
    pub address: Address,
    /// The private key as `0x` and 64 digits.
    pub private_key: &'static str,
}

/// Receives the payments. It is none of the accounts above, because the service refuses a payee
/// whose key is public.
pub const PAYEE: Address = address!("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");

impl Account {
    /// Holds tokens and pays for calls.
    pub const BUYER: Self = Self {
        address: address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
        private_key: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    };
    /// Sends the settlements of the service and pays their gas.
    pub const SETTLER: Self = Self {
        address: address!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
        private_key: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    };
    /// Mints the tokens.
    pub const MINTER: Self = Self {
        address: address!("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"),
        private_key: "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
    };
}

/// A running anvil.
#[derive(Debug)]
pub struct Anvil {
    rpc: Rpc,
    _process: Server,
}

impl Anvil {
    /// The id of the chain on which the service is paid.
    pub const PAYMENTS: u64 = 196;

    /// Starts anvil on a free port, with the id of the chain on which the service is paid. It mines
    /// a block for each transaction.
    ///
    /// # Errors
    /// anvil does not start.
    pub async fn start(toolchain: &Toolchain) -> Result<Self, JudgeError> {
        Self::start_on(toolchain, Self::PAYMENTS).await
    }

    /// Like [`Self::start`], with another chain id.
    ///
    /// # Errors
    /// anvil does not start.
    pub async fn start_on(toolchain: &Toolchain, chain_id: u64) -> Result<Self, JudgeError> {
        Self::start_with(toolchain, chain_id, &[]).await
    }

    /// Like [`Self::start_on`], with a block every second, whether or not there are transactions.
    ///
    /// # Errors
    /// anvil does not start.
    pub async fn start_ticking(toolchain: &Toolchain, chain_id: u64) -> Result<Self, JudgeError> {
        Self::start_with(toolchain, chain_id, &["--block-time", "1"]).await
    }

    async fn start_with(
        toolchain: &Toolchain,
        chain_id: u64,
        more: &[&str],
    ) -> Result<Self, JudgeError> {
        let mut command = toolchain.anvil();
        command.args(["--chain-id", &chain_id.to_string(), "--port", "0"]);
        command.args(more);
        let (process, address) = start(command, b"", |line| {
            line.strip_prefix("Listening on ")
                .map(|address| address.trim().to_owned())
        })
        .await?;
        Ok(Self {
            rpc: Rpc::new(format!("http://{address}")),
            _process: process,
        })
    }

    /// The endpoint of the chain.
    #[must_use]
    pub fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// Puts code at an address.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn set_code(&self, contract: Address, code: &Bytes) -> Result<(), JudgeError> {
        self.rpc
            .call("anvil_setCode", json!([contract, code]))
            .await
    }

    /// Sends a call from an unlocked account and returns once it is in a block.
    ///
    /// # Errors
    /// [`JudgeError::Failed`] when it reverts.
    pub async fn send<C: SolCall>(
        &self,
        from: Account,
        contract: Address,
        call: &C,
    ) -> Result<TransactionReceipt, JudgeError> {
        let data = call.abi_encode().into();
        let receipt = self.transact(from, contract, &data).await?;
        if receipt.status.is_zero() {
            let transaction = receipt.transaction_hash.to_string();
            return Err(JudgeError::Failed {
                call: C::SIGNATURE,
                transaction,
            });
        }
        Ok(receipt)
    }

    /// Sends calldata from an unlocked account. Returns once the transaction is in a block, even if
    /// it reverted.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn transact(
        &self,
        from: Account,
        to: Address,
        data: &Bytes,
    ) -> Result<TransactionReceipt, JudgeError> {
        // The call needs an explicit limit, because a node refuses to estimate a call that reverts.
        let gas = U64::from(5_000_000);
        let request = json!([{"from": from.address, "to": to, "data": data, "gas": gas}]);
        self.rpc.call("eth_sendTransactionSync", request).await
    }
}
