//! The handle on a running chain, for tests and demos in the same process.
//!
//! It mines, moves the clock, reorganises, injects faults, and reads the state without JSON-RPC.
//! [`DevChain::answer`] is the chain as a client sees it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolEvent};
use serde_json::{Value, json};

use crate::{
    abi::MessageTransmitter,
    block::Block,
    builder::DevChainBuilder,
    contract::{GasPriceOracle, Token},
    error::DevChainError,
    export::ExportedAccount,
    fault::InjectedFault,
    node::{Fate, Node},
    rollup::GAS_PRICE_ORACLE,
    rpc::{self, Reply},
};

/// An in-process chain. Clones share one chain, which lives as long as any of them and may be used
/// from several threads.
#[derive(Clone, Debug)]
pub struct DevChain {
    node: Arc<Mutex<Node>>,
}

/// A transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinedSummary {
    /// Its hash.
    pub hash: B256,
    /// The number of its block.
    pub block_number: u64,
    /// The account that signed it.
    pub from: Address,
    /// The called account; `None` when it created a contract.
    pub to: Option<Address>,
    /// Its calldata.
    pub input: Bytes,
    /// Whether it took effect; otherwise it reverted.
    pub success: bool,
    /// The gas it used.
    pub gas_used: u64,
}

impl DevChain {
    /// The builder of a chain with id 196, the system's clock and no contracts.
    #[must_use]
    pub fn builder() -> DevChainBuilder {
        DevChainBuilder::default()
    }

    /// A chain with the content of [`DevChainBuilder::chain_196_assets`].
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn with_chain_196_assets() -> Result<Self, DevChainError> {
        Self::builder().chain_196_assets().build()
    }

    /// A chain with the content of [`DevChainBuilder::base_stage`].
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn with_base_stage() -> Result<Self, DevChainError> {
        Self::builder().base_stage().build()
    }

    /// A chain with the content of [`DevChainBuilder::xlayer_stage`].
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn with_xlayer_stage() -> Result<Self, DevChainError> {
        Self::builder().xlayer_stage().build()
    }

    /// A chain with the content of [`DevChainBuilder::arbitrum_stage`].
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn with_arbitrum_stage() -> Result<Self, DevChainError> {
        Self::builder().arbitrum_stage().build()
    }

    pub(crate) fn new(node: Node) -> Self {
        Self {
            node: Arc::new(Mutex::new(node)),
        }
    }

    /// Answers one JSON-RPC request or batch, as over HTTP. Injected faults apply here too.
    #[must_use]
    pub fn answer(&self, body: &[u8]) -> Reply {
        rpc::answer(&mut self.lock(), body)
    }

