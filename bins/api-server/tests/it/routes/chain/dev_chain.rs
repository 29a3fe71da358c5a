//! Tests of the explanation of transactions. They run on the embedded chain, and the explanation
//! must equal the effects there.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, address};
use data_sources::evm::{CallOutcome, EvmReader, Leg};
use data_sources::rpc::RpcConfig;
use data_sources::transport::Transport;
use data_sources::{Clock, SystemClock};
use dev_chain::{BUYER, DevChain, GAS_PAYER, PAYEE, RpcServer, USDC, USDG, USDT0};
use readings::chain::{Explanation, Knowledge, Needs, Record, Status, explain};
use serde_json::{Value, json};

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const NOBODY: Address = address!("3333333333333333333333333333333333333333");

/// `transfer(address to, uint256 amount)`.
fn transfer(to: Address, amount: U256) -> Vec<u8> {
    encode("a9059cbb", &[to.into_word(), amount.into()])
}

/// `approve(address spender, uint256 amount)`.
fn approve(spender: Address, amount: U256) -> Vec<u8> {
    encode("095ea7b3", &[spender.into_word(), amount.into()])
}

/// `transferFrom(address from, address to, uint256 amount)`.
fn transfer_from(from: Address, to: Address, amount: U256) -> Vec<u8> {
    encode(
        "23b872dd",
        &[from.into_word(), to.into_word(), amount.into()],
    )
}

fn encode(selector: &str, words: &[B256]) -> Vec<u8> {
    let mut data = alloy_primitives::hex::decode(selector).unwrap();
    data.extend(words.iter().flat_map(|word| word.0));
    data
}

/// The embedded chain with the multicall contract at its place, and a reader of it.
struct Stage {
    chain: DevChain,
    reader: EvmReader,
    _rpc: RpcServer,
}

