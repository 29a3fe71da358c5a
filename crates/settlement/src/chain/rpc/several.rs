//! Questions whose answers decide about money. Each goes to every endpoint, and contradicting
//! answers are refused.

use std::sync::Arc;

use alloy_eips::BlockId;
use alloy_primitives::{Address, B256, Bytes, U64};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_sol_types::SolCall;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tx_sender::Hold;

use super::endpoints::Endpoint;
use super::{BLOCK, Head, Rpc, RpcFault, TransactionOutcome, decoded};
use crate::{Cause, RemoteCall};

/// How many blocks an endpoint may be behind the newest known block without coming last.
const MAX_LAG: u64 = 8;

impl Rpc {
    /// Returns the endpoints that serve the chain and do not rest. When all rest, returns all that
    /// serve the chain.
    fn awake(&self) -> Vec<&Arc<Endpoint>> {
        let confirmed = self.nodes.0.iter();
        let confirmed = confirmed.filter(|endpoint| endpoint.is_confirmed());
        let (resting, awake): (Vec<_>, Vec<_>) = confirmed.partition(|endpoint| endpoint.rests());
        if awake.is_empty() { resting } else { awake }
    }

    /// Asks the endpoints the same question at the same time. Returns their answers in the order of
    /// the endpoints.
    async fn ask_all<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Vec<(Arc<Endpoint>, Result<T, RpcFault>)> {
        Self::ask_each(self.awake(), method, params).await
    }

