//! Questions whose answers decide about money. Each goes to every endpoint, and contradicting
//! answers are refused.

use std::sync::Arc;

use alloy_eips::{BlockId, BlockNumberOrTag, RpcBlockHash};
use alloy_json_rpc::RpcRecv;
use alloy_primitives::{Address, B256, Bytes};
use alloy_provider::{Provider, RootProvider};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_sol_types::SolCall;
use serde::de::IgnoredAny;
use tokio::task::JoinSet;
use tx_sender::Hold;

use super::endpoints::Endpoint;
use super::fault::fault;
use super::{BLOCK, Each, Head, Rpc, RpcFault, TransactionOutcome, decoded, request};
use crate::{Cause, Malformation, RemoteCall};

/// How many blocks an endpoint may be behind the newest known block without coming last.
const MAX_LAG: u64 = 8;

impl Rpc {
    /// Returns the endpoints that serve the chain and do not rest. When all rest, returns all that
    /// serve the chain.
    fn awake(&self) -> Vec<&Each> {
        let confirmed = self.each.iter();
        let confirmed = confirmed.filter(|each| each.endpoint.is_confirmed());
        let (resting, awake): (Vec<_>, Vec<_>) = confirmed.partition(|each| each.endpoint.rests());
        if awake.is_empty() { resting } else { awake }
    }

    /// Asks the endpoints the same question at the same time. Returns their answers in the order of
    /// the endpoints.
    async fn ask_all<T: Send + 'static, F>(
        &self,
        question: impl Fn(RootProvider) -> F,
    ) -> Vec<(Arc<Endpoint>, Result<T, RpcFault>)>
    where
        F: Future<Output = Result<T, RpcFault>> + Send + 'static,
    {
        let mut asked = JoinSet::new();
        for (at, each) in self.awake().into_iter().enumerate() {
            let (endpoint, answer) = (Arc::clone(&each.endpoint), question(each.provider.clone()));
            asked.spawn(async move { (at, endpoint, answer.await) });
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
        if self.awake().len() < 2 {
            return request(&self.provider, BLOCK, (BlockNumberOrTag::Latest, false)).await;
        }
        let ask = |provider: RootProvider| async move {
            request::<_, Head>(&provider, BLOCK, (BlockNumberOrTag::Latest, false)).await
        };
        let heads = self.ask_all(ask).await;
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
        let provider = self.each.iter();
        let mut provider = provider.filter(|each| Arc::ptr_eq(&each.endpoint, ahead));
        let Some(Each { provider, .. }) = provider.next() else {
            return Ok(());
        };
        let mut seen = vec![best.hash()];
        for (_, head) in heads {
            if seen.contains(&head.hash()) {
                continue;
            }
            seen.push(head.hash());
            let number = BlockNumberOrTag::Number(head.number());
            let block: Option<Head> = request(provider, BLOCK, (number, false)).await?;
            if block.is_none_or(|block| block.hash() != head.hash()) {
                let number = head.number();
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
        let ask = move |provider: RootProvider| async move {
            let number = BlockNumberOrTag::Number(number);
            request::<_, Option<Head>>(&provider, BLOCK, (number, false)).await
        };
        let (mut same, mut other, mut missing, mut failure) = (false, false, false, None);
        for (_, block) in self.ask_all(ask).await {
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
        C::Return: PartialEq + Send + 'static,
    {
        let block = pinned(head)?;
        let input: Bytes = call.abi_encode().into();
        let ask = move |provider: RootProvider| {
            let request = TransactionRequest::default()
                .to(to)
                .input(input.clone().into());
            async move {
                let data = provider.call(request).block(block).await;
                decoded::<C>(&data.map_err(|error| fault("eth_call", error))?)
            }
        };
        let (mut agreed, mut failure) = (None, None);
        for (_, answer) in self.ask_all(ask).await {
            match answer {
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
    async fn first_known<R: RpcRecv>(
        &self,
        method: &'static str,
        hash: B256,
    ) -> Result<Option<R>, RpcFault> {
        let first: Result<Option<R>, _> = request(&self.provider, method, (hash,)).await;
        let awake = self.awake();
        if awake.len() < 2 || matches!(first, Ok(Some(_))) {
            return first;
        }
        let mut answer = first;
        for each in awake {
            match request(&each.provider, method, (hash,)).await {
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
    let hash = head.hash().ok_or(Cause::Malformed {
        call: RemoteCall::Rpc(BLOCK),
        detail: Malformation::RpcResult,
    })?;
    Ok(BlockId::Hash(RpcBlockHash::from_hash(hash, Some(true))))
}
