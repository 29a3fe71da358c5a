//! A stand-in for the builder of swaps and bridges.

use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall as _;
use dev_chain::cctp::{MESSAGE_TRANSMITTER, TOKEN_MESSENGER};
use dev_chain::iris::Iris;
use dev_chain::{arbitrum, base};
use serde_json::Value;
use wallet_actions::{
    Attested, BridgeAsk, BridgePlan, Burn, DepositAsk, PlanCause, PlanRefused, PlannedStep, Plans,
    PortFuture, StepKind, SwapAsk, SwapPlan,
};

use super::{approveCall, depositForBurnCall, snwapCall};

/// Plans swaps at the exchange of Base, and burns towards Arbitrum.
pub(crate) struct TestPlans {
    pub(super) now: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub(super) iris: Iris,
    /// The smallest output that a swap's plan states. `None` for the exchange's rate.
    pub(crate) at_least: Mutex<Option<U256>>,
    pub(crate) refuses: Mutex<Option<PlanRefused>>,
    /// The smallest output that the calldata requests from the exchange.
    pub(crate) asks_for: Mutex<U256>,
}

fn planned(kind: StepKind, to: Address, input: Vec<u8>) -> PlannedStep {
    PlannedStep {
        kind,
        to,
        input: input.into(),
    }
}

fn three(token: Address, spender: Address, amount: U256, call: Vec<u8>) -> Vec<PlannedStep> {
    let approve = |amount| approveCall { spender, amount }.abi_encode();
    vec![
        planned(StepKind::ApproveReset, token, approve(U256::ZERO)),
        planned(StepKind::Approve, token, approve(amount)),
        planned(StepKind::Call, spender, call),
    ]
}

impl Plans for TestPlans {
    fn swap(&self, ask: SwapAsk) -> PortFuture<'_, Result<SwapPlan, PlanRefused>> {
        let refused = self.refuses.lock().unwrap().clone();
        let quoted = ask.atoms * U256::from(400_000_000_u64);
        let at_least = self.at_least.lock().unwrap().unwrap_or(quoted);
        let call = snwapCall {
            tokenIn: ask.from_token,
            amountIn: ask.atoms,
            recipient: ask.wallet,
            tokenOut: ask.to_token,
            amountOutMin: *self.asks_for.lock().unwrap(),
            executor: Address::ZERO,
            executorData: Bytes::new(),
        };
        let plan = SwapPlan {
            steps: three(ask.from_token, base::EXCHANGE, ask.atoms, call.abi_encode()),
            spender: base::EXCHANGE,
            quoted,
            at_least,
            valid_until: (self.now)() + 120,
            evidence: Value::Null,
        };
        Box::pin(async move { refused.map_or(Ok(plan), Err) })
    }

    fn judge_deposit(&self, _: DepositAsk) -> PortFuture<'_, Result<Value, PlanRefused>> {
        let refused = self.refuses.lock().unwrap().clone();
        Box::pin(async move { refused.map_or(Ok(Value::Null), Err) })
    }

    fn bridge(&self, ask: BridgeAsk) -> PortFuture<'_, Result<BridgePlan, PlanRefused>> {
        let call = depositForBurnCall {
            amount: ask.atoms,
            destinationDomain: arbitrum::DOMAIN,
            mintRecipient: ask.recipient.into_word(),
            burnToken: ask.token,
            destinationCaller: B256::ZERO,
            maxFee: U256::ZERO,
            minFinalityThreshold: 2000,
        };
        let plan = BridgePlan {
            steps: three(ask.token, TOKEN_MESSENGER, ask.atoms, call.abi_encode()),
            spender: TOKEN_MESSENGER,
            max_fee: U256::ZERO,
            source_domain: base::DOMAIN,
            destination_domain: arbitrum::DOMAIN,
            minted_token: arbitrum::USDC,
            transmitter: MESSAGE_TRANSMITTER,
            valid_until: (self.now)() + 300,
            evidence: Value::Null,
        };
        Box::pin(async move { Ok(plan) })
    }

    fn attestation(&self, burn: Burn) -> PortFuture<'_, Result<Option<Attested>, PlanRefused>> {
        Box::pin(async move {
            let path = format!(
                "/v2/messages/{}?transactionHash={}",
                burn.source_domain, burn.transaction
            );
            let reply = self.iris.answer("GET", &path).unwrap();
            if reply.status == 500 {
                return Err(PlanRefused {
                    cause: PlanCause::Unavailable,
                    check: "quote_unavailable".to_owned(),
                    message: "down".to_owned(),
                    retry_after: None,
                });
            }
            let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
            let message = &body["messages"][0];
            if message["status"] != "complete" {
                return Ok(None);
            }
            let bytes = |name: &str| message[name].as_str().unwrap().parse().unwrap();
            Ok(Some(Attested {
                message: bytes("message"),
                attestation: bytes("attestation"),
            }))
        })
    }
}
