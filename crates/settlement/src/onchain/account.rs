//! The account that sends the settlements: one key, one transaction number after the other.

use alloy_consensus::{SignableTransaction, Signed, TxEip1559, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::queue::Queue;
use crate::Cause;
use crate::chain::{Head, Rpc, RpcFault};

/// How often a transaction number that turns out to be taken is replaced by a later one.
const MAX_ATTEMPTS: usize = 5;

/// Codes of a call that was not executed: not readable, not a request, no such method, wrong parameters
/// (JSON-RPC 2.0), transaction rejected, limit exceeded (EIP-1474).
const DECLINED_CODES: [i64; 6] = [-32700, -32600, -32601, -32602, -32003, -32005];

/// The account that sends the settlements.
pub(crate) struct Account {
    signer: PrivateKeySigner,
    chain_id: u64,
    /// The next transaction number; `None` when the node must be asked. Held while sending, so that numbers
    /// reach the node in order and without gaps.
    next: Mutex<Option<u64>>,
    queue: Queue,
}

/// A call to send.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) to: Address,
    pub(crate) input: Bytes,
    pub(crate) gas_limit: u64,
    pub(crate) fees: Fees,
}

/// What is offered for the gas, in the coin's smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fees {
    /// EIP-1559.
    Dynamic { max: u128, tip: u128 },
    /// For chains without a base fee.
    Legacy { price: u128 },
}

/// A transaction that was not certainly accepted.
#[derive(Debug)]
pub(crate) enum SendFault {
    /// No node has it.
    NotSent(Cause),
    /// The node may have it.
    Lost { hash: B256, cause: Cause },
}

/// What a node's refusal of a transaction means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// It has the same transaction already.
    Known,
    /// It has another transaction with this number.
    NumberTaken,
    /// Numbers before this one are missing.
    NumberAhead,
    /// It does not take the transaction: not enough for the gas, fees too low, too many calls, …
    Declined,
    /// Anything else. A gateway that fails or times out says so after it may have passed the transaction on.
    Unclear,
}

impl Fees {
    /// The most that one gas can cost.
    pub(crate) fn most(self) -> u128 {
        match self {
            Self::Dynamic { max, .. } => max,
            Self::Legacy { price } => price,
        }
    }

    /// A call that offers these fees, so that whatever it runs sees the gas price of the transaction.
    pub(crate) fn of(self, request: TransactionRequest) -> TransactionRequest {
        match self {
            Self::Dynamic { max, tip } => {
                request.max_fee_per_gas(max).max_priority_fee_per_gas(tip)
            }
            Self::Legacy { price } => request.gas_price(price),
        }
    }

    /// Twice the base fee leaves room for six full blocks.
    pub(crate) async fn at(rpc: &Rpc, head: &Head) -> Result<Self, Cause> {
        let Some(base) = head.base_fee() else {
            return Ok(Self::Legacy {
                price: rpc.gas_price().await.map_err(RpcFault::cause)?,
            });
        };
        let tip = match rpc.priority_fee().await {
            Ok(tip) => tip,
            // Not every node has the method; its gas price is base fee and tip.
            Err(RpcFault::Refused(_)) => rpc
                .gas_price()
                .await
                .map_err(RpcFault::cause)?
                .saturating_sub(base),
            Err(fault) => return Err(fault.cause()),
        };
        Ok(Self::Dynamic {
            max: base.saturating_mul(2).saturating_add(tip),
            tip,
        })
    }
}

impl Account {
    pub(crate) fn new(signer: PrivateKeySigner, chain_id: u64) -> Self {
        Self {
            signer,
            chain_id,
            next: Mutex::new(None),
            queue: Queue::default(),
        }
    }