    /// Asks for one method, as over HTTP, and returns the result. Injected faults apply here too.
    ///
    /// # Errors
    ///
    /// The error object; `null` when an injected fault leaves neither a result nor an error.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let Reply::Http { body, .. } = self.answer(request.to_string().as_bytes()) else {
            return Err(Value::Null);
        };
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut take = |member| answer.get_mut(member).map(Value::take);
        match take("result") {
            Some(result) => Ok(result),
            None => Err(take("error").unwrap_or_default()),
        }
    }

    /// The chain's time, in Unix seconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.lock().now()
    }

    /// Moves the chain's clock forward permanently.
    pub fn advance_time(&self, seconds: u64) {
        self.lock().advance_time(seconds);
    }

    /// Makes a block of all ready transactions, possibly none, and returns its number.
    pub fn mine(&self) -> u64 {
        let mut node = self.lock();
        node.mine(usize::MAX);
        node.head().number
    }

    /// A second node with the present state of this one. It sees nothing of this one from now on:
    /// it is behind, or, when it makes its own blocks, on another fork.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut node = self.lock().clone();
        node.leave_branch();
        Self::new(node)
    }

    /// Sets the base fee from the next block on, in wei per gas. Waiting transactions that offer
    /// less keep waiting.
    pub fn set_base_fee(&self, wei: u64) {
        self.lock().settings.base_fee = wei;
    }

    /// Sets the least tip of raw transactions, in wei per gas. A lower one is refused from now on,
    /// whatever the node suggests.
    pub fn set_least_tip(&self, wei: u128) {
        self.lock().settings.least_tip = wei;
    }

    /// Sets the fees that each transaction costs besides its gas, in wei: for its data on Ethereum,
    /// and for the operator. Makes a block. Changes nothing else on a chain without
    /// [`GAS_PRICE_ORACLE`].
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn set_rollup_fees(&self, data: U256, operator: U256) -> Result<(), DevChainError> {
        let fees = GasPriceOracle::setFeesCall {
            feeForData: data,
            feeOfOperator: operator,
        };
        self.call_as(Address::ZERO, GAS_PRICE_ORACLE, &fees)?;
        Ok(())
    }

    /// Removes the newest `depth` blocks and makes as many others and one more, all empty, in their
    /// place. Their transactions get this fate; with [`Fate::Waiting`] the next block includes
    /// them.
    pub fn reorganise(&self, depth: u64, fate: Fate) {
        self.lock().reorganise(depth, fate);
    }

    /// Shows the receipts of a block with all ready transactions, without making that block: it has
    /// the next number and a hash that no block will have. The receipts show until the next block
    /// is made or [`drop_preconfirmed`](Self::drop_preconfirmed).
    pub fn preconfirm(&self) {
        self.lock().preconfirm();
    }

    /// Removes the block that [`preconfirm`](Self::preconfirm) shows; its transactions get this
    /// fate.
    pub fn drop_preconfirmed(&self, fate: Fate) {
        self.lock().drop_preconfirmed(fate);
    }

    /// Accepts the next `times` raw transactions and drops them.
    pub fn forget_sends(&self, times: u32) {
        self.lock().faults.forget_sends(times);
    }

    /// Injects a fault from the next request on.
    pub fn inject(&self, fault: InjectedFault) {
        self.lock().faults.inject(fault);
    }

    /// Removes every fault that has not occurred yet.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// Withholds the receipt of each transaction for this many requests.
    pub fn delay_receipts(&self, polls: u32) {
        self.lock().faults.delay_receipts(polls);
    }

    /// Drops a waiting transaction, as a node under load does. Returns whether it was waiting.
    #[must_use]
    pub fn evict(&self, transaction: B256) -> bool {
        self.lock().pool.evict(transaction)
    }

    /// The hashes of the transactions that wait for a block.
    #[must_use]
    pub fn waiting(&self) -> Vec<B256> {
        self.lock().pool.hashes()
    }

    /// The number of the newest block.
    #[must_use]
    pub fn block_number(&self) -> u64 {
        self.lock().head().number
    }

    /// Every transaction of every block, oldest first.
    #[must_use]
    pub fn transactions(&self) -> Vec<MinedSummary> {
        let node = self.lock();
        let blocks = node.blocks().iter();
        let all = blocks.flat_map(|block| {
            block.transactions.iter().map(|mined| MinedSummary {
                hash: *mined.transaction.tx_hash(),
                block_number: block.number(),
                from: mined.transaction.signer(),
                to: mined.transaction.to(),
                input: mined.transaction.input().clone(),
                success: mined.receipt.status(),
                gas_used: mined.gas_used,
            })
        });
        all.collect()
    }

    /// The messages that a transaction sent over the bridge: the position of each log in its block,
    /// and the bytes.
    pub(crate) fn sent_messages(&self, transaction: B256) -> Vec<(u64, Bytes)> {
        let node = self.lock();
        let logs = node.blocks().iter().flat_map(Block::logs);
        let sent = logs.filter_map(|log| {
            let decoded = MessageTransmitter::MessageSent::decode_log(&log.inner).ok()?;
            (log.transaction_hash? == transaction)
                .then_some((log.log_index.unwrap_or_default(), decoded.data.message))
        });
        sent.collect()
    }

    /// An account's balance of a token, in atomic units.
    ///
    /// # Errors
    ///
    /// When there is no such token.
    pub fn balance_of(&self, token: Address, account: Address) -> Result<U256, DevChainError> {
        self.read(token, &Token::balanceOfCall { account })
    }

    /// The allowance of `spender` for `owner`'s tokens, in atomic units.
    ///
    /// # Errors
    ///
    /// When there is no such token.
    pub fn allowance(
        &self,
        token: Address,
        owner: Address,
        spender: Address,
    ) -> Result<U256, DevChainError> {
        self.read(token, &Token::allowanceCall { owner, spender })
    }

    /// Calls a contract from any account, without signature, fee or transaction count, and returns
    /// its output. A test can change a stand-in with it, or act as a stranger. The call belongs to
    /// a block that shows no transaction and no logs.
    ///
    /// # Errors
    ///
    /// When the contract refuses; the state is then unchanged.
    pub fn call_as(
        &self,
        from: Address,
        to: Address,
        call: &impl SolCall,
    ) -> Result<Bytes, DevChainError> {
        self.lock().act(from, to, call.abi_encode().into())
    }

    /// The output of a contract on the newest state.
    ///
    /// # Errors
    ///
    /// When it refuses, or its answer does not match the interface.
    pub fn view<C: SolCall>(&self, to: Address, call: &C) -> Result<C::Return, DevChainError> {
        self.read(to, call)
    }

    /// Whether an authorization was used or cancelled.
    ///
    /// # Errors
    ///
    /// When there is no such token.
    pub fn authorization_used(
        &self,
        token: Address,
        authorizer: Address,
        nonce: B256,
    ) -> Result<bool, DevChainError> {
        self.read(token, &Token::authorizationStateCall { authorizer, nonce })
    }

    /// An account's native coins, in wei.
    #[must_use]
    pub fn native_balance(&self, account: Address) -> U256 {
        self.lock().state.latest().balance(account)
    }

    fn read<C: SolCall>(&self, contract: Address, call: &C) -> Result<C::Return, DevChainError> {
        let output = self.lock().call(contract, call.abi_encode().into())?;
        C::abi_decode_returns(&output).map_err(|_| DevChainError::Answer { contract, output })
    }

    /// Every account after the newest block, by address. The hashes of earlier blocks and the
    /// waiting transactions are not part of it.
    #[must_use]
    pub fn accounts(&self) -> Vec<ExportedAccount> {
        self.lock().state.export()
    }

    /// Ignores poison: after a panic in one test thread, the others may still read the chain.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Node> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
