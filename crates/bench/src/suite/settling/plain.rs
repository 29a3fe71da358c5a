//! The settler of the baseline.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, Bytes, U256, hex};
use dev_chain::GAS_PAYER;
use tokio::sync::Mutex;
use tx_sender::{Fees, HttpTransport, LocalKey, Node, RpcNode, TransactionSigner, Unsigned};
use x402_wire::Payment;

use super::POLL;
use crate::BenchError;

/// Settles one payment after the other, including its receipt: a nonce in memory, no records, and
/// no fee bumps.
pub(super) struct Plain {
    node: RpcNode,
    key: LocalKey,
    next: Mutex<u64>,
}

impl Plain {
    pub(super) fn new(url: &str) -> Result<Self, BenchError> {
        let unusable = BenchError::Answer { what: "node" };
        let Ok(http) = HttpTransport::new(&url.to_owned().into(), Duration::from_secs(10)) else {
            return Err(unusable);
        };
        let Ok(key) = LocalKey::from_hex(&hex::encode(GAS_PAYER.key).into()) else {
            return Err(unusable);
        };
        Ok(Self {
            node: RpcNode::new(Arc::new(http)),
            key,
            next: Mutex::new(0),
        })
    }

    pub(super) async fn settle(&self, payment: &Payment) -> Result<(), BenchError> {
        let lost = |_| BenchError::Answer { what: "node" };
        let mut next = self.next.lock().await;
        let head = self.node.head().await.map_err(lost)?;
        let tip = self.node.priority_fee().await.map_err(lost)?;
        let base = head.base_fee.unwrap_or_default();
        let unsigned = Unsigned {
            chain_id: 196,
            nonce: *next,
            to: payment.requirements().asset,
            value: U256::ZERO,
            input: input(payment),
            gas_limit: 200_000,
            fees: Fees::Dynamic {
                max: base.saturating_mul(2).saturating_add(tip),
                tip,
            },
        };
        let unsigned_answer = || BenchError::Answer { what: "signature" };
        let raw = self
            .key
            .sign(&unsigned)
            .await
            .map_err(|_| unsigned_answer())?;
        let checked = tx_sender::check(&raw, &unsigned, self.key.account());
        let hash = checked.map_err(|_| unsigned_answer())?.hash;
        self.node.send(raw).await.map_err(lost)?;
        *next = next.saturating_add(1);
        loop {
            if let Some(receipt) = self.node.receipt(hash).await.map_err(lost)? {
                let block = self.node.block(receipt.number).await.map_err(lost)?;
                if receipt.succeeded && block.is_some_and(|block| block.hash == receipt.block) {
                    return Ok(());
                }
                return Err(BenchError::Answer { what: "receipt" });
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

alloy_sol_types::sol! {
    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce,
        uint8 v, bytes32 r, bytes32 s
    ) external;
}

fn input(payment: &Payment) -> Bytes {
    use alloy_sol_types::SolCall as _;
    let authorization = payment.authorization();
    let signature = payment.wallet_signature().unwrap_or_default();
    let word = |at: usize| {
        let word = signature.get(at..at.saturating_add(32));
        word.map(B256::from_slice).unwrap_or_default()
    };
    transferWithAuthorizationCall {
        from: authorization.from,
        to: authorization.to,
        value: authorization.value,
        validAfter: authorization.valid_after,
        validBefore: authorization.valid_before,
        nonce: authorization.nonce,
        v: signature.last().copied().unwrap_or_default(),
        r: word(0),
        s: word(32),
    }
    .abi_encode()
    .into()
}