    /// The settlements that wait to be sent.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn address(&self) -> Address {
        self.signer.address()
    }

    /// Signs and sends; the hash is computed here and does not depend on the node's answer.
    pub(crate) async fn send(&self, rpc: &Rpc, outgoing: &Outgoing) -> Result<B256, SendFault> {
        let _place = self.queue.enter();
        let mut next = self.next.lock().await;
        let began = Instant::now();
        let sent = self.send_next(&mut next, rpc, outgoing).await;
        self.queue.sent(began.elapsed());
        sent
    }

    async fn send_next(
        &self,
        next: &mut Option<u64>,
        rpc: &Rpc,
        outgoing: &Outgoing,
    ) -> Result<B256, SendFault> {
        let mut at_least = 0;
        let mut refused = None;
        // A gateway that repeats a call gets "number taken" for the very transaction that it has delivered.
        let mut doubtful = None;
        let failed = |doubtful: Option<B256>, cause| match doubtful {
            Some(hash) => SendFault::Lost { hash, cause },
            None => SendFault::NotSent(cause),
        };
        for _ in 0..MAX_ATTEMPTS {
            // Taken, and put back only after a success: whatever else happens, being dropped in the middle
            // included, the node is asked again.
            let number = match next.take() {
                Some(number) => number,
                None => {
                    let pending = rpc.next_nonce(self.address()).await;
                    pending
                        .map_err(|fault| failed(doubtful, fault.cause()))?
                        .max(at_least)
                }
            };
            let Some((hash, raw)) = self.sign(outgoing, number) else {
                break;
            };
            let cause = match rpc.send_raw(&raw).await {
                Ok(()) => {
                    *next = number.checked_add(1);
                    return Ok(hash);
                }
                Err(RpcFault::Lost(cause @ Cause::Unreachable { .. })) => {
                    return Err(failed(doubtful, cause));
                }
                Err(RpcFault::Lost(cause)) => return Err(SendFault::Lost { hash, cause }),
                // Nodes that execute at once report the revert here; its receipt tells the same.
                Err(RpcFault::Reverted(_)) => return Ok(hash),
                Err(RpcFault::Refused(cause)) => cause,
            };
            match Refusal::read(&cause) {
                Refusal::Known => {
                    *next = number.checked_add(1);
                    return Ok(hash);
                }
                Refusal::NumberTaken => {
                    at_least = number.saturating_add(1);
                    doubtful = doubtful.or(Some(hash));
                }
                Refusal::NumberAhead => at_least = 0,
                Refusal::Declined => return Err(failed(doubtful, cause)),
                Refusal::Unclear => return Err(SendFault::Lost { hash, cause }),
            }
            refused = Some(cause);
        }
        let unsignable = Cause::NoGas {
            account: self.address(),
            balance: U256::ZERO,
        };
        Err(failed(doubtful, refused.unwrap_or(unsignable)))
    }

    /// Asks the node for the next transaction number before the next transaction: one that was sent has not
    /// arrived, and its number may be free again.
    pub(crate) async fn resync(&self) {
        *self.next.lock().await = None;
    }

    fn sign(&self, outgoing: &Outgoing, nonce: u64) -> Option<(B256, Vec<u8>)> {
        let Outgoing {
            to,
            input,
            gas_limit,
            fees,
        } = outgoing.clone();
        match fees {
            Fees::Dynamic { max, tip } => self.seal(TxEip1559 {
                chain_id: self.chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: max,
                max_priority_fee_per_gas: tip,
                to: TxKind::Call(to),
                value: U256::ZERO,
                access_list: Default::default(),
                input,
            }),
            Fees::Legacy { price } => self.seal(TxLegacy {
                chain_id: Some(self.chain_id),
                nonce,
                gas_price: price,
                gas_limit,
                to: TxKind::Call(to),
                value: U256::ZERO,
                input,
            }),
        }
    }

    fn seal<T>(&self, transaction: T) -> Option<(B256, Vec<u8>)>
    where
        T: SignableTransaction<Signature>,
        Signed<T>: Encodable2718,
    {
        let signature = self
            .signer
            .sign_hash_sync(&transaction.signature_hash())
            .ok()?;
        let signed = transaction.into_signed(signature);
        Some((signed.trie_hash(), signed.encoded_2718()))
    }
}