impl Stage {
    async fn open() -> Self {
        let artifact =
            include_str!("../../../../../../fixtures/contracts/artifacts/Multicall3.json");
        let artifact: Value = serde_json::from_str(artifact).unwrap();
        let code: Bytes = artifact["deployedBytecode"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let chain = DevChain::builder()
            .chain_196_assets()
            .code(MULTICALL3, code)
            .build()
            .unwrap();
        let rpc = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        let config = RpcConfig {
            chains: BTreeMap::from([(196, vec![rpc.url().into()])]),
            ..RpcConfig::default()
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let reader = EvmReader::new(&Transport::new().unwrap(), config, clock).unwrap();
        Self {
            chain,
            reader,
            _rpc: rpc,
        }
    }

    /// Sends calldata from an unlocked account, even if it reverts. Returns the hash.
    fn send(&self, from: Address, to: Address, data: Vec<u8>) -> B256 {
        let call = json!({"from": from, "to": to, "data": Bytes::from(data), "gas": "0x493e0"});
        let sent = self.chain.request("eth_sendTransaction", json!([call]));
        sent.unwrap().as_str().unwrap().parse().unwrap()
    }

    async fn record(&self, hash: B256) -> Record {
        let found = self.reader.transaction(196, hash, None).await.unwrap();
        found.value.expect("a transaction of this chain")
    }

    /// The explanation of a transaction from the chain's data only, without any other upstream.
    async fn explain(&self, hash: B256) -> Explanation {
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

    async fn balance(&self, token: Address, account: Address) -> U256 {
        let legs = [EvmReader::balance_leg(token, account)];
        let batch = self.reader.multicall(196, &legs).await.unwrap().value;
        EvmReader::amount(batch.results[0].as_ref().unwrap()).unwrap()
    }
}

/// The gain or loss of an account in a token, in atoms, as the explanation states it.
fn change(explained: &Explanation, account: Address, token: Option<Address>) -> Option<String> {
    let token = token.map(|token| token.to_checksum(None));
    let changes = explained.balance_changes.as_ref().unwrap();
    let found = changes.iter().find(|change| {
        change.account == account.to_checksum(None) && change.asset.token == token
    })?;
    Some(found.asset.raw.clone())
}

#[tokio::test]
async fn a_transfer_is_explained_as_the_balances_show_it() {
    let stage = Stage::open().await;
    let before = (
        stage.balance(USDT0, BUYER.address).await,
        stage.balance(USDT0, NOBODY).await,
    );
    let hash = stage.send(
        BUYER.address,
        USDT0,
        transfer(NOBODY, U256::from(12_345_678)),
    );
    let after = (
        stage.balance(USDT0, BUYER.address).await,
        stage.balance(USDT0, NOBODY).await,
    );
    let told = stage.explain(hash).await;
    assert_eq!(told.status, Status::Success);
    assert_eq!(
        told.action.summary,
        "Transferred 12.345678 USD₮0 to 0x3333333333333333333333333333333333333333."
    );
    assert_eq!(
        (before.0 - after.0, after.1 - before.1),
        (U256::from(12_345_678), U256::from(12_345_678))
    );
    assert_eq!(
        change(&told, BUYER.address, Some(USDT0)).as_deref(),
        Some("-12345678")
    );
    assert_eq!(
        change(&told, NOBODY, Some(USDT0)).as_deref(),
        Some("12345678")
    );
}

#[tokio::test]
async fn the_fee_is_what_the_sender_has_less() {
    let stage = Stage::open().await;
    let native = async || {
        let leg = stage.reader.native_balance_leg(196, BUYER.address).unwrap();
        let batch = stage.reader.multicall(196, &[leg]).await.unwrap().value;
        EvmReader::amount(batch.results[0].as_ref().unwrap()).unwrap()
    };
    let before = native().await;
    let hash = stage.send(BUYER.address, USDC, approve(PAYEE.address, U256::MAX));
    let paid = before - native().await;
    let told = stage.explain(hash).await;
    assert_eq!(told.fee.as_ref().unwrap().wei, paid.to_string());
    assert_eq!(change(&told, BUYER.address, None), Some(format!("-{paid}")));
}

#[tokio::test]
async fn an_unlimited_approval_and_its_end_are_explained() {
    let stage = Stage::open().await;
    let hash = stage.send(BUYER.address, USDC, approve(NOBODY, U256::MAX));
    let told = stage.explain(hash).await;
    assert_eq!(told.action.kind, "approve");
    assert!(
        told.action
            .summary
            .ends_with("to spend any amount of USDC."),
        "{}",
        told.action.summary
    );
    assert!(
        told.warnings
            .iter()
            .any(|warning| warning.code == "unlimited_approval")
    );
    assert!(told.approvals.as_ref().unwrap()[0].unlimited);
    let told = stage
        .explain(stage.send(BUYER.address, USDC, approve(NOBODY, U256::ZERO)))
        .await;
    assert_eq!(told.action.kind, "revoke");
    assert!(told.approvals.as_ref().unwrap()[0].revoked);
    assert!(
        !told
            .warnings
            .iter()
            .any(|warning| warning.code == "unlimited_approval")
    );
}

#[tokio::test]
async fn a_revert_is_explained_with_the_contracts_reason() {
    let stage = Stage::open().await;
    let too_much = transfer(NOBODY, U256::from(u128::MAX));
    let hash = stage.send(BUYER.address, USDC, too_much.clone());
    let told = stage.explain(hash).await;
    assert_eq!(told.status, Status::Reverted);
    // The chain itself gives the reason in the error of the same call.
    let asked = json!([{"from": BUYER.address, "to": USDC, "data": Bytes::from(too_much.clone())}, "latest"]);
    let refused = stage.chain.request("eth_call", asked).unwrap_err();
    let message = refused["message"].as_str().unwrap();
    let reason = told.revert_reason.as_deref().unwrap();
    assert!(
        !reason.is_empty() && message.ends_with(reason),
        "{message} / {reason}"
    );
    assert_eq!(stage.balance(USDC, NOBODY).await, U256::ZERO);
    assert_eq!(told.transfers.as_deref(), Some(&[][..]));
    assert_eq!(change(&told, BUYER.address, Some(USDC)), None);
    let direct = stage
        .reader
        .call(196, USDC, too_much.into())
        .await
        .unwrap()
        .value;
    assert!(
        matches!(direct, CallOutcome::Reverted { data: Some(_), .. }),
        "{direct:?}"
    );
}

#[tokio::test]
async fn tokens_that_a_spender_moves_leave_their_owner() {
    let stage = Stage::open().await;
    stage.send(
        BUYER.address,
        USDG,
        approve(GAS_PAYER.address, U256::from(5_000_000)),
    );
    let take = transfer_from(BUYER.address, NOBODY, U256::from(2_000_000));
    let told = stage
        .explain(stage.send(GAS_PAYER.address, USDG, take))
        .await;
    let expected = format!(
        "Transferred 2 USDG from {} to {}.",
        BUYER.address.to_checksum(None),
        NOBODY.to_checksum(None)
    );
    assert_eq!(told.action.summary, expected);
}

#[tokio::test]
async fn a_failed_call_in_a_batch_is_not_zero() {
    let stage = Stage::open().await;
    let legs = [
        EvmReader::balance_leg(USDT0, BUYER.address),
        // The next address has no contract, and the contract after it has no such function.
        EvmReader::balance_leg(NOBODY, BUYER.address),
        EvmReader::balance_leg(MULTICALL3, BUYER.address),
        EvmReader::balance_leg(USDT0, NOBODY),
        Leg {
            to: USDC,
            data: transfer(NOBODY, U256::MAX).into(),
        },
    ];
    let found = stage.reader.multicall(196, &legs).await.unwrap();
    let amounts: Vec<Option<U256>> = found
        .value
        .results
        .iter()
        .map(|result| result.as_ref().and_then(EvmReader::amount))
        .collect();
    assert_eq!(
        amounts,
        [
            Some(U256::from(1_000_000_000)),
            None,
            None,
            Some(U256::ZERO),
            None
        ]
    );
    assert_eq!(found.sources[0].as_of, Some(found.value.time));
    // These are more calls than one batch takes.
    let many: Vec<Leg> = (0..450)
        .map(|_| EvmReader::balance_leg(USDT0, BUYER.address))
        .collect();
    assert_eq!(
        stage
            .reader
            .multicall(196, &many)
            .await
            .unwrap()
            .value
            .results
            .len(),
        450
    );
}

#[tokio::test]
async fn the_names_and_units_of_tokens_are_read() {
    let stage = Stage::open().await;
    let facts = stage
        .reader
        .token_facts(196, &[USDT0, USDC, MULTICALL3])
        .await
        .unwrap()
        .value;
    let of = |token| {
        facts
            .get(&token)
            .map(|facts| (facts.symbol.as_deref(), facts.decimals))
    };
    assert_eq!(of(USDT0), Some((Some("USD₮0"), Some(6))));
    assert_eq!(of(USDC), Some((Some("USDC"), Some(6))));
    assert_eq!(of(MULTICALL3), Some((None, None)));
}

#[tokio::test]
async fn a_hash_that_no_block_and_no_pool_holds_is_unknown() {
    let stage = Stage::open().await;
    let found = stage
        .reader
        .transaction(196, B256::repeat_byte(0xab), None)
        .await
        .unwrap();
    assert_eq!(found.value, None);
    assert!(
        stage
            .reader
            .transaction(1, B256::repeat_byte(0xab), None)
            .await
            .is_err()
    );
}
