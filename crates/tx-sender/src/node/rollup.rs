//! The fees that a chain adds to the gas of a transaction: those of a rollup of the OP stack, whose
//! nodes demand them from the account's balance. A chain has them when it has the contract that
//! states them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use serde_json::json;
use tokio::time::Instant;

use super::NodeFault;
use super::json_rpc::{Transport, ask, pinned};

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

/// For how long a chain counts as one that adds nothing. Then its nodes are asked again, because
/// one of them may have lied.
const NONE_LASTS: Duration = Duration::from_secs(300);

/// Reads the fees that a chain adds. Remembers that the chain has some, and for five minutes that
/// it has none.
#[derive(Debug, Default)]
pub struct AddedFees(Mutex<Known>);

#[derive(Debug, Default, Clone, Copy)]
enum Known {
    #[default]
    Nothing,
    Fees,
    NoFees {
        until: Instant,
    },
}

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
        if !self.has_fees(node, block).await? {
            return Ok(U256::ZERO);
        }
        let size = U256::from(input_bytes.saturating_add(HEAD_BYTES));
        let (data, operator) = tokio::try_join!(
            fee(node, DATA_FEE, size, block),
            fee(node, OPERATOR_FEE, U256::from(gas), block),
        )?;
        Ok(data.saturating_add(operator))
    }

    /// Whether the chain has the contract. The node must have the block: one that still loads the
    /// chain has no code anywhere, and refuses.
    async fn has_fees(&self, node: &dyn Transport, block: B256) -> Result<bool, NodeFault> {
        match *self.known() {
            Known::Fees => return Ok(true),
            Known::NoFees { until } if Instant::now() < until => return Ok(false),
            Known::NoFees { .. } | Known::Nothing => {}
        }
        let code: Bytes = ask(node, "eth_getCode", json!([ORACLE, pinned(block)])).await?;
        *self.known() = match code.is_empty() {
            true => Known::NoFees {
                until: Instant::now() + NONE_LASTS,
            },
            false => Known::Fees,
        };
        Ok(!code.is_empty())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    let call = json!([{ "to": ORACLE, "data": input }, pinned(block)]);
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
