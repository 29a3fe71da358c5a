//! The fees that a chain adds to the gas of a transaction: those of a rollup of the OP stack, whose
//! nodes demand them from the account's balance. A chain has them when it has the contract that
//! states them.

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use serde_json::json;
use tokio::sync::OnceCell;

use super::NodeFault;
use super::json_rpc::{Transport, ask};

/// The predeploy `GasPriceOracle`, at the same address on every chain of the OP stack.
const ORACLE: Address = address!("420000000000000000000000000000000000000F");

/// `getL1FeeUpperBound(uint256)`: by the size of a transaction without its signature.
const DATA_FEE: [u8; 4] = hex!("f1c7a58b");

/// `getOperatorFee(uint256)`: by the gas of a transaction.
const OPERATOR_FEE: [u8; 4] = hex!("275aedd2");

/// The size of a transaction without its signature and its calldata. Only fees, values and nonces
/// that no chain has need more.
const HEAD_BYTES: usize = 80;

/// The code for a reverted call.
const REVERTED: i64 = 3;

/// Reads the fees that a chain adds. Remembers whether the chain has any.
#[derive(Debug, Default)]
pub struct AddedFees(OnceCell<bool>);

impl AddedFees {
    /// Returns the most that a transaction with this much calldata and gas costs beside its gas, in
    /// wei, as of the block with this hash. Zero on a chain that adds nothing, and for a fee that
    /// the chain's contract does not know.
    ///
    /// # Errors
    /// The faults of the node.
    pub async fn of(
        &self,
        node: &dyn Transport,
        (input_bytes, gas): (usize, u64),
        block: B256,
    ) -> Result<U256, NodeFault> {
        let has_fees = self.0.get_or_try_init(|| async {
            let code: Option<Bytes> = ask(node, "eth_getCode", json!([ORACLE, "latest"])).await?;
            Ok::<_, NodeFault>(code.is_some_and(|code| !code.is_empty()))
        });
        if !*has_fees.await? {
            return Ok(U256::ZERO);
        }
        let size = U256::from(input_bytes.saturating_add(HEAD_BYTES));
        let (data, operator) = tokio::try_join!(
            fee(node, DATA_FEE, size, block),
            fee(node, OPERATOR_FEE, U256::from(gas), block),
        )?;
        Ok(data.saturating_add(operator))
    }
}

/// Asks the contract for a fee. Zero when it reverts or returns no number: older versions of it do
/// not know every fee.
async fn fee(
    node: &dyn Transport,
    function: [u8; 4],
    argument: U256,
    block: B256,
) -> Result<U256, NodeFault> {
    let input: Bytes = [&function[..], &argument.to_be_bytes::<32>()]
        .concat()
        .into();
    let pinned = json!({ "blockHash": block, "requireCanonical": true });
    let call = json!([{ "to": ORACLE, "data": input }, pinned]);
    match ask::<Option<Bytes>>(node, "eth_call", call).await {
        Ok(Some(output)) if output.len() == 32 => Ok(U256::from_be_slice(&output)),
        Ok(_) => Ok(U256::ZERO),
        Err(NodeFault::Refused { code, message })
            if code == REVERTED || message.to_ascii_lowercase().contains("revert") =>
        {
            Ok(U256::ZERO)
        }
        Err(fault) => Err(fault),
    }
}
