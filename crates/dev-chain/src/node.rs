//! The chain itself: clock, pool, blocks and state behind one lock.
//!
//! Nothing here is asynchronous, and no block is made in the background: every change follows from
//! a call. JSON-RPC, faults and sockets are in other modules.

mod branches;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use alloy_consensus::{
    Eip658Value, Receipt, ReceiptEnvelope, Transaction as _, TxEnvelope, transaction::Recovered,
};
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, U256};
use revm::context::{TxEnv, result::ExecutionResult};

use crate::{
    admission::{Refusal, admit, admit_unlocked, check_tip, to_env},
    block::{Block, MinedTransaction},
    error::{DevChainError, ExecutionError},
    evm::{BlockContext, Checks, execute, free_call},
    fault::Faults,
    pool::Pool,
    rollup::RollupFees,
    state::{State, StateAt},
};

pub use self::branches::Fate;

/// Gas that one block can hold.
const BLOCK_GAS_LIMIT: u64 = 30_000_000;

/// The source of the time, in Unix seconds.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// When accepted transactions become part of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mining {
    /// At once, each in its own block. When a request finds the newest block older than the clock,
    /// an empty block updates the chain first: readers see a chain with a block each second.
    #[default]
    Auto,
    /// When [`DevChain::mine`](crate::DevChain::mine) is called.
    Manual,
}

/// The settings that are fixed when the chain is built.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) chain_id: u64,
    pub(crate) base_fee: u64,
    pub(crate) mining: Mining,
    pub(crate) clock: Clock,
    /// Whether blocks show no base fee, as those of chains without EIP-1559.
    pub(crate) legacy: bool,
    /// The least tip of raw transactions, in wei per gas.
    pub(crate) least_tip: u128,
}

/// A chain with its whole history.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) settings: Settings,
    pub(crate) state: State,
    pub(crate) pool: Pool,
    pub(crate) faults: Faults,
    clock_offset: u64,
    blocks: Vec<Block>,
    head: Head,
    numbers: HashMap<B256, u64>,
    places: HashMap<B256, (u64, usize)>,
    /// A block that shows receipts before it is made, and that may never be made.
    preconfirmed: Option<Block>,
    /// Increases with every reorganisation and every preconfirmation.
    branch: u64,
}

/// The main members of the newest block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) timestamp: u64,
    pub(crate) hash: B256,
}

/// A state together with the block in which its calls run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) state: StateAt<'a>,
    pub(crate) context: BlockContext,
}

impl Node {
    /// A chain whose only block holds the given state. `genesis` must have been begun.
    pub(crate) fn new(settings: Settings, genesis: State) -> Self {
        let mut node = Self {
            clock_offset: 0,
            state: genesis,
            pool: Pool::default(),
            faults: Faults::default(),
            blocks: Vec::new(),
            head: Head::default(),
            numbers: HashMap::new(),
            places: HashMap::new(),
            preconfirmed: None,
            branch: 0,
            settings,
        };
        let context = node.context(0, node.now());
        node.append(Block::seal(context, B256::ZERO, Vec::new(), 0));
        node
    }

    /// The clock, plus the time that [`Node::advance_time`] added.
    pub(crate) fn now(&self) -> u64 {
        (self.settings.clock)().saturating_add(self.clock_offset)
    }

    pub(crate) fn advance_time(&mut self, seconds: u64) {
        self.clock_offset = self.clock_offset.saturating_add(seconds);
    }

    pub(crate) fn head(&self) -> Head {
        self.head
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block with this number, if there is one.
    pub(crate) fn block(&self, number: u64) -> Option<&Block> {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.blocks.get(number))
    }

    /// The number of the named block; `None` when there is no such block. `pending` means the
    /// newest one.
    pub(crate) fn resolve(&self, id: BlockId) -> Option<u64> {
        match id {
            BlockId::Hash(hash) => self.numbers.get(&hash.block_hash).copied(),
            BlockId::Number(BlockNumberOrTag::Number(number)) => {
                (number <= self.head.number).then_some(number)
            }
            BlockId::Number(BlockNumberOrTag::Earliest) => Some(0),
            BlockId::Number(_) => Some(self.head.number),
        }
    }