    async fn ask_each<T: DeserializeOwned + Send + 'static>(
        endpoints: Vec<&Arc<Endpoint>>,
        method: &'static str,
        params: Value,
    ) -> Vec<(Arc<Endpoint>, Result<T, RpcFault>)> {
        let mut asked = JoinSet::new();
        for (at, endpoint) in endpoints.into_iter().enumerate() {
            let (endpoint, params) = (Arc::clone(endpoint), params.clone());
            asked.spawn(async move {
                let answer = endpoint.alone().ask::<T>(method, params).await;
                (at, endpoint, answer)
            });
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(at, ..)| *at);
        let answers = answers.into_iter();
        answers
            .map(|(_, endpoint, answer)| (endpoint, answer))
            .collect()
    }

    /// Returns the newest block. From now on, an endpoint that is far behind the others comes last
    /// for a while.
    ///
    /// Fails when two endpoints have different chains, even if one of them is far ahead.
    pub(crate) async fn head(&self) -> Result<Head, RpcFault> {
        let latest = json!(["latest", false]);
        if self.awake().len() < 2 {
            return self.nodes.ask(BLOCK, latest).await;
        }
        let heads = self.ask_all::<Head>(BLOCK, latest).await;
        let known = heads.iter().filter_map(|(endpoint, head)| {
            let head = *head.as_ref().ok()?;
            Some((Arc::clone(endpoint), head))
        });
        let known: Vec<_> = known.collect();
        self.linked(&known).await?;
        let numbers = heads.iter().filter_map(|(_, head)| head.as_ref().ok());
        let best = numbers.map(Head::number).max().unwrap_or_default();
        let (mut first, mut failure) = (None, None);
        for (endpoint, head) in heads {
            match head {
                Ok(head) if head.number().saturating_add(MAX_LAG) < best => endpoint.rest(),
                Ok(head) => first = first.or(Some(head)),
                Err(fault) => failure = failure.or(Some(fault)),
            }
        }
        let lost = || {
            RpcFault::Lost(Cause::Interrupted {
                call: RemoteCall::Rpc(BLOCK),
            })
        };
        first.ok_or_else(|| failure.unwrap_or_else(lost))
    }

    /// Checks that the endpoint with the highest block has every other head as a block.
    async fn linked(&self, heads: &[(Arc<Endpoint>, Head)]) -> Result<(), RpcFault> {
        let Some((ahead, best)) = heads.iter().max_by_key(|(_, head)| head.number()) else {
            return Ok(());
        };
        let mut seen = vec![best.hash()];
        for (_, head) in heads {
            if seen.contains(&head.hash()) {
                continue;
            }
            seen.push(head.hash());
            let number = head.number();
            let params = json!([U64::from(number), false]);
            let block: Option<Head> = ahead.alone().ask(BLOCK, params).await?;
            if block.is_none_or(|block| block.hash() != head.hash()) {
                let held = Cause::Held(Box::new(Hold::Contradiction { number }));
                return Err(RpcFault::Lost(held));
            }
        }
        Ok(())
    }

    /// Whether the canonical block with this number has this hash. Asks every endpoint that has a
    /// block of this number. Fails when two endpoints contradict each other.
    pub(crate) async fn is_canonical(
        &self,
        head: &Head,
        number: u64,
        hash: B256,
    ) -> Result<bool, Cause> {
        if head.number() == number && self.awake().len() < 2 {
            return Ok(head.hash() == Some(hash));
        }
        let params = json!([U64::from(number), false]);
        let (mut same, mut other, mut missing, mut failure) = (false, false, false, None);
        for (_, block) in self.ask_all::<Option<Head>>(BLOCK, params).await {
            match block {
                Ok(Some(block)) if block.hash() == Some(hash) => same = true,
                Ok(Some(_)) => other = true,
                Ok(None) => missing = true,
                Err(fault) => failure = failure.or(Some(fault.cause())),
            }
        }
        match (same, other, failure) {
            (true, true, _) => Err(Cause::Held(Box::new(Hold::Contradiction { number }))),
            (false, false, Some(cause)) if !missing => Err(cause),
            _ => Ok(same),
        }
    }

    /// Returns the result of a call as of a block. Asks every endpoint that has the block. Fails
    /// when two results contradict each other.
    pub(crate) async fn agreed_view<C: SolCall>(
        &self,
        to: Address,
        call: &C,
        head: &Head,
    ) -> Result<C::Return, Cause>
    where
        C::Return: PartialEq,
    {
        let block = pinned(head)?;
        let request = TransactionRequest::default()
            .to(to)
            .input(call.abi_encode().into());
        let params = json!([request, block]);
        let (mut agreed, mut failure) = (None, None);
        for (_, answer) in self.ask_all::<Bytes>("eth_call", params).await {
            match answer.and_then(|data| decoded::<C>(&data)) {
                Ok(answer) if agreed.as_ref().is_some_and(|agreed| *agreed != answer) => {
                    let number = head.number();
                    return Err(Cause::Held(Box::new(Hold::Contradiction { number })));
                }
                Ok(answer) => agreed = Some(answer),
                Err(fault) => failure = failure.or(Some(fault.cause())),
            }
        }
        let call = RemoteCall::Rpc("eth_call");
        agreed.ok_or_else(|| failure.unwrap_or(Cause::Interrupted { call }))
    }

    /// Whether a call has the `expected` result now, by every endpoint that answers, and by two of
    /// them when two are configured. One endpoint could lie. Resting endpoints are asked as well.
    ///
    /// Fails when too few endpoints answer and none of them contradicts.
    pub(crate) async fn is_confirmed_by_two<C: SolCall>(
        &self,
        to: Address,
        call: &C,
        expected: &C::Return,
    ) -> Result<bool, Cause>
    where
        C::Return: PartialEq,
    {
        let needed = self.nodes.0.len().min(2);
        let request = TransactionRequest::default()
            .to(to)
            .input(call.abi_encode().into());
        let params = json!([request, BlockId::latest()]);
        let confirmed = self.nodes.0.iter();
        let confirmed = confirmed.filter(|endpoint| endpoint.is_confirmed());
        let (mut agreed, mut failure) = (0_usize, None);
        let answers = Self::ask_each::<Bytes>(confirmed.collect(), "eth_call", params);
        for (_, answer) in answers.await {
            match answer.and_then(|data| decoded::<C>(&data)) {
                Ok(answer) if answer == *expected => agreed = agreed.saturating_add(1),
                // The account may have no code there, or its code may return something else.
                Ok(_) | Err(RpcFault::Reverted(_) | RpcFault::Lost(Cause::Malformed { .. })) => {
                    return Ok(false);
                }
                Err(fault) => failure = failure.or(Some(fault.cause())),
            }
        }
        if agreed >= needed {
            return Ok(true);
        }
        let call = RemoteCall::Rpc("eth_call");
        Err(failure.unwrap_or(Cause::Interrupted { call }))
    }

    /// Returns the receipt from the first endpoint that has one.
    pub(crate) async fn outcome(&self, hash: B256) -> Result<Option<TransactionOutcome>, RpcFault> {
        self.first_known("eth_getTransactionReceipt", hash).await
    }

    /// Whether an endpoint knows the transaction, in a block or pending.
    pub(crate) async fn knows(&self, hash: B256) -> Result<bool, RpcFault> {
        let known: Option<IgnoredAny> = self.first_known("eth_getTransactionByHash", hash).await?;
        Ok(known.is_some())
    }

    /// Returns the answer of the first endpoint that has the transaction. `None` when an endpoint
    /// answers and none has it.
    async fn first_known<R: DeserializeOwned>(
        &self,
        method: &'static str,
        hash: B256,
    ) -> Result<Option<R>, RpcFault> {
        let first: Result<Option<R>, _> = self.nodes.ask(method, json!([hash])).await;
        let awake = self.awake();
        if awake.len() < 2 || matches!(first, Ok(Some(_))) {
            return first;
        }
        let mut answer = first;
        for endpoint in awake {
            match endpoint.alone().ask(method, json!([hash])).await {
                Ok(Some(known)) => return Ok(Some(known)),
                Ok(None) if answer.is_err() => answer = Ok(None),
                _ => {}
            }
        }
        answer
    }
}

/// Identifies the block by its hash (EIP-1898). With an older state, a payment that was made
/// meanwhile would count as not made. A node that is behind, or has another block of this number,
/// says so.
fn pinned(head: &Head) -> Result<BlockId, Cause> {
    let hash = head.hash();
    let hash = hash.ok_or_else(|| RpcFault::malformed(BLOCK).cause())?;
    Ok(BlockId::hash_canonical(hash))
}
