//! Tests of the level with the project's own enforcer: one transaction is exactly the ordered swap,
//! or nothing happens.
//!
//! The attacker has the redeemer's key. Where a test signs an order again, the attacker also has
//! the delegate's key.

mod afterwards;
mod call;
mod hooks;
mod order;
mod plan;

use alloy_primitives::{B256, Bytes, U256};
use alloy_sol_types::{SolCall as _, SolValue as _, sol};
use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call;
use delegation_fence::onchain::Purpose;
use delegation_fence::{Domain, Order, Signed};
use dev_chain::base::{ROUTER, USDC};

use crate::onchain::stage::{
    BATCH, DELEGATE, Entry, Execution, Stage, approval, sign_order_in, swap,
};

sol! {
    struct OrderArgs { bytes32 payloadDigest; bytes32 callHash; address outputToken; uint256 minAmountOut; uint64 deadline; }
    function beforeHook(bytes terms, bytes args, bytes32 mode, bytes executionCalldata, bytes32 delegationHash, address delegator, address redeemer) external;
    function afterHook(bytes terms, bytes args, bytes32 mode, bytes executionCalldata, bytes32 delegationHash, address delegator, address redeemer) external;
    function used(address manager, address account, bytes32 payloadDigest) external view returns (bool);
}

/// A redemption, each part of which a test can change.
#[derive(Clone)]
pub(crate) struct Attack {
    pub(crate) order: Order,
    pub(crate) executions: Vec<Execution>,
    pub(crate) mode: B256,
    pub(crate) signed_by: judges::Account,
    pub(crate) domain: Domain,
}

impl Attack {
    /// An unchanged redemption of an ordinary swap.
    pub(crate) async fn honest(stage: &Stage, amount: u64) -> Self {
        Self::of(stage, amount, &swap(amount)).await
    }

    /// A redemption of `call`, ordered with the key of the delegate, which the attacker has stolen.
    pub(crate) async fn of(
        stage: &Stage,
        amount: u64,
        call: &swapTokensMultipleV3ERC20ToERC20Call,
    ) -> Self {
        let minimum = call._minAmountOut.max(U256::ONE);
        Self::raw(stage, U256::from(amount), call.abi_encode().into(), minimum).await
    }

    pub(crate) async fn raw(stage: &Stage, amount: U256, call: Bytes, minimum: U256) -> Self {
        let execution = |target, data| Execution {
            target,
            value: U256::ZERO,
            callData: data,
        };
        Self {
            order: stage.order(&call, minimum).await,
            executions: vec![
                execution(USDC, approval(ROUTER, U256::ZERO)),
                execution(USDC, approval(ROUTER, amount)),
                execution(ROUTER, call),
            ],
            mode: BATCH,
            signed_by: DELEGATE,
            domain: stage.grant.domain().clone(),
        }
    }

    pub(crate) fn signed(&self) -> Signed<Order> {
        sign_order_in(self.domain.clone(), &self.order, self.signed_by)
    }

    pub(crate) fn args(&self) -> Bytes {
        args(&self.order, self.signed().signature().as_bytes())
    }

    pub(crate) fn entry(&self, stage: &Stage) -> Entry {
        Entry {
            context: stage.context(Purpose::Swap, &self.args()),
            mode: self.mode,
            execution: self.executions.abi_encode().into(),
        }
    }

    pub(crate) async fn refused(&self, stage: &Stage, expected: &str) {
        let expected = match expected.contains(':') {
            true => expected.to_owned(),
            false => format!("FenceEnforcer:{expected}"),
        };
        stage.refused(&[self.entry(stage)], &expected).await;
    }
}

pub(crate) fn args(order: &Order, signature: &[u8]) -> Bytes {
    let order = OrderArgs {
        payloadDigest: order.payload_digest,
        callHash: order.call_hash,
        outputToken: order.output_token,
        minAmountOut: order.min_amount_out,
        deadline: order.deadline,
    };
    (order, Bytes::copy_from_slice(signature))
        .abi_encode_params()
        .into()
}