impl Refusal {
    /// Nodes have hardly any codes for these, only words; the words of geth, reth, erigon and nethermind.
    fn read(cause: &Cause) -> Self {
        let Cause::Rpc { code, message, .. } = cause else {
            return Self::Unclear;
        };
        let message = message.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        // "unknown transaction type" holds the words "known transaction".
        let unknown = has(&["unknown transaction"]);
        if !unknown && has(&["already known", "already imported", "known transaction"]) {
            Self::Known
        } else if has(&[
            "nonce too low",
            "nonce is too low",
            "replacement",
            "oldnonce",
            "nonce too old",
        ]) {
            Self::NumberTaken
        } else if has(&["nonce too high", "nonce gap", "nonce is too high"]) {
            Self::NumberAhead
        } else if DECLINED_CODES.contains(code)
            || has(&[
                "insufficient funds",
                "insufficient balance",
                "underpriced",
                "max fee per gas less than block base fee",
                "max priority fee per gas higher than max fee per gas",
                "exceeds block gas limit",
                "intrinsic gas too low",
                "exceeds the configured cap",
                "pool is full",
                "rate limit",
                "too many requests",
                "transaction type",
            ])
        {
            Self::Declined
        } else {
            Self::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{Transaction, TxEnvelope};
    use alloy_eips::eip2718::Decodable2718;

    use super::*;
    use crate::Call;

    fn account() -> Account {
        let key = B256::repeat_byte(0x42);
        Account::new(PrivateKeySigner::from_bytes(&key).unwrap(), 196)
    }

    #[test]
    fn a_signed_transaction_is_ours_and_bound_to_the_chain() {
        let account = account();
        for fees in [Fees::Dynamic { max: 30, tip: 2 }, Fees::Legacy { price: 9 }] {
            let outgoing = Outgoing {
                to: Address::repeat_byte(7),
                input: vec![1, 2, 3].into(),
                gas_limit: 90_000,
                fees,
            };
            let (hash, raw) = account.sign(&outgoing, 5).unwrap();
            let decoded = TxEnvelope::decode_2718(&mut raw.as_slice()).unwrap();
            assert_eq!(*decoded.tx_hash(), hash);
            let signer = decoded
                .signature()
                .recover_address_from_prehash(&decoded.signature_hash());
            assert_eq!(signer.unwrap(), account.address());
            assert_eq!((decoded.chain_id(), decoded.nonce()), (Some(196), 5));
            assert_eq!(decoded.to(), Some(outgoing.to));
            assert_eq!(decoded.input(), &outgoing.input);
        }
    }

    #[test]
    fn refusals_are_read_from_their_words() {
        for (message, expected) in [
            ("already known", Refusal::Known),
            ("known transaction: 0xab", Refusal::Known),
            ("unknown transaction type", Refusal::Declined),
            ("transaction type not supported", Refusal::Declined),
            ("unknown transaction", Refusal::Unclear),
            (
                "nonce too low: next nonce 5, tx nonce 4",
                Refusal::NumberTaken,
            ),
            ("replacement transaction underpriced", Refusal::NumberTaken),
            ("nonce too high", Refusal::NumberAhead),
            (
                "insufficient funds for gas * price + value",
                Refusal::Declined,
            ),
            ("transaction underpriced", Refusal::Declined),
            ("rate limited", Refusal::Declined),
            ("request timed out", Refusal::Unclear),
            ("internal error", Refusal::Unclear),
        ] {
            let cause = Cause::Rpc {
                call: Call::Rpc("eth_sendRawTransaction"),
                code: -32000,
                message: message.to_owned(),
            };
            assert_eq!(Refusal::read(&cause), expected, "{message}");
        }
    }
}
