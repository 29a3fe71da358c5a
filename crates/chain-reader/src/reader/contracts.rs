//! Reads accounts and contracts as of a block, and estimates transactions. All state of one block
//! is read by its hash, so that readings belong together.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::Block;
use serde_json::json;
use tx_sender::NodeFault;

use super::{ChainReader, Estimate, pinned};
use crate::ReadFault;

sol! {
    function allowance(address owner, address spender) external view returns (uint256);
    function decimals() external view returns (uint8);
    function balanceOf(address account) external view returns (uint256);
}

impl ChainReader {
    /// The allowance of `spender` over the owner's tokens, as of a block.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`], also when no node has the block; [`ReadFault::Contradiction`].
    pub async fn allowance(
        &self,
        token: Address,
        owner: Address,
        spender: Address,
        block: Block,
    ) -> Result<U256, ReadFault> {
        let call = allowanceCall { owner, spender };
        self.call(token, &call, block).await
    }

    /// An account's code, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn code(&self, account: Address, block: Block) -> Result<Bytes, ReadFault> {
        let params = json!([account, pinned(block)]);
        self.ask_all("eth_getCode", params, block).await
    }

    /// A contract's answer, as of a block. Empty when the address has no code.
    ///
    /// # Errors
    /// As [`Self::allowance`]. A call that reverts is [`ReadFault::Nodes`].
    pub async fn view(&self, to: Address, input: &Bytes, block: Block) -> Result<Bytes, ReadFault> {
        let params = json!([{ "to": to, "data": input }, pinned(block)]);
        self.ask_all("eth_call", params, block).await
    }

    /// A contract's answer to a call from an account, as of a block. `None` when the call reverts.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn call_from(
        &self,
        from: Address,
        to: Address,
        input: &Bytes,
        block: Block,
    ) -> Result<Option<Bytes>, ReadFault> {
        let params = json!([{ "from": from, "to": to, "data": input }, pinned(block)]);
        match self.ask_all("eth_call", params, block).await {
            Ok(output) => Ok(Some(output)),
            Err(fault) if fault.is_revert() => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// An account's balance of a token, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn token_balance(
        &self,
        token: Address,
        account: Address,
        block: Block,
    ) -> Result<U256, ReadFault> {
        self.call(token, &balanceOfCall { account }, block).await
    }

    /// A token's decimals, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn decimals(&self, token: Address, block: Block) -> Result<u8, ReadFault> {
        self.call(token, &decimalsCall {}, block).await
    }

    /// An account's coins in wei, as of a block, from the first node that answers.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn balance(&self, account: Address, block: Block) -> Result<U256, ReadFault> {
        self.ask("eth_getBalance", json!([account, pinned(block)]))
            .await
    }

    /// Estimates the gas of a transaction as of a block, from the first node that answers.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn estimate(
        &self,
        from: Address,
        to: Address,
        input: &Bytes,
        block: Block,
    ) -> Result<Estimate, ReadFault> {
        let call = json!({ "from": from, "to": to, "data": input });
        let asked =
            self.ask::<alloy_primitives::U64>("eth_estimateGas", json!([call, pinned(block)]));
        match asked.await {
            Ok(gas) => Ok(Estimate::Gas(gas.to())),
            Err(fault) if fault.is_revert() => Ok(Estimate::Reverts),
            Err(fault) => Err(fault),
        }
    }

    async fn call<C: SolCall>(
        &self,
        to: Address,
        call: &C,
        block: Block,
    ) -> Result<C::Return, ReadFault> {
        const METHOD: &str = "eth_call";
        let input = Bytes::from(call.abi_encode());
        let params = json!([{ "to": to, "data": input }, pinned(block)]);
        let output = self.ask_all(METHOD, params, block).await?;
        C::abi_decode_returns(&output).map_err(|_| self.fault(NodeFault::Lost { method: METHOD }))
    }
}