    /// The state after the named block, if there is such a block.
    pub(crate) fn view(&self, id: BlockId) -> Option<View<'_>> {
        if id.is_pending() {
            return Some(View {
                state: self.state.latest(),
                context: self.next_context(),
            });
        }
        let block = self.block(self.resolve(id)?)?;
        let context = self.context(block.number(), block.timestamp());
        Some(View {
            state: self.state.at(block.number()),
            context,
        })
    }

    /// A block as it would be mined now without a transaction.
    pub(crate) fn pending_block(&self) -> Block {
        Block::seal(self.next_context(), self.head.hash, Vec::new(), self.branch)
    }

    /// The preconfirmed block and the index of a transaction in it.
    pub(crate) fn locate_preconfirmed(&self, transaction: B256) -> Option<(&Block, usize)> {
        let block = self.preconfirmed.as_ref()?;
        let mut mined = block.transactions.iter();
        let index = mined.position(|mined| *mined.transaction.tx_hash() == transaction)?;
        Some((block, index))
    }

    /// The block of a transaction and the index in it.
    pub(crate) fn locate(&self, transaction: B256) -> Option<(&Block, usize)> {
        let &(number, index) = self.places.get(&transaction)?;
        Some((self.block(number)?, index))
    }

    /// Accepts a raw transaction and, with [`Mining::Auto`], runs all transactions that have become
    /// ready.
    pub(crate) fn send(&mut self, raw: &[u8]) -> Result<B256, Refusal> {
        let transaction = admit(raw, self.state.latest(), self.next_context())?;
        check_tip(&transaction, self.settings.least_tip)?;
        self.take(transaction)
    }

    /// [`Node::send`] for a sender that needs no signature.
    pub(crate) fn send_unlocked(
        &mut self,
        sender: Address,
        transaction: TxEnvelope,
    ) -> Result<B256, Refusal> {
        let (state, context) = (self.state.latest(), self.next_context());
        self.take(admit_unlocked(sender, transaction, state, context)?)
    }

    fn take(&mut self, transaction: Recovered<TxEnvelope>) -> Result<B256, Refusal> {
        let hash = *transaction.tx_hash();
        if self.faults.forgets() {
            return Ok(hash);
        }
        self.pool.insert(transaction)?;
        if self.settings.mining == Mining::Auto {
            while self
                .pool
                .next_ready(self.state.latest(), self.settings.base_fee, &HashSet::new())
                .is_some()
            {
                self.mine(1);
            }
        }
        Ok(hash)
    }

    /// Appends an empty block if the clock is past the newest one.
    pub(crate) fn catch_up(&mut self) {
        if self.settings.mining == Mining::Auto && self.now() > self.head.timestamp {
            self.mine(0);
        }
    }

    /// Appends a block with at most this many of the ready transactions.
    pub(crate) fn mine(&mut self, most: usize) {
        let context = self.next_context();
        let mut mined: Vec<MinedTransaction> = Vec::new();
        let mut gas_used: u64 = 0;
        let mut too_large = HashSet::new();
        self.preconfirmed = None;
        self.state.begin_block();
        while mined.len() < most {
            let ready = self
                .pool
                .next_ready(self.state.latest(), context.base_fee, &too_large);
            let Some(transaction) = ready else {
                break;
            };
            if gas_used.saturating_add(transaction.gas_limit()) > context.gas_limit {
                too_large.insert(*transaction.tx_hash());
                continue;
            }
            self.pool.remove(&transaction);
            let (env, fees) = (to_env(&transaction), RollupFees::of(self.state.latest()));
            // A transaction that became invalid while it waited is dropped, as a miner does.
            let Ok(mut done) = execute(self.state.latest(), context, env, Checks::Consensus) else {
                continue;
            };
            if let Some(sender) = done.state.get_mut(&transaction.signer()) {
                let Some(left) = sender.info.balance.checked_sub(fees.total()) else {
                    continue;
                };
                sender.info.balance = left;
            }
            self.state.commit(done.state);
            gas_used = gas_used.saturating_add(done.result.tx_gas_used());
            mined.push(MinedTransaction {
                data_fee: fees.data,
                ..mined_transaction(transaction, done.result, gas_used)
            });
        }
        self.append(Block::seal(context, self.head.hash, mined, self.branch));
    }

    /// Calls a contract on the newest state, without fee.
    pub(crate) fn call(&self, to: Address, data: Bytes) -> Result<Bytes, DevChainError> {
        let tx = free_call(self.settings.chain_id, Address::ZERO, to, data);
        let context = BlockContext {
            base_fee: 0,
            ..self.next_context()
        };
        let done = execute(self.state.latest(), context, tx, Checks::Call)?;
        expect_success(to, done.result)
    }

    /// Makes a call from any account, in a block that does not show it.
    pub(crate) fn act(
        &mut self,
        from: Address,
        to: Address,
        data: Bytes,
    ) -> Result<Bytes, DevChainError> {
        let block = self.next_context();
        let tx = free_call(self.settings.chain_id, from, to, data);
        let context = BlockContext {
            base_fee: 0,
            ..block
        };
        let nonce = self.state.latest().nonce(from);
        let done = execute(self.state.latest(), context, tx, Checks::Call)?;
        let output = expect_success(to, done.result)?;
        self.preconfirmed = None;
        self.state.begin_block();
        self.state.commit(done.state);
        let caller = self.state.latest().account(from).with_nonce(nonce);
        self.state.insert_account(from, caller);
        let sealed = Block::seal(block, self.head.hash, Vec::new(), self.branch);
        self.append(sealed);
        Ok(output)
    }

    /// Runs a call on a view, with the checks of `eth_call`.
    pub(crate) fn simulate(view: View<'_>, tx: TxEnv) -> Result<ExecutionResult, ExecutionError> {
        // Like go-ethereum, a call that offers no fee sees a base fee of zero.
        let base_fee = if tx.gas_price == 0 {
            0
        } else {
            view.context.base_fee
        };
        let context = BlockContext {
            base_fee,
            ..view.context
        };
        Ok(execute(view.state, context, tx, Checks::Call)?.result)
    }

    /// The block, as the next block's transactions will see it.
    fn next_context(&self) -> BlockContext {
        self.context(
            self.head.number.saturating_add(1),
            self.now().max(self.head.timestamp),
        )
    }

    fn context(&self, number: u64, timestamp: u64) -> BlockContext {
        BlockContext {
            chain_id: self.settings.chain_id,
            number,
            timestamp,
            base_fee: self.settings.base_fee,
            gas_limit: BLOCK_GAS_LIMIT,
        }
    }

    fn append(&mut self, block: Block) {
        let head = Head {
            number: block.number(),
            timestamp: block.timestamp(),
            hash: block.hash(),
        };
        for (index, mined) in block.transactions.iter().enumerate() {
            self.places
                .insert(*mined.transaction.tx_hash(), (head.number, index));
        }
        self.numbers.insert(head.hash, head.number);
        self.state.seal_block(head.hash);
        self.blocks.push(block);
        self.head = head;
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("chain_id", &self.settings.chain_id)
            .field("mining", &self.settings.mining)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// The output of a call that has to succeed.
pub(crate) fn expect_success(
    contract: Address,
    result: ExecutionResult,
) -> Result<Bytes, DevChainError> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(DevChainError::Call { contract, output }),
        ExecutionResult::Halt { .. } => Err(DevChainError::Call {
            contract,
            output: Bytes::new(),
        }),
    }
}

fn mined_transaction(
    transaction: Recovered<TxEnvelope>,
    result: ExecutionResult,
    cumulative_gas_used: u64,
) -> MinedTransaction {
    let receipt = Receipt {
        status: Eip658Value::Eip658(result.is_success()),
        cumulative_gas_used,
        logs: if result.is_success() {
            result.logs().to_vec()
        } else {
            Vec::new()
        },
    };
    MinedTransaction {
        receipt: ReceiptEnvelope::from_typed(transaction.tx_type(), receipt.with_bloom()),
        gas_used: result.tx_gas_used(),
        data_fee: U256::ZERO,
        contract_address: result.created_address(),
        transaction,
    }
}
