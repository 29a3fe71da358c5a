//! An anvil with the payment assets and the multicall contract, and our reader of it.

use std::{
    collections::BTreeMap,
    fs,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::SolCall;
use data_sources::{Clock, SystemClock, evm::EvmReader, rpc::RpcConfig, transport::Transport};
use ethers_core::{k256::ecdsa::SigningKey, utils::keccak256};
use judges::{
    Account, Anvil, JudgeError, PAYEE, TestToken, Token, Toolchain, TransactionReceipt, contracts,
    install_tokens,
};
use readings::chain::{Explanation, Knowledge, Needs, Record, explain};
use serde_json::{Value, json};
use test_support::eventually;

pub(crate) const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
pub(crate) const NOBODY: Address = address!("3333333333333333333333333333333333333333");

pub(crate) mod calls {
    alloy_sol_types::sol! {
        function transfer(address to, uint256 amount) external returns (bool);
        function approve(address spender, uint256 amount) external returns (bool);
    }
}

pub(crate) struct Stage {
    pub(crate) anvil: Anvil,
    pub(crate) reader: EvmReader,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let anvil = Anvil::start(&toolchain).await.unwrap();
        install_tokens(&anvil, U256::from(1_000_000_000))
            .await
            .unwrap();
        let artifact = fs::read_to_string(contracts().join("artifacts/Multicall3.json")).unwrap();
        let artifact: Value = serde_json::from_str(&artifact).unwrap();
        let code: Bytes = artifact["deployedBytecode"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        anvil.set_code(MULTICALL3, &code).await.unwrap();
        let config = RpcConfig {
            chains: BTreeMap::from([(196, vec![anvil.rpc().url().to_owned().into()])]),
            ..RpcConfig::default()
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let reader = EvmReader::new(&Transport::new().unwrap(), config, clock).unwrap();
        Self { anvil, reader }
    }

    pub(crate) async fn send(
        &self,
        from: Account,
        to: Address,
        data: Vec<u8>,
    ) -> TransactionReceipt {
        self.anvil.transact(from, to, &data.into()).await.unwrap()
    }

    /// Reads a transaction with its receipt until the node also knows its block. For a moment the
    /// node shows the transaction as pending.
    pub(crate) async fn record(&self, hash: B256) -> Record {
        let included = async || {
            let anew = Some(Duration::ZERO);
            let found = self.reader.transaction(196, hash, anew).await.unwrap();
            let record = found.value.expect("a transaction of this chain");
            record.receipt.is_some().then_some(record)
        };
        eventually(&format!("the block of {hash}"), included).await
    }

    /// The explanation from the chain's data only.
    pub(crate) async fn explain(&self, hash: B256) -> Explanation {
        let record = self.record(hash).await;
        let mut known = Knowledge::default();
        let needs = Needs::of(&record, &known);
        let tokens: Vec<Address> = needs.tokens.into_iter().collect();
        if !tokens.is_empty() {
            known.tokens = self.reader.token_facts(196, &tokens).await.unwrap().value;
        }
        if needs.replay {
            known.replay = Some(self.reader.replay(&record).await);
        }
        explain(&record, &known)
    }

    pub(crate) async fn balance(&self, token: Address, account: Address) -> Option<U256> {
        let legs = [EvmReader::balance_leg(token, account)];
        let batch = self.reader.multicall(196, &legs).await.unwrap().value;
        batch.results[0].as_ref().and_then(EvmReader::amount)
    }

    /// The error with which the chain answers a call that reverts.
    pub(crate) async fn refusal(&self, to: Address, data: &[u8]) -> String {
        let call = json!([{"from": Account::BUYER.address, "to": to, "data": Bytes::copy_from_slice(data)}, "latest"]);
        match self.anvil.rpc().call::<Value>("eth_call", call).await {
            Err(JudgeError::Rpc { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    /// Calldata of `transferWithAuthorization` from the buyer to the payee. A foreign library makes
    /// the buyer's signature.
    pub(crate) async fn authorization(&self, token: Token, value: U256, nonce: B256) -> Vec<u8> {
        let domain = self
            .anvil
            .rpc()
            .view(token.address, &TestToken::DOMAIN_SEPARATORCall {})
            .await
            .unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let valid_before = U256::from(now + 3_600);
        let kind = keccak256(
            "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
        );
        let word = |number: U256| number.to_be_bytes::<32>();
        let message = [
            kind,
            Account::BUYER.address.into_word().0,
            PAYEE.into_word().0,
            word(value),
            word(U256::ZERO),
            word(valid_before),
            nonce.0,
        ]
        .concat();
        let digest = keccak256(
            [
                &[0x19, 0x01][..],
                domain.as_slice(),
                &keccak256(message)[..],
            ]
            .concat(),
        );
        let (v, r, s) = sign(Account::BUYER, digest);
        TestToken::transferWithAuthorization_0Call {
            from: Account::BUYER.address,
            to: PAYEE,
            value,
            validAfter: U256::ZERO,
            validBefore: valid_before,
            nonce,
            v,
            r,
            s,
        }
        .abi_encode()
    }
}

fn sign(account: Account, digest: [u8; 32]) -> (u8, B256, B256) {
    let key: B256 = account.private_key.parse().unwrap();
    let key = SigningKey::from_slice(key.as_slice()).unwrap();
    let (signature, recovery) = key.sign_prehash_recoverable(&digest).unwrap();
    let (r, s) = signature.split_bytes();
    (
        27 + recovery.to_byte(),
        B256::from_slice(&r),
        B256::from_slice(&s),
    )
}
