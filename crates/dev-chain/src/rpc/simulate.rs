//! `eth_simulateV1`: calls in sequence, each on the state after the ones before it. No change
//! persists.

use alloy_consensus::Sealable;
use alloy_eips::BlockId;
use alloy_primitives::{B256, Bloom};
use alloy_rpc_types_eth::{
    Block as RpcBlock, Log, TransactionRequest,
    simulate::SimulatedBlock,
    simulate::{MAX_SIMULATE_BLOCKS, SimBlock, SimCallResult, SimulateError, SimulatePayload},
};
use revm::{
    DatabaseCommit,
    context::result::{ExecutionResult, InvalidTransaction},
    database::CacheDB,
};
use serde_json::Value;

use super::{
    answers::answer,
    calls::{CALL_GAS_CAP, halted, to_env},
    error::RpcError,
    params::Params,
};
use crate::{
    block::Block,
    error::ExecutionError,
    evm::{BlockContext, Checks, execute},
    node::Node,
    state::StateAt,
};

/// Answers the simulated blocks with the outcome of each of their calls.
pub(super) fn simulate(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let payload: SimulatePayload = params.required()?;
    let parent = params.block()?;
    params.end()?;
    check(&payload)?;
    let mut simulation = Simulation::new(node, parent)?;
    let blocks: Result<Vec<_>, _> = payload
        .block_state_calls
        .into_iter()
        .map(|block| simulation.block(block.calls))
        .collect();
    answer(&blocks?)
}

/// Refuses requests that this chain does not simulate, instead of answering something else.
fn check(payload: &SimulatePayload) -> Result<(), RpcError> {
    let unsupported = |what| RpcError::invalid_params(format!("{what} is not supported"));
    let blocks = &payload.block_state_calls;
    if blocks.is_empty() {
        return Err(RpcError::invalid_params("empty input"));
    }
    if u64::try_from(blocks.len()).map_or(true, |count| count > MAX_SIMULATE_BLOCKS) {
        return Err(RpcError::new(-38026, "too many blocks"));
    }
    if payload.validation {
        return Err(unsupported("validation"));
    }
    if payload.trace_transfers {
        return Err(unsupported("traceTransfers"));
    }
    if payload.return_full_transactions {
        return Err(unsupported("returnFullTransactions"));
    }
    let overrides_nothing = |block: &SimBlock| {
        let (blocks, states) = (&block.block_overrides, &block.state_overrides);
        blocks.as_ref().is_none_or(|o| o.is_empty()) && states.as_ref().is_none_or(|o| o.is_empty())
    };
    if !blocks.iter().all(overrides_nothing) {
        return Err(RpcError::invalid_params("overrides are not supported"));
    }
    Ok(())
}

/// A chain that continues from a block of the real one.
struct Simulation<'a> {
    state: CacheDB<StateAt<'a>>,
    /// The newest block.
    context: BlockContext,
    hash: B256,
    /// Gas for all remaining calls.
    budget: u64,
}

impl<'a> Simulation<'a> {
    fn new(node: &'a Node, parent: BlockId) -> Result<Self, RpcError> {
        let not_found = RpcError::header_not_found;
        let parent = node
            .resolve(parent)
            .and_then(|number| node.block(number))
            .ok_or_else(not_found)?;
        let view = node.view(parent.number().into()).ok_or_else(not_found)?;
        Ok(Self {
            state: CacheDB::new(view.state),
            // Gas is free, as on go-ethereum without validation.
            context: BlockContext {
                base_fee: 0,
                ..view.context
            },
            hash: parent.hash(),
            budget: CALL_GAS_CAP,
        })
    }

