//! Compares the embedded chain with anvil: the same authorization has the same outcome on both.
//!
//! `ethers-core` signs the transactions and authorizations, so that the chains do not only get what
//! our own code writes.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_sol_types::SolCall;
use dev_chain::DevChain;
use ethers_core::k256::ecdsa::SigningKey;
use ethers_core::types::transaction::eip712::Eip712;
use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::types::{Eip1559TransactionRequest, Signature};
use judges::{
    Account, Anvil, JudgeError, Log, PAYEE, Rpc, TestToken, Token, Toolchain, TransactionReceipt,
    install_tokens,
};
use serde_json::{Value, json};
use x402_wire::{Asset, Authorization, Network};

use crate::ethers;
use crate::world::FUNDS;

/// Sets how far from the present a time is. No test takes an hour.
const HOUR: u64 = 3_600;

/// How an authorization reaches the token.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// `transferWithAuthorization(…, uint8 v, bytes32 r, bytes32 s)`.
    Vrs,
    /// `transferWithAuthorization(…, bytes signature)`.
    Bytes,
}

/// One attempt: the message that was signed, the message that is presented, and the form.
#[derive(Debug, Clone)]
struct Attempt {
    name: &'static str,
    presented: Authorization,
    signature: Vec<u8>,
    form: Form,
}

/// Everything that a chain shows of an attempt.
#[derive(Debug, PartialEq, Eq)]
struct Observed {
    /// The returned data of a call before the transaction. `Err` when the call reverted.
    call: Result<Bytes, Value>,
    status: U64,
    logs: Vec<Log>,
    used: bool,
    buyer: U256,
    payee: U256,
}

/// A chain under comparison.
struct Side {
    rpc: Rpc,
    method: &'static str,
    nonce: u64,
}

