//! Calldata of the redeemer, and calldata that ends the permission. The functions make
//! transactions; other crates sign and send them.

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use alloy_sol_types::{SolCall as _, SolValue as _};
use calldata_checks::{Step, StepKind};

use super::{
    accept::ChainGrant,
    delegation::SignedDelegation,
    framework::{
        Execution, MANAGER, OrderArgs, approveCall, disableDelegationCall, executeCall,
        redeemDelegationsCall,
    },
    terms::{Level, Purpose},
};
use crate::{Order, Refusal, Rule, Signed};

/// The mode of one call that reverts as a whole (ERC-7579).
const SINGLE: B256 = B256::ZERO;
/// The mode of several calls that revert as a whole.
const BATCH: B256 = b256!("0100000000000000000000000000000000000000000000000000000000000000");

/// A transaction that is still to be sent. It carries no native coin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsentTransaction {
    /// The chain.
    pub chain_id: u64,
    /// The account that has to send it.
    pub from: Address,
    /// The target.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
}

/// A redemption: the redeemer's transaction for one step of a plan, or for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redemption {
    /// The executed steps, in their order.
    pub steps: Vec<StepKind>,
    /// The transaction.
    pub call: UnsentTransaction,
}

impl ChainGrant {
    /// The redeemer's transactions for an admitted plan. At the stock level there are three, and
    /// each must reach a sealed block before the next one is sent. With the project's enforcer
    /// there is one, which executes all steps or none.
    ///
    /// `steps` are those of [`Admitted`](crate::Admitted). [`admit`](crate::admit) judges whether
    /// the plan lies inside the fence; the chain checks its part once more.
    ///
    /// # Errors
    /// `delegation_cap` for an amount above the largest approval that the chain allows
    /// ([`Self::most_on_chain`]).
    pub fn redemptions(
        &self,
        steps: &[Step; 3],
        order: &Signed<Order>,
    ) -> Result<Vec<Redemption>, Refusal> {
        let [_, approve, _] = steps;
        let amount = approveCall::abi_decode(&approve.data).map(|call| call.amount);
        if !amount.as_ref().is_ok_and(|amount| *amount <= self.most) {
            return Err(Refusal::new(
                Rule::DelegationCap,
                "the delegations allow no approval of this amount",
                format_args!("at most {}", self.most),
                amount.map_or_else(|_| "no approval".to_owned(), |amount| amount.to_string()),
            ));
        }
        match self.level {
            Level::Stock => Ok(steps.iter().map(|step| self.single(step)).collect()),
            Level::Enforcer(enforcer) => Ok(vec![self.whole(steps, enforcer, order)]),
        }
    }

    /// The redeemer's transaction that revokes the router's allowance. It also works after the
    /// grant was revoked. The chain refuses it when there is no allowance.
    #[must_use]
    pub fn clear(&self) -> UnsentTransaction {
        let data = approveCall {
            spender: self.router,
            amount: U256::ZERO,
        };
        let execution = single(self.token, &data.abi_encode());
        self.redeem(Purpose::Clear, SINGLE, execution, None)
    }

    /// The account's own transaction that revokes the router's allowance.
    #[must_use]
    pub fn clear_by_account(&self) -> UnsentTransaction {
        let data = approveCall {
            spender: self.router,
            amount: U256::ZERO,
        };
        self.by_account(self.token, data.abi_encode())
    }

    /// The account's transaction that ends the permission on the chain: a call of its own code that
    /// disables every delegation of [`Self::ending`] except those in `already`, all or none. `None`
    /// when none is left.
    ///
    /// The manager refuses to disable a delegation twice, so `already` has to be its present state.
    /// An account without its code sends the transactions of [`Self::disable_each`].
    #[must_use]
    pub fn disable(&self, already: &[B256]) -> Option<UnsentTransaction> {
        let executions: Vec<_> = self
            .disable_each(already)
            .into_iter()
            .map(|call| Execution {
                target: call.to,
                value: U256::ZERO,
                callData: call.data,
            })
            .collect();
        if executions.is_empty() {
            return None;
        }
        let call = executeCall {
            mode: BATCH,
            executionCalldata: executions.abi_encode().into(),
        };
        Some(self.by_account(self.account, call.abi_encode()))
    }

    /// [`Self::disable`] as one transaction for each delegation.
    #[must_use]
    pub fn disable_each(&self, already: &[B256]) -> Vec<UnsentTransaction> {
        self.delegations
            .iter()
            .filter(|(purpose, signed)| {
                purpose.ends_with_the_grant() && !already.contains(&signed.delegation.hash())
            })
            .map(|(_, signed)| {
                let call = disableDelegationCall {
                    delegation: signed.wire(None),
                };
                self.by_account(MANAGER, call.abi_encode())
            })
            .collect()
    }

    fn by_account(&self, to: Address, data: Vec<u8>) -> UnsentTransaction {
        UnsentTransaction {
            chain_id: self.chain_id,
            from: self.account,
            to,
            data: data.into(),
        }
    }

    fn single(&self, step: &Step) -> Redemption {
        let purpose = match step.kind {
            StepKind::ApproveReset | StepKind::Approve => Purpose::Approve,
            StepKind::Call => Purpose::Call,
        };
        let execution = single(step.to, &step.data);
        Redemption {
            steps: vec![step.kind],
            call: self.redeem(purpose, SINGLE, execution, None),
        }
    }

    fn whole(&self, steps: &[Step; 3], enforcer: Address, order: &Signed<Order>) -> Redemption {
        let executions: Vec<_> = steps
            .iter()
            .map(|step| Execution {
                target: step.to,
                value: step.value,
                callData: step.data.clone(),
            })
            .collect();
        let message = order.message();
        let args = (
            OrderArgs {
                payloadDigest: message.payload_digest,
                callHash: message.call_hash,
                outputToken: message.output_token,
                minAmountOut: message.min_amount_out,
                deadline: message.deadline,
            },
            Bytes::copy_from_slice(order.signature().as_bytes()),
        );
        let args = Bytes::from(args.abi_encode_params());
        let execution = executions.abi_encode().into();
        Redemption {
            steps: steps.iter().map(|step| step.kind).collect(),
            call: self.redeem(Purpose::Swap, BATCH, execution, Some((enforcer, &args))),
        }
    }

    /// `redeemDelegations` for one delegation.
    fn redeem(
        &self,
        purpose: Purpose,
        mode: B256,
        execution: Bytes,
        args: Option<(Address, &Bytes)>,
    ) -> UnsentTransaction {
        let of_purpose = |(known, _): &&(Purpose, SignedDelegation)| *known == purpose;
        let chain: Vec<_> = self
            .delegations
            .iter()
            .filter(of_purpose)
            .map(|(_, signed)| signed.wire(args))
            .collect();
        let call = redeemDelegationsCall {
            permissionContexts: vec![chain.abi_encode().into()],
            modes: vec![mode],
            executionCallDatas: vec![execution],
        };
        UnsentTransaction {
            chain_id: self.chain_id,
            from: self.redeemer,
            to: MANAGER,
            data: call.abi_encode().into(),
        }
    }
}

/// One call, packed: target, value of zero, calldata.
fn single(target: Address, data: &[u8]) -> Bytes {
    [target.as_slice(), &[0; 32], data].concat().into()
}
