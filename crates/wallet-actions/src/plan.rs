//! Plans an action: turns an order into an intent, after every check that is possible before the
//! first signature.
//!
//! The planner reads chains, asks for quotes, judges every transaction by the signing policy, and
//! simulates them. It signs and stores nothing.

mod account;
mod bridge;
mod deposit;
mod divest;
mod invest;
mod listed;
mod positions;
mod principal;
mod product;
mod recipient;
mod slippage;
mod swap;
mod withdraw;

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use chain_reader::{Block, ChainReader, SimulatedCall};
use custody::Wallet;
use gas_funding::Workload;
use serde_json::Value;

pub(crate) use self::account::Account;
pub use self::listed::{DepositPlan, ListedProduct};
pub use self::positions::{Idle, Position};
pub use self::principal::PrincipalRequest;
pub(crate) use self::product::Product;
pub(crate) use self::slippage::judge_taken;
use crate::abi::token::{approveCall, transferCall};
use crate::amount::atoms;
use crate::intent::{Allowance, Bridge, Intent, Operation, State, Status, Step};
use crate::{Action, IntentId, Order, PlannedStep, Refused, Shared, StepKind};

/// How many seconds after planning an action may still begin, when no deadline is nearer.
const BEGUN_WITHIN: u64 = 600;

/// The gas that a step is assumed to use on chains without simulation. The values allow for proxies
/// and for calls through several contracts.
const GAS_OF_APPROVAL: u64 = 120_000;
const GAS_OF_CALL: u64 = 900_000;

/// The calldata of a mint: a message of 376 bytes with the signatures of its attesters.
const BYTES_OF_MINT: usize = 1024;

/// An intent under construction.
pub(crate) struct Draft {
    operation: Operation,
    chain_id: u64,
    steps: Vec<Step>,
    allowance: Option<Allowance>,
    bridge: Option<Bridge>,
    not_after: Option<u64>,
    plan: Value,
}

/// Plans the actions of one wallet.
pub(crate) struct Planner<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) wallet: Wallet,
    pub(crate) now: u64,
}

/// An account's balance of a token, and the token's decimals.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) balance: U256,
    pub(crate) decimals: u8,
}

impl Planner<'_> {
    /// Plans an action, and checks it against everything that can be read now.
    pub(crate) async fn plan(&self, order: &Order) -> Result<Intent, Refused> {
        if order.deadline.is_some_and(|deadline| deadline <= self.now) {
            return Err(Refused::invalid("deadline", "the deadline has passed"));
        }
        let mut draft = match &order.action {
            Action::Swap(asked) => Box::pin(self.swap(order, asked)).await?,
            Action::Bridge(asked) => Box::pin(self.bridge(order, asked)).await?,
            Action::Withdraw(asked) => Box::pin(self.withdraw(order, asked)).await?,
            Action::Invest(asked) => Box::pin(self.invest(order, asked)).await?,
            Action::Divest(asked) => Box::pin(self.divest(asked)).await?,
        };
        self.limit_slippage(order, &mut draft).await?;
        self.judge(&draft)?;
        let chain = self.shared.chain(draft.chain_id)?;
        let sealed = chain.sealed(0).await?;
        let workload = self.foresee(chain, &draft, sealed.block).await?;
        let wallet = self.wallet.address;
        self.shared.afford(draft.chain_id, wallet, workload).await?;
        if let Some(bridge) = &draft.bridge {
            let mint = Workload {
                gas: GAS_OF_CALL,
                transactions: 1,
                input_bytes: BYTES_OF_MINT,
            };
            self.shared.afford(bridge.chain_id, wallet, mint).await?;
        }
        self.intent(order, draft)
    }

    fn intent(&self, order: &Order, draft: Draft) -> Result<Intent, Refused> {
        let latest = [
            Some(self.now.saturating_add(BEGUN_WITHIN)),
            draft.not_after,
            order.deadline,
        ];
        let not_after = latest.into_iter().flatten().min().unwrap_or(self.now);
        let id = IntentId::random()
            .map_err(|error| Refused::unavailable("entropy_unavailable", error))?;
        Ok(Intent {
            id,
            revision: 0,
            owner: order.owner.to_string(),
            wallet: self.wallet.address,
            payment: order.payment,
            call: order.call.clone(),
            purchase: order.purchase,
            awaits_charge: order.charge.is_some(),
            price_micro_usd: order.price_micro_usd,
            operation: draft.operation,
            created_at: self.now,
            not_after,
            state: State::Running,
            halted: None,
            held: None,
            steps: draft.steps,
            allowance: draft.allowance,
            bridge: draft.bridge,
            plan: draft.plan,
            ended_at: None,
            is_final: false,
            uncharged_at: None,
            reorganised_at: None,
        })
    }

    /// Checks that the policy lets the wallet's key sign every transaction. An action with a
    /// refused transaction does not begin.
    fn judge(&self, draft: &Draft) -> Result<(), Refused> {
        for step in &draft.steps {
            self.judge_call(step.chain_id, step.to, &step.input)?;
        }
        Ok(())
    }

    pub(crate) fn judge_call(
        &self,
        chain_id: u64,
        to: Address,
        input: &Bytes,
    ) -> Result<(), Refused> {
        let (owner, wallet) = (self.wallet.owner, self.wallet.address);
        let judged = self
            .shared
            .policy
            .judge_call(owner, wallet, chain_id, to, input);
        Ok(judged?)
    }

    /// Simulates the transactions on top of a block. Returns what they may need together, with the
    /// clearing of an allowance.
    async fn foresee(
        &self,
        chain: &ChainReader,
        draft: &Draft,
        block: Block,
    ) -> Result<Workload, Refused> {
        let here = || {
            draft
                .steps
                .iter()
                .filter(|step| step.chain_id == draft.chain_id)
        };
        let calls: Vec<_> = here()
            .map(|step| SimulatedCall {
                from: self.wallet.address,
                to: step.to,
                input: step.input.clone(),
            })
            .collect();
        let most = |step: &Step| match step.kind {
            StepKind::Approve | StepKind::ApproveReset | StepKind::Clear => GAS_OF_APPROVAL,
            _ => GAS_OF_CALL,
        };
        let workload = |gas| Workload {
            gas,
            transactions: u64::try_from(calls.len())
                .unwrap_or_default()
                .saturating_add(1),
            input_bytes: calls
                .iter()
                .map(|call| call.input.len())
                .max()
                .unwrap_or_default(),
        };
        let Some(outcomes) = chain.simulate(&calls, block).await? else {
            let gas = here().map(most).fold(GAS_OF_APPROVAL, u64::saturating_add);
            return Ok(workload(gas));
        };
        let mut gas = GAS_OF_APPROVAL;
        for (step, outcome) in here().zip(outcomes) {
            if !outcome.succeeded {
                return Err(Refused::unsupported(
                    would_revert(step.kind),
                    format!("the transaction {:?} would revert now", step.kind.as_str()),
                ));
            }
            if let (true, Some(expected)) = (step.returns_amount, step.expects) {
                judge_returned(&outcome.output, expected.at_least)?;
            }
            if let Some(most) = step.returns_at_most {
                judge_taken(&outcome.output, most)?;
            }
            gas = gas.saturating_add(outcome.gas_used.saturating_mul(3) / 2);
        }
        Ok(workload(gas))
    }

    /// Returns the wallet's account on a chain.
    pub(crate) fn account(&self, chain_id: u64) -> Result<Account<'_>, Refused> {
        Ok(Account {
            chain: self.shared.chain(chain_id)?,
            address: self.wallet.address,
        })
    }

    /// Reads the wallet's balance of a token.
    pub(crate) async fn held(&self, chain_id: u64, token: Address) -> Result<Held, Refused> {
        self.account(chain_id)?.held(token).await
    }

    /// Reads a contract's current answer. `None` when the call reverts or its answer has another
    /// form.
    pub(crate) async fn read<C: SolCall>(
        &self,
        chain_id: u64,
        to: Address,
        call: &C,
    ) -> Result<Option<C::Return>, Refused> {
        self.account(chain_id)?.read(to, call).await
    }
}

