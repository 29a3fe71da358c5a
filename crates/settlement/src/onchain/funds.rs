//! The balance of the account that pays the gas, and the present gas price.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use tokio::sync::Mutex;
use tokio::time::Instant;

use tx_sender::{Fees, Market};

use crate::chain::{Head, Rpc, RpcFault};
use crate::{Cause, observe};

/// How old a reading may be. Paid calls come in bursts, and they share one reading.
const KEEP: Duration = Duration::from_secs(1);

/// The last reading. An empty account also counts as a reading.
#[derive(Debug, Default)]
pub(super) struct Funds {
    last: Mutex<Option<(Instant, Result<GasState, Cause>)>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct GasState {
    /// In the coin's smallest unit.
    pub(super) balance: U256,
    pub(super) fees: Fees,
}

impl GasState {
    /// How many settlements with this gas the account can pay.
    pub(super) fn settlements(&self, gas: u64) -> u64 {
        let each = U256::from(self.fees.most()).saturating_mul(U256::from(gas));
        self.balance
            .checked_div(each)
            .map_or(u64::MAX, |count| count.saturating_to())
    }
}

impl Funds {
    /// The account's balance and the present fee. The balance is asked first: without one the fee
    /// does not matter.
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

/// The present gas price, for estimates. The sender reads it again when it sends.
async fn market(rpc: &Rpc, head: &Head) -> Result<Market, Cause> {
    let Some(base) = head.base_fee() else {
        let price = rpc.gas_price().await.map_err(RpcFault::cause)?;
        return Ok(Market::Legacy { price });
    };
    let tip = match rpc.priority_fee().await {
        Ok(tip) => tip,
        // Not every node has the method; the gas price of such a node is base fee plus tip.
        Err(RpcFault::Refused(_)) => rpc
            .gas_price()
            .await
            .map_err(RpcFault::cause)?
            .saturating_sub(base),
        Err(fault) => return Err(fault.cause()),
    };
    Ok(Market::Dynamic { base, tip })
}
