//! Reads the balance of the account that pays the gas, and the current gas price.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use tokio::sync::Mutex;
use tokio::time::Instant;

use tx_sender::{Fees, Market};

use crate::chain::{Head, Rpc, RpcFault};
use crate::{Cause, observe};

/// How old a reading may be. Paid calls that come together share one reading.
const KEEP: Duration = Duration::from_secs(1);

/// The last reading. An empty account counts as a reading too; a failure does not.
#[derive(Debug, Default)]
pub(super) struct Funds {
    last: Mutex<Option<(Instant, Result<GasState, Cause>)>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct GasState {
    /// The balance in the coin's smallest unit.
    pub(super) balance: U256,
    pub(super) fees: Fees,
}

impl GasState {
    /// Returns for how many settlements of this gas the balance is enough.
    pub(super) fn settlements(&self, gas: u64) -> u64 {
        let each = U256::from(self.fees.most()).saturating_mul(U256::from(gas));
        self.balance
            .checked_div(each)
            .map_or(u64::MAX, |count| count.saturating_to())
    }
}

impl Funds {
    /// Returns the account's balance and the current fee. Reads the balance first: when it is zero,
    /// the fee does not matter.
    pub(super) async fn read(&self, rpc: &Rpc, account: Address) -> Result<GasState, Cause> {
        let mut last = self.last.lock().await;
        if let Some((at, reading)) = &*last
            && at.elapsed() < KEEP
        {
            return reading.clone();
        }
        let balance = rpc.coin_balance(account).await.map_err(RpcFault::cause)?;
        observe::gas_balance(balance);
        let reading = if balance.is_zero() {
            Err(Cause::NoGas { account, balance })
        } else {
            let head = rpc.head().await.map_err(RpcFault::cause)?;
            let fees = market(rpc, &head).await?.offer();
            Ok(GasState { balance, fees })
        };
        *last = Some((Instant::now(), reading.clone()));
        reading
    }
}

/// Reads the current gas price for an estimate. The sender reads it again when it sends.
async fn market(rpc: &Rpc, head: &Head) -> Result<Market, Cause> {
    let Some(base) = head.base_fee() else {
        let price = rpc.gas_price().await.map_err(RpcFault::cause)?;
        return Ok(Market::Legacy { price });
    };
    let tip = match rpc.priority_fee().await {
        Ok(tip) => tip,
        // Not every node has this method. The gas price of such a node is base fee plus tip.
        Err(RpcFault::Refused(_)) => rpc
            .gas_price()
            .await
            .map_err(RpcFault::cause)?
            .saturating_sub(base),
        Err(fault) => return Err(fault.cause()),
    };
    Ok(Market::Dynamic { base, tip })
}