#[tokio::test]
async fn every_attempt_ends_alike_on_both_chains() {
    let toolchain = Toolchain::from_env().unwrap();
    let anvil = Anvil::start(&toolchain).await.unwrap();
    install_tokens(&anvil, FUNDS).await.unwrap();
    let embedded = DevChain::with_chain_196_assets().unwrap();
    let server = embedded
        .serve("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let now = embedded.now();

    let mut theirs = Side::new(anvil.rpc().clone(), "eth_sendRawTransactionSync");
    let mut ours = Side::new(Rpc::new(server.url()), "eth_sendRawTransaction");
    for token in Token::ALL {
        for attempt in attempts(token, now) {
            let expected = theirs.observe(token, &attempt).await;
            let observed = ours.observe(token, &attempt).await;
            assert_eq!(observed, expected, "{}: {}", token.symbol, attempt.name);
            let succeeds = attempt.name.starts_with("good");
            let transfers = expected.logs.len() == 2 && expected.status == U64::ONE;
            assert_eq!(
                transfers, succeeds,
                "{}: {}: {expected:?}",
                token.symbol, attempt.name
            );
        }
    }
}

/// The attempts, in the order in which they are made.
fn attempts(token: Token, now: u64) -> Vec<Attempt> {
    let good = |nonce: u8| Authorization {
        from: Account::BUYER.address,
        to: PAYEE,
        value: U256::from(2_000),
        valid_after: U256::from(now - HOUR),
        valid_before: U256::from(now + HOUR),
        nonce: B256::repeat_byte(nonce),
    };
    let signed = |name, authorization: Authorization, form| Attempt {
        name,
        presented: authorization,
        signature: sign(token.name, token, &authorization),
        form,
    };
    let other_signature = |name, change: fn(&mut Vec<u8>)| {
        let mut attempt = signed(name, good(3), Form::Bytes);
        change(&mut attempt.signature);
        attempt
    };
    let tampered = |name, presented| Attempt {
        presented,
        ..signed(name, good(3), Form::Vrs)
    };
    vec![
        signed("good with v, r, s", good(1), Form::Vrs),
        signed("a second time", good(1), Form::Vrs),
        signed("a second time as bytes", good(1), Form::Bytes),
        signed("good as bytes", good(2), Form::Bytes),
        tampered(
            "another value",
            Authorization {
                value: U256::from(1),
                ..good(3)
            },
        ),
        tampered(
            "another payee",
            Authorization {
                to: Account::SETTLER.address,
                ..good(3)
            },
        ),
        tampered(
            "another payer",
            Authorization {
                from: Account::SETTLER.address,
                ..good(3)
            },
        ),
        tampered(
            "another nonce",
            Authorization {
                nonce: B256::repeat_byte(4),
                ..good(3)
            },
        ),
        Attempt {
            signature: sign("USD\u{e2}\u{82}\u{ac}0", token, &good(3)),
            ..signed("another token name", good(3), Form::Vrs)
        },
        other_signature("high s", |signature| high_s(signature)),
        other_signature("v of 29", |signature| signature[64] = 29),
        other_signature("64 bytes", |signature| signature.truncate(64)),
        other_signature("66 bytes", |signature| signature.push(0)),
        signed(
            "expired",
            Authorization {
                valid_before: U256::from(now - HOUR),
                ..good(5)
            },
            Form::Vrs,
        ),
        signed(
            "not yet valid",
            Authorization {
                valid_after: U256::from(now + HOUR),
                ..good(6)
            },
            Form::Vrs,
        ),
        signed(
            "more than the payer holds",
            Authorization {
                value: FUNDS + U256::from(1),
                ..good(7)
            },
            Form::Vrs,
        ),
        signed(
            "to nobody",
            Authorization {
                to: Address::ZERO,
                ..good(8)
            },
            Form::Vrs,
        ),
        signed("good in the end", good(3), Form::Vrs),
    ]
}

impl Side {
    fn new(rpc: Rpc, method: &'static str) -> Self {
        Self {
            rpc,
            method,
            nonce: 0,
        }
    }

    async fn observe(&mut self, token: Token, attempt: &Attempt) -> Observed {
        let data = attempt.calldata();
        let receipt = (self.call(token, &data).await, self.send(token, data).await);
        let (call, TransactionReceipt { status, logs, .. }) = receipt;
        let state = TestToken::authorizationStateCall {
            authorizer: attempt.presented.from,
            nonce: attempt.presented.nonce,
        };
        Observed {
            call,
            status,
            logs,
            used: self.rpc.view(token.address, &state).await.unwrap(),
            buyer: token
                .balance_of(&self.rpc, Account::BUYER.address)
                .await
                .unwrap(),
            payee: token.balance_of(&self.rpc, PAYEE).await.unwrap(),
        }
    }

    /// Returns what `eth_call` shows to a settler that simulates before it sends.
    async fn call(&self, token: Token, data: &Bytes) -> Result<Bytes, Value> {
        let request = json!({
            "from": Account::SETTLER.address,
            "to": token.address,
            "data": data,
        });
        match self.rpc.call("eth_call", json!([request, "latest"])).await {
            Ok(data) => Ok(data),
            Err(JudgeError::Rpc {
                data: Some(data), ..
            }) => Err(data),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends the transaction as a settler that does not simulate, and returns its receipt.
    async fn send(&mut self, token: Token, data: Bytes) -> TransactionReceipt {
        let transaction: TypedTransaction = Eip1559TransactionRequest::new()
            .to(ethers::address(token.address))
            .data(data.to_vec())
            .gas(300_000)
            .max_fee_per_gas(100_000_000_000u64)
            .max_priority_fee_per_gas(1_000_000_000u64)
            .nonce(self.nonce)
            .chain_id(196)
            .into();
        self.nonce += 1;
        let hash = B256::from(transaction.sighash().0);
        let signature = ethers::sign(&key(Account::SETTLER), hash);
        let signature = Signature {
            v: u64::from(signature[64] - 27),
            ..parse(&signature)
        };
        let raw = Bytes::from(transaction.rlp_signed(&signature).to_vec());
        let answer: Value = self.rpc.call(self.method, json!([raw])).await.unwrap();
        match answer {
            Value::String(hash) => {
                let receipt = self.rpc.receipt(hash.parse().unwrap()).await.unwrap();
                receipt.expect("a block for each transaction")
            }
            receipt => serde_json::from_value(receipt).unwrap(),
        }
    }
}

impl Attempt {
    fn calldata(&self) -> Bytes {
        let Authorization {
            from,
            to,
            value,
            valid_after,
            valid_before,
            nonce,
        } = self.presented;
        let data = match self.form {
            Form::Vrs => TestToken::transferWithAuthorization_0Call {
                from,
                to,
                value,
                validAfter: valid_after,
                validBefore: valid_before,
                nonce,
                v: self.signature[64],
                r: B256::from_slice(&self.signature[..32]),
                s: B256::from_slice(&self.signature[32..64]),
            }
            .abi_encode(),
            Form::Bytes => TestToken::transferWithAuthorization_1Call {
                from,
                to,
                value,
                validAfter: valid_after,
                validBefore: valid_before,
                nonce,
                signature: self.signature.clone().into(),
            }
            .abi_encode(),
        };
        data.into()
    }
}

fn sign(name: &str, token: Token, authorization: &Authorization) -> Vec<u8> {
    let asset = Asset {
        address: token.address,
        name: name.to_owned(),
        version: token.version.to_owned(),
    };
    let typed = ethers::typed_data(&asset, Network::evm(196), authorization);
    let digest = B256::from(typed.encode_eip712().unwrap());
    ethers::sign(&key(Account::BUYER), digest).to_vec()
}

/// Replaces a signature by its twin: another signature of the same message by the same key.
fn high_s(signature: &mut [u8]) {
    let order: U256 = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
        .parse()
        .unwrap();
    let s = order - U256::from_be_slice(&signature[32..64]);
    signature[32..64].copy_from_slice(&s.to_be_bytes::<32>());
    signature[64] = 27 + 28 - signature[64];
}

fn key(account: Account) -> SigningKey {
    let bytes: B256 = account.private_key.parse().unwrap();
    SigningKey::from_slice(bytes.as_slice()).unwrap()
}

fn parse(signature: &[u8; 65]) -> Signature {
    Signature::try_from(&signature[..]).unwrap()
}