    /// Runs the calls in their own block, one second after the one before it.
    fn block(&mut self, calls: Vec<TransactionRequest>) -> Result<SimulatedBlock, RpcError> {
        self.context.number = self.context.number.saturating_add(1);
        self.context.timestamp = self.context.timestamp.saturating_add(1);
        let mut gas_used: u64 = 0;
        let mut results = Vec::with_capacity(calls.len());
        for request in calls {
            let result = self.call(request, self.context.gas_limit.saturating_sub(gas_used))?;
            gas_used = gas_used.saturating_add(result.gas_used);
            self.budget = self.budget.saturating_sub(result.gas_used);
            results.push(result);
        }
        let block = self.seal(gas_used, &results);
        self.hash = block.header.hash;
        place_logs(&mut results, &block);
        Ok(SimulatedBlock {
            inner: block,
            calls: results,
        })
    }

    /// Runs one call and keeps its changes. `left` is the gas that the block has left.
    fn call(&mut self, request: TransactionRequest, left: u64) -> Result<SimCallResult, RpcError> {
        if let Some(asked) = request.gas.filter(|&asked| asked > left) {
            let text = format!("block gas limit reached: {asked} > {left}");
            return Err(RpcError::new(-38015, text));
        }
        let tx = to_env(request, self.context.chain_id, left.min(self.budget))?;
        let done = execute(&self.state, self.context, tx, Checks::Call).map_err(refusal)?;
        self.state.commit(done.state);
        Ok(outcome(done.result))
    }

    /// The block around the calls. They are no transactions, so it has none.
    fn seal(&self, gas_used: u64, results: &[SimCallResult]) -> RpcBlock {
        let mut block = Block::seal(self.context, self.hash, Vec::new(), 0);
        let mut header = block.header.into_inner();
        header.gas_used = gas_used;
        header.logs_bloom = results
            .iter()
            .flat_map(|result| &result.logs)
            .map(|log| &log.inner)
            .collect::<Bloom>();
        block.header = header.seal_slow();
        block.to_rpc(false)
    }
}

fn outcome(result: ExecutionResult) -> SimCallResult {
    let gas_used = result.tx_gas_used();
    match result {
        ExecutionResult::Success { output, logs, .. } => SimCallResult {
            return_data: output.into_data(),
            logs: logs.into_iter().map(unplaced).collect(),
            gas_used,
            status: true,
            ..SimCallResult::default()
        },
        ExecutionResult::Revert { output, .. } => SimCallResult {
            error: Some(SimulateError {
                code: SimulateError::EXECUTION_REVERTED_CODE,
                message: RpcError::reverted(&output).message,
                data: Some(output.clone()),
            }),
            return_data: output,
            gas_used,
            ..SimCallResult::default()
        },
        ExecutionResult::Halt { reason, .. } => SimCallResult {
            error: Some(SimulateError {
                code: SimulateError::VM_EXECUTION_ERROR_CODE,
                message: halted(&reason),
                data: None,
            }),
            gas_used,
            ..SimCallResult::default()
        },
    }
}

fn unplaced(log: alloy_primitives::Log) -> Log {
    Log {
        inner: log,
        ..Log::default()
    }
}

/// Sets the position of each log in the block.
fn place_logs(results: &mut [SimCallResult], block: &RpcBlock) {
    let mut log_index = 0..;
    for (transaction_index, result) in (0..).zip(results) {
        for log in &mut result.logs {
            log.block_hash = Some(block.header.hash);
            log.block_number = Some(block.header.number);
            log.block_timestamp = Some(block.header.timestamp);
            log.transaction_index = Some(transaction_index);
            log.log_index = log_index.next();
        }
    }
}

/// A call that cannot be part of a block ends the whole simulation.
fn refusal(error: ExecutionError) -> RpcError {
    let code = match &error {
        ExecutionError::Invalid(InvalidTransaction::LackOfFundForMaxFee { .. }) => -38014,
        ExecutionError::Invalid(
            InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
            | InvalidTransaction::GasFloorMoreThanGasLimit { .. },
        ) => -38013,
        _ => -32000,
    };
    RpcError {
        code,
        ..error.into()
    }
}