/// Parses an amount into the token's smallest unit. The amount must be above zero, and must not
/// have more decimal digits than the token.
pub(crate) fn amount_of(path: &'static str, text: &str, decimals: u8) -> Result<U256, Refused> {
    match atoms(text, decimals) {
        Some(amount) if !amount.is_zero() => Ok(amount),
        Some(_) => Err(Refused::invalid(path, "expected an amount above zero")),
        None => Err(Refused::invalid(
            path,
            format!("expected at most {decimals} digits after the point, the token's decimals"),
        )),
    }
}

/// Returns the reason of the refusal when such a transaction would revert.
const fn would_revert(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Principal => "principal_auth_refused",
        _ => "step_would_revert",
    }
}

/// Checks that a call returns at least `at_least`.
pub(crate) fn judge_returned(output: &Bytes, at_least: U256) -> Result<(), Refused> {
    let returned = U256::try_from_be_slice(output).unwrap_or_default();
    match returned >= at_least {
        true => Ok(()),
        false => Err(Refused::unsupported(
            "preview_below_minimum",
            format!(
                "expected at least {at_least}, observed {returned} when the call was simulated"
            ),
        )),
    }
}

pub(crate) fn step(kind: StepKind, chain_id: u64, to: Address, call: &impl SolCall) -> Step {
    Step {
        kind,
        chain_id,
        to,
        input: call.abi_encode().into(),
        expects: None,
        returns_amount: false,
        returns_at_most: None,
        status: Status::Planned,
    }
}

/// Makes a step from a transaction of a swap's or a bridge's plan.
pub(crate) fn planned(chain_id: u64, planned: PlannedStep) -> Step {
    Step {
        kind: planned.kind,
        chain_id,
        to: planned.to,
        input: planned.input,
        expects: None,
        returns_amount: false,
        returns_at_most: None,
        status: Status::Planned,
    }
}

pub(crate) fn approve(
    kind: StepKind,
    chain_id: u64,
    token: Address,
    spender: Address,
    amount: U256,
) -> Step {
    step(kind, chain_id, token, &approveCall { spender, amount })
}

pub(crate) fn transfer(chain_id: u64, token: Address, to: Address, amount: U256) -> Step {
    step(
        StepKind::Transfer,
        chain_id,
        token,
        &transferCall { to, amount },
    )
}
